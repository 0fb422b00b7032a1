// Processes that a page's user has started, and that write more than anybody reads.
#include "engine/tools/web/followed_process.hpp"

#include <chrono>
#include <csignal>

#include <gtest/gtest.h>

#include "tests/support/process.hpp"

namespace weft::web {
namespace {

using test::eventually;

std::unique_ptr<FollowedProcess> started(const std::string& script, Duration limit = Duration(0)) {
  auto process = FollowedProcess::start({.path = "/bin/sh", .arguments = {"sh", "-c", script}, .kept = 4096, .limit = limit});
  EXPECT_TRUE(process) << process.error().to_string();
  return std::move(*process);
}

TEST(FollowedProcess, OneThatWritesWithoutEndIsSeenAndEnded) {
  const auto process = started("cat /dev/zero & cat /dev/zero & exec cat /dev/zero");
  EXPECT_TRUE(eventually([&] { return process->output().size() == 4096; }));
  EXPECT_TRUE(process->running());
  process->signal(SIGKILL);
  EXPECT_TRUE(eventually([&] { return !process->running(); }));
  EXPECT_EQ(process->exit_code(), 128 + SIGKILL);
}

TEST(FollowedProcess, OneThatWritesWithoutEndHasItsLimitToo) {
  const auto process = started("cat /dev/zero & cat /dev/zero & exec cat /dev/zero", std::chrono::milliseconds(100));
  EXPECT_TRUE(eventually([&] { return !process->running(); }));
}

TEST(FollowedProcess, WhatAChildWritesWithoutEndIsNotWaitedFor) {
  const auto process = started("cat /dev/zero & cat /dev/zero & exit 3");
  EXPECT_TRUE(eventually([&] { return !process->running(); }));
  EXPECT_EQ(process->exit_code(), 3);
}

TEST(FollowedProcess, AllThatOneHasWrittenIsThereWhenItHasEnded) {
  const auto process = started("head -c 60000 /dev/zero; printf end");
  EXPECT_TRUE(eventually([&] { return !process->running(); }));
  EXPECT_EQ(process->output().substr(4093), "end");
}

}  // namespace
}  // namespace weft::web
