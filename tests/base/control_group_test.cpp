// Groups of both versions: on made-up files, and, where this process may make some, real ones.
#include "base/control_group.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <optional>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cgroup.hpp"
#include "base/file.hpp"
#include "base/text.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

class ControlGroupFiles : public testing::Test {
 protected:
  void has(const std::string& file, const std::string& content) const {
    fs::create_directories((root() / file).parent_path());
    EXPECT_TRUE(write_file(root() / file, content));
  }
  std::string text(const std::string& file) const { return read_file(root() / file).value_or("(missing)"); }
  fs::path root() const { return directory_.path(); }
  /// The first one of this process, in which the kernel would make these files.
  std::string group(const std::string& name) const {
    std::error_code error;
    const std::string space = fs::read_symlink("/proc/self/ns/pid", error).string();
    return "weft-job-" + space.substr(5, space.size() - 6) + "-" + std::to_string(getpid()) + "-" + name;
  }

  TempDir directory_ = TempDir::create().value();
};

TEST_F(ControlGroupFiles, Version2MovesTheProcessAndDelegatesItsControllers) {
  has("proc/self/cgroup", "0::/service\n");
  has("proc/self/mountinfo", "31 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  const std::string service = "sys/fs/cgroup/service/";
  has(service + "cgroup.controllers", "cpu io memory pids\n");
  has(service + "cgroup.subtree_control", "");
  has(service + std::string(kOwnGroup) + "/cgroup.procs", "");
  for (const char* file : {"pids.max", "memory.max", "cgroup.kill"}) has(service + group("7-0") + "/" + file, "");
  has(service + group("7-0") + "/pids.events", "max 3\n");
  has(service + group("7-0") + "/memory.events", "oom 9\noom_kill 2\n");

  const auto parent = GroupParent::open("auto", root());
  ASSERT_TRUE(parent) << parent.error().to_string();
  EXPECT_EQ(text(service + std::string(kOwnGroup) + "/cgroup.procs"), "0");
  EXPECT_EQ(text(service + "cgroup.subtree_control"), "+pids +cpu +memory");
  auto made = parent->make("7-0", {.memory_bytes = 1000, .processes = 20});
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(text(service + group("7-0") + "/pids.max"), "20");
  EXPECT_EQ(text(service + group("7-0") + "/memory.max"), "1000");
  EXPECT_TRUE(made->entries().empty());
  EXPECT_GE(made->directory(), 0);
  EXPECT_EQ(made->refused_processes(), 3u);
  EXPECT_EQ(made->memory_kills(), 2u);
}

TEST_F(ControlGroupFiles, WithoutControllersThereAreNoGroups) {
  has("proc/self/cgroup", "0::/\n");
  has("proc/self/mountinfo", "31 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  has("sys/fs/cgroup/cgroup.controllers", "hugetlb\n");
  const auto parent = GroupParent::open("auto", root());
  ASSERT_FALSE(parent);
  EXPECT_EQ(parent.error().to_string(), "this system has no control groups");
}

TEST_F(ControlGroupFiles, ADirectoryInWhichNothingCanBeMadeIsNamed) {
  has("proc/self/cgroup", "3:pids:/a\n");
  has("proc/self/mountinfo", "31 22 0:26 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n");
  fs::create_directories(root() / "sys/fs/cgroup/pids/a");
  has("sys/fs/cgroup/pids/file", "");
  const auto parent = GroupParent::open("/file/b", root());
  ASSERT_FALSE(parent);
  EXPECT_NE(parent.error().to_string().find("sys/fs/cgroup/pids/file/b"), std::string::npos) << parent.error().to_string();
}

class RealControlGroup : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = GroupParent::open("auto");
    if (!opened) GTEST_SKIP() << opened.error().to_string();
    parent_ = *std::move(opened);
  }
  static void enter(const ControlGroup& group) {
    for (const int entry : group.entries())
      if (write(entry, "0", 1) != 1) _exit(9);
  }
  std::optional<GroupParent> parent_;
};

TEST_F(RealControlGroup, RefusesProcessesBeyondItsLimitAndKillsWhatIsLeft) {
  std::optional<ControlGroup> group(parent_->make("test", {.memory_bytes = 64u << 20, .processes = 3}).value());
  if (group->directory() >= 0) GTEST_SKIP() << "of version 2: spawn() enters such";
  const pid_t first = fork();
  if (first == 0) {
    enter(*group);
    int refused = 0;
    for (int i = 0; i < 5; ++i) {
      const pid_t more = fork();
      if (more == 0)
        for (;;) pause();
      if (more < 0) ++refused;
    }
    _exit(refused);
  }
  int status = 0;
  ASSERT_EQ(waitpid(first, &status, 0), first);
  EXPECT_EQ(WEXITSTATUS(status), 3) << "it and two of its children are there";
  EXPECT_EQ(group->refused_processes(), 3u);
  const fs::path place = parent_->place();
  const auto groups = [&] {
    int found = 0;
    for (const auto& entry : fs::directory_iterator(place))
      found += entry.path().filename().string().ends_with("-" + std::to_string(getpid()) + "-test");
    return found;
  };
  EXPECT_EQ(groups(), 1);
  group.reset();
  EXPECT_EQ(groups(), 0) << "nobody is in it any more";
}

TEST_F(RealControlGroup, WhatAProcessThatIsGoneHasLeftIsRemoved) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t owner = fork();
  if (owner == 0) {
    auto parent = GroupParent::open("auto");
    auto group = parent->make("left", {.memory_bytes = 0, .processes = 3});
    const pid_t inside = fork();
    if (inside == 0) {
      enter(*group);
      [[maybe_unused]] const auto told = write(ends[1], "x", 1);
      for (;;) pause();
    }
    char byte = 0;
    [[maybe_unused]] const auto got = read(ends[0], &byte, 1);
    _exit(0);  // as if it were killed
  }
  ASSERT_EQ(waitpid(owner, nullptr, 0), owner);
  const auto left = [&] {
    for (const auto& entry : fs::directory_iterator(parent_->place()))
      if (entry.path().filename().string().ends_with("-" + std::to_string(owner) + "-left")) return true;
    return false;
  };
  EXPECT_TRUE(left());
  EXPECT_TRUE(GroupParent::open("auto"));
  EXPECT_FALSE(left());
}

}  // namespace
}  // namespace weft
