// Limits of control groups, on pretended roots: version 1 and 2, both, nested, seen from a container, and none.
#include "base/cgroup.hpp"

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "base/machine.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr const char* kUnlimited = "9223372036854771712\n";  // as version 1 says it
constexpr const char* kRootMount = "22 1 8:1 / / rw,relatime - ext4 /dev/root rw\n";

class CgroupTest : public testing::Test {
 protected:
  void has(const std::string& path, const std::string& content) {
    fs::create_directories((root() / path).parent_path());
    ASSERT_TRUE(write_file(root() / path, content));
  }
  /// A hierarchy of version 2 at /sys/fs/cgroup, and the process in `group` of it.
  void has_unified(const std::string& group, const std::string& mounted = "/") {
    has("proc/self/cgroup", "0::" + group + "\n");
    has("proc/self/mountinfo",
        kRootMount + ("31 22 0:26 " + mounted + " /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"));
    fs::create_directories(root() / "sys/fs/cgroup");
  }
  /// The memory controller of version 1, among others.
  void has_memory_controller(const std::string& group, const std::string& mounted = "/") {
    has("proc/self/cgroup", "9:name=systemd:/user\n4:hugetlb,memory:" + group + "\n2:cpu,cpuacct:/else\n");
    has("proc/self/mountinfo", kRootMount + std::string("32 31 0:29 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu\n") +
                                   "35 31 0:32 " + mounted +
                                   " /sys/fs/cgroup/memory rw,relatime shared:14 master:2 - cgroup cgroup rw,hugetlb,memory\n");
    has("sys/fs/cgroup/memory/memory.limit_in_bytes", kUnlimited);
  }
  void expect_limit(std::uint64_t bytes, const std::string& group) {
    const auto limit = memory_limit(root());
    ASSERT_TRUE(limit);
    EXPECT_EQ(limit->bytes, bytes);
    EXPECT_EQ(limit->group, (root() / group).string());
  }
  const fs::path& root() const { return directory_.path(); }

 private:
  const TempDir directory_ = TempDir::create().value();
};

TEST_F(CgroupTest, NothingToReadIsNoLimit) {
  EXPECT_FALSE(memory_limit(root()));
  EXPECT_EQ(memory_kills(root()), 0u);
  has("proc/self/cgroup", "nonsense\n::\n0:\n");
  has("proc/self/mountinfo", "nonsense\n31 22 -\n - cgroup2 x\n31 22 0:26 / /sys/fs/cgroup rw - cgroup2\n");
  EXPECT_FALSE(memory_limit(root()));
}

TEST_F(CgroupTest, OfVersion2IsTheTightestUpTheTree) {
  has_unified("/a/b/c");
  has("sys/fs/cgroup/a/b/c/memory.max", "max\n");
  EXPECT_FALSE(memory_limit(root()));
  has("sys/fs/cgroup/a/memory.max", "268435456\n");
  expect_limit(256 * kMiB, "sys/fs/cgroup/a");
  has("sys/fs/cgroup/a/b/memory.max", "536870912\n");
  expect_limit(256 * kMiB, "sys/fs/cgroup/a");
  has("sys/fs/cgroup/a/b/c/memory.high", "134217728\n");
  expect_limit(128 * kMiB, "sys/fs/cgroup/a/b/c");
}

TEST_F(CgroupTest, ProcessorsAreThoseOfTheTightestQuotaUpTheTree) {
  EXPECT_FALSE(processor_limit(root()));
  has_unified("/a/b");
  has("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_FALSE(processor_limit(root())) << "no quota";
  has("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  EXPECT_EQ(processor_limit(root()), 1.5);
  has("sys/fs/cgroup/a/b/cpu.max", "15000 50000\n");
  EXPECT_EQ(processor_limit(root()), 0.3);
  has("sys/fs/cgroup/a/b/cpu.max", "0 nonsense\n");
  EXPECT_EQ(processor_limit(root()), 1.5);
  EXPECT_GT(machine_processors(), 0);
}

TEST_F(CgroupTest, ProcessorsOfVersion1AreOfTheirOwnController) {
  has_memory_controller("/a");  // and /else in the hierarchy of processors
  has("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  has("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(processor_limit(root()));
  has("sys/fs/cgroup/cpu/else/cpu.cfs_quota_us", "250000\n");
  has("sys/fs/cgroup/cpu/else/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processor_limit(root()), 2.5);
}

TEST_F(CgroupTest, OfVersion1IsTheTightestUpTheTree) {
  has_memory_controller("/a/b");
  EXPECT_FALSE(memory_limit(root())) << "an enormous number is none";
  has("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", kUnlimited);
  has("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "268435456\n");
  expect_limit(256 * kMiB, "sys/fs/cgroup/memory/a");
  has("sys/fs/cgroup/memory/a/b/memory.stat", "cache 0\nhierarchical_memory_limit 268435456\nhierarchical_memsw_limit 1\n");
  expect_limit(256 * kMiB, "sys/fs/cgroup/memory/a");
}

TEST_F(CgroupTest, OfVersion1IsWhatTheKernelSaysItIs) {
  has_memory_controller("/a/b");
  has("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "268435456\n");
  has("sys/fs/cgroup/memory/a/b/memory.stat", std::string("hierarchical_memory_limit ") + kUnlimited);
  EXPECT_FALSE(memory_limit(root())) << "without use_hierarchy, a limit does not bind the groups below";
  has("sys/fs/cgroup/memory/a/b/memory.stat", "hierarchical_memory_limit 67108864\n");
  expect_limit(64 * kMiB, "sys/fs/cgroup/memory/a/b");  // of a group that is not to be seen from here
}

TEST_F(CgroupTest, IsSeenFromWithinAContainer) {
  // A name space of its own: the process is at the top of what it sees, although paths may say otherwise.
  has_unified("/");
  has("sys/fs/cgroup/memory.max", "268435456\n");
  expect_limit(256 * kMiB, "sys/fs/cgroup");
  has_unified("/../sibling");
  expect_limit(256 * kMiB, "sys/fs/cgroup");
  has_memory_controller("/docker/abc", "/docker/abc");
  has("sys/fs/cgroup/memory/memory.limit_in_bytes", "134217728\n");
  expect_limit(128 * kMiB, "sys/fs/cgroup/memory");
  has_memory_controller("/docker/abc/inner", "/docker/abc");
  has("sys/fs/cgroup/memory/memory.limit_in_bytes", "134217728\n");
  has("sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "67108864\n");
  expect_limit(64 * kMiB, "sys/fs/cgroup/memory/inner");
  has_memory_controller("/docker/abcdef", "/docker/abc");  // somebody else's, whose name begins alike
  has("sys/fs/cgroup/memory/memory.limit_in_bytes", "134217728\n");
  expect_limit(128 * kMiB, "sys/fs/cgroup/memory");
}

TEST_F(CgroupTest, OfBothVersionsTheTighterCounts) {
  has_memory_controller("/a");
  const std::string groups = read_file(root() / "proc/self/cgroup").value(),
                    mounts = read_file(root() / "proc/self/mountinfo").value();
  has("proc/self/cgroup", groups + "0::/x\n");
  has("proc/self/mountinfo", mounts + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  has("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "268435456\n");
  has("sys/fs/cgroup/unified/x/cgroup.procs", "1\n");  // the memory controller is not here
  expect_limit(256 * kMiB, "sys/fs/cgroup/memory/a");
  has("sys/fs/cgroup/unified/x/memory.max", "67108864\n");
  expect_limit(64 * kMiB, "sys/fs/cgroup/unified/x");
}

TEST_F(CgroupTest, MountPointsMayHaveBlanks) {
  has("proc/self/cgroup", "0::/a\n");
  has("proc/self/mountinfo", "31 22 0:26 / /my\\040groups rw - cgroup2 cgroup2 rw\n");
  has("my groups/a/memory.max", "268435456\n");
  expect_limit(256 * kMiB, "my groups/a");
}

TEST_F(CgroupTest, CountsWhatTheKernelKilled) {
  has_unified("/a");
  has("sys/fs/cgroup/a/memory.events", "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n");
  EXPECT_EQ(memory_kills(root()), 2u);
  has_memory_controller("/b");
  has("sys/fs/cgroup/memory/b/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n");
  EXPECT_EQ(memory_kills(root()), 7u);
}

TEST(Machine, HasNoMoreMemoryThanItsGroups) {
  EXPECT_LE(machine_memory(), std::max(memory_limit().value_or(MemoryLimit{UINT64_MAX, {}}).bytes, 32 * kMiB));
  EXPECT_GE(machine_memory(), 32 * kMiB);
}

}  // namespace
}  // namespace weft
