// What processes and machines use: on pretended roots to the digit, and of this very process.
#include "base/usage.hpp"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class UsageTest : public testing::Test {
 protected:
  void has(const std::string& path, const std::string& content) {
    fs::create_directories((root() / path).parent_path());
    ASSERT_TRUE(write_file(root() / path, content));
  }
  /// `ticks` in user mode and as many in the kernel, of a program whose name is meant to confuse.
  void has_process(int id, int ticks, int pages, const std::string& io = "") {
    const std::string directory = "proc/" + std::to_string(id) + "/";
    const std::string count = std::to_string(ticks);
    has(directory + "stat", std::to_string(id) + " (a) 7 (b c) S 1 1 1 0 -1 4194560 100 0 0 0 " + count + " " + count +
                                " 5 6 20 0 1 0 100 1000000 " + std::to_string(pages) + " 18446744073709551615 0\n");
    if (!io.empty()) has(directory + "io", io);
  }
  void has_machine(int ticks, int sectors, int bytes) {
    const std::string count = std::to_string(ticks), moved = std::to_string(bytes), disk = std::to_string(sectors);
    has("proc/stat", "cpu  " + count + " 0 " + count + " 999999 888888 1 2 3 0 0\ncpu0 7 7 7 7 7 7 7\n");
    has("proc/meminfo", "MemTotal:        4096 kB\nMemFree:          1 kB\nMemAvailable:    1024 kB\n");
    has("proc/diskstats", "   8       0 sda 10 0 " + disk + " 5 20 0 " + disk + "0 7 0 0 0\n   8       1 sda1 10 0 " + disk +
                              " 5 20 0 " + disk + " 7 0 0 0\n 253       0 dm-0 10 0 " + disk + " 5 20 0 " + disk + " 7 0 0 0\n");
    has("sys/class/block/sda1/partition", "1\n");
    has("proc/net/dev",
        "Inter-|   Receive  | Transmit\n face |bytes    packets\n    lo: 555 1 0 0 0 0 0 0 555 1 0 0 0 0 0 0\n  eth0:" + moved +
            " 1 0 0 0 0 0 0 " + moved + "0 1 0 0 0 0 0 0\n");
  }
  void has_group(const std::string& group, int microseconds, bool limit_file = true) {
    has("proc/self/cgroup", "0::" + group + "\n");
    has("proc/self/mountinfo", "31 22 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n");
    const std::string directory = "sys/fs/cgroup" + group + "/";
    has(directory + "cpu.stat", "usage_usec " + std::to_string(microseconds) + "\nuser_usec 1\n");
    has(directory + "memory.stat", "anon 1048576\nfile 99999999\nkernel 5\nshmem 2097152\nfile_mapped 7\n");
    has(directory + "io.stat", "8:0 rbytes=100 wbytes=200 rios=1\n8:16 rbytes=1 wbytes=2 rios=1\n");
    if (limit_file) has(directory + "memory.max", "max\n");
  }
  const fs::path& root() const { return directory_.path(); }

 private:
  const TempDir directory_ = TempDir::create().value();
};

std::uint64_t ticks_per_second() { return static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK)); }
std::uint64_t page() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

TEST_F(UsageTest, WhatCannotBeReadIsNotThere) {
  EXPECT_FALSE(process_usage(7, root()));
  EXPECT_FALSE(group_usage(root()));
  EXPECT_EQ(machine_usage(root()), UsageCounters{});
  has("proc/7/stat", "7 (short) S 1 2");
  has("proc/8/stat", "nonsense");
  has("proc/stat", "nonsense\n");
  has("proc/diskstats", "8 0 sda 1\n\n");
  has("proc/net/dev", "eth0: many\n");
  EXPECT_FALSE(process_usage(7, root()));
  EXPECT_FALSE(process_usage(8, root()));
  EXPECT_EQ(machine_usage(root()), UsageCounters{});
}

TEST_F(UsageTest, OfAProcess) {
  const int second = static_cast<int>(ticks_per_second());
  has_process(7, second, 3, "rchar: 9\nwchar: 9\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n");
  const auto used = process_usage(7, root());
  ASSERT_TRUE(used);
  EXPECT_EQ(used->cpu, 2s);
  EXPECT_EQ(used->memory, 3 * page());
  EXPECT_EQ(used->disk_read, 4096u);
  EXPECT_EQ(used->disk_written, 8192u);
}

TEST_F(UsageTest, OfAThread) {
  EXPECT_EQ(ThreadMeter(root()).read().ready, Duration(0));
  has("proc/thread-self/schedstat", "900 1234567 42\n");
  EXPECT_EQ(ThreadMeter(root()).read().disk_written, 0u);
  has("proc/thread-self/io", "rchar: 9\nwchar: 9\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n");
  const ThreadMeter meter(root());
  EXPECT_EQ(meter.read().ready, Duration(1234567));
  EXPECT_EQ(meter.read().disk_written, 8192u);
  std::ofstream(root() / "proc/thread-self/io") << "write_bytes: 12288\n";
  EXPECT_EQ(meter.read().disk_written, 12288u) << "as it is now, not as it was first";
}

TEST_F(UsageTest, OfTheMachineOnceForEachDiskAndWithoutLoopback) {
  has_machine(static_cast<int>(ticks_per_second()), 8, 1000);
  const UsageCounters used = machine_usage(root());
  EXPECT_EQ(used.cpu, 2s + Duration(1s) / static_cast<std::int64_t>(ticks_per_second()) * 3)
      << "idle, waiting for disks, and what the hypervisor took are no use";
  EXPECT_EQ(used.memory, 3 * kMiB);
  EXPECT_EQ(used.disk_read, 8u * 512);
  EXPECT_EQ(used.disk_written, 80u * 512);
  EXPECT_EQ(used.received, 1000u);
  EXPECT_EQ(used.sent, 10'000u);
}

TEST_F(UsageTest, OfTheControlGroup) {
  has_group("/weft/worker", 1'500'000);
  const auto used = group_usage(root());
  ASSERT_TRUE(used);
  EXPECT_EQ(used->cpu, 1500ms);
  EXPECT_EQ(used->memory, 3 * kMiB) << "the page cache is nobody's";
  EXPECT_EQ(used->disk_read, 101u);
  EXPECT_EQ(used->disk_written, 202u);
}

TEST_F(UsageTest, TheTopmostGroupIsTheMachine) {
  has_group("", 1, false);
  EXPECT_FALSE(group_usage(root()));
  has_group("", 1, true);
  EXPECT_TRUE(group_usage(root())) << "but the topmost that a container sees is its own";
}

TEST(UsageBetween, IsARatePerSecond) {
  const UsageCounters before{1s, 5, 100, 200, 300, 400}, now{4s, 9, 300, 200, 100, 1400};
  const Usage usage = usage_between(before, now, 2s);
  EXPECT_DOUBLE_EQ(usage.cpu, 1.5);
  EXPECT_DOUBLE_EQ(usage.memory, 9);
  EXPECT_DOUBLE_EQ(usage.disk_read, 100);
  EXPECT_DOUBLE_EQ(usage.disk_write, 0);
  EXPECT_DOUBLE_EQ(usage.network_in, 0) << "a counter that fell stood still";
  EXPECT_DOUBLE_EQ(usage.network_out, 500);
  EXPECT_EQ(usage_between(before, now, 0s), (Usage{.memory = 9}));
}

TEST_F(UsageTest, ProcessesMayComeAndGo) {
  const int second = static_cast<int>(ticks_per_second());
  UsageMeter meter(root());
  const std::vector<pid_t> first{7}, both{7, 8}, last{8};
  const TimePoint start{};
  has_machine(0, 0, 1000);
  has_process(7, second, 1);
  UsageMeter::Reading reading = meter.read(first, start);
  EXPECT_EQ(reading.processes, (Usage{.memory = static_cast<double>(page())})) << "no rate yet";

  has_process(7, 2 * second, 1);
  has_process(8, second, 2);
  has_machine(2 * second, 8, 3000);
  reading = meter.read(both, start + 2s);
  EXPECT_DOUBLE_EQ(reading.processes.cpu, 2) << "one second of each mode of each process, within two seconds";
  EXPECT_DOUBLE_EQ(reading.processes.memory, static_cast<double>(3 * page()));
  EXPECT_DOUBLE_EQ(reading.machine.cpu, 2);
  EXPECT_DOUBLE_EQ(reading.machine.network_in, 1000);
  EXPECT_DOUBLE_EQ(reading.processes.network_in, 1000);
  EXPECT_DOUBLE_EQ(reading.processes.network_out, 10'000);

  fs::remove_all(root() / "proc/7");
  reading = meter.read(both, start + 3s);
  EXPECT_DOUBLE_EQ(reading.processes.cpu, 0);
  EXPECT_DOUBLE_EQ(reading.processes.memory, static_cast<double>(2 * page()));
  has_process(8, 2 * second, 2);
  EXPECT_DOUBLE_EQ(meter.read(last, start + 4s).processes.cpu, 2);
}

TEST_F(UsageTest, AGroupCountsInPlaceOfItsProcesses) {
  UsageMeter meter(root());
  const std::vector<pid_t> process{7};
  has_process(7, 5, 1);
  has_group("/worker", 1'000'000);
  meter.read(process, TimePoint{});
  has_process(7, 5000, 1);
  has_group("/worker", 1'500'000);
  EXPECT_DOUBLE_EQ(meter.read(process, TimePoint{} + 1s).processes.cpu, 0.5);
}

TEST(ThisProcess, UsesProcessorAndMemory) {
  const auto before = process_usage(getpid());
  ASSERT_TRUE(before);
  EXPECT_GT(before->memory, kMiB);
  Duration cpu{0};
  for (const TimePoint deadline = SystemClock().now() + 30s; cpu == Duration(0) && SystemClock().now() < deadline;)
    cpu = process_usage(getpid())->cpu - before->cpu;  // reading it is work enough
  EXPECT_GT(cpu, Duration(0));
  EXPECT_GE(machine_usage().cpu, process_usage(getpid())->cpu);
}

}  // namespace
}  // namespace weft
