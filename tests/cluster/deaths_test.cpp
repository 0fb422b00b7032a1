// Processes that die by themselves: the harness notices each.
#include <gtest/gtest-spi.h>

#include "tests/cluster/cluster.hpp"

namespace weft::test {
namespace {

void kill_behind_the_harness(Process& process, int number) {
  ::kill(process.pid(), number);
  EXPECT_TRUE(eventually([&] { return !process.running(); }));
}

TEST(Harness, AWorkerThatAbortsFailsTheTest) {
  Cluster cluster(2);
  EXPECT_NONFATAL_FAILURE(kill_behind_the_harness(cluster.worker(0), SIGABRT), "ended unexpectedly, of SIGABRT");
}

TEST(Harness, AMasterThatAbortsFailsTheTest) {
  Cluster cluster(0);
  EXPECT_NONFATAL_FAILURE(kill_behind_the_harness(cluster.master(), SIGABRT), "ended unexpectedly, of SIGABRT");
}

TEST(Harness, ADaemonThatEndsByItselfFailsTheTest) {
  const auto end = [] { Process({"/bin/sh", "-c", "exit 3"}, {.daemon = true}).wait(); };
  EXPECT_NONFATAL_FAILURE(end(), "with exit code 3, though nobody asked it to end");
}

TEST(Harness, WhatEndsUnseenFailsTheTestToo) {
  const auto end = [] {
    Process process({"/bin/sh", "-c", "kill -BUS $$"});
    EXPECT_TRUE(eventually(
        [&] { return read_file("/proc/" + std::to_string(process.pid()) + "/stat").find(") Z ") != std::string::npos; }));
  };
  EXPECT_NONFATAL_FAILURE(end(), "of SIGBUS");
}

TEST(Harness, DeathsThatTheTestDeclaredAreNone) {
  Cluster cluster(3);
  cluster.worker(0).signal(SIGKILL);
  cluster.worker(1).signal(SIGTERM);
  cluster.worker(2).expect_death();
  ::kill(cluster.worker(2).pid(), SIGSEGV);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NE(cluster.worker(i).wait().exit_code, 3);
  EXPECT_EQ(run({"/bin/sh", "-c", "kill -BUS $$"}, {.may_die = true}).exit_code, 128 + SIGBUS);
}

}  // namespace
}  // namespace weft::test
