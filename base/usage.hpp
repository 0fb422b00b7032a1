// What processes and this machine use of processor, memory, disks and network, from /proc and control groups of version 2.
//
// The kernel counts since it or the process began; a UsageMeter makes rates of two readings. `root` is the directory that has proc
// and sys. No function fails: what cannot be read is not there, or counts as 0.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>

#include <sys/types.h>

#include "base/clock.hpp"
#include "base/fd.hpp"

namespace weft {

/// Counted since some beginning, except the memory, which is in use now. Amounts are bytes.
struct UsageCounters {
  Duration cpu{0};  // of all processors together
  std::uint64_t memory = 0;
  std::uint64_t disk_read = 0, disk_written = 0;
  std::uint64_t received = 0, sent = 0;  // over the network, without what stays on the machine
  friend bool operator==(const UsageCounters&, const UsageCounters&) = default;
};

/// Of one process, without its children: resident memory, and what it made disks read and write. The network is not counted by
/// process. Returns nothing when there is no such process.
std::optional<UsageCounters> process_usage(pid_t process, const std::filesystem::path& root = "/");
/// Of the machine: memory that is not available, whole disks (partitions and stacked devices are not counted again), and all
/// network devices except the loopback.
UsageCounters machine_usage(const std::filesystem::path& root = "/");
/// Of the control group of version 2 that this process is in: anonymous and shared memory without the page cache. Nothing when
/// there is none, when it is the topmost one (that is the machine), or when it does not account for the processor.
std::optional<UsageCounters> group_usage(const std::filesystem::path& root = "/");

/// Of one thread, since it began.
struct ThreadUsage {
  Duration ready{0};  // it could have run, while others had the processors, or its control group had used up its part of them
  std::uint64_t disk_written = 0;  // bytes that it made disks write; what lies in memory alone does not count
};

/// Reads what the thread that made it has used. That thread only; a reading takes some microseconds.
class ThreadMeter {
 public:
  explicit ThreadMeter(const std::filesystem::path& root = "/");
  ThreadUsage read() const;

 private:
  Fd delays_, io_;
};

/// What is used per second, and memory that is in use.
struct Usage {
  double cpu = 0;     // processors
  double memory = 0;  // bytes; the next four are bytes per second
  double disk_read = 0, disk_write = 0;
  double network_in = 0, network_out = 0;
  friend bool operator==(const Usage&, const Usage&) = default;
};

/// The rates between two readings that lie `elapsed` apart. A counter that fell (a device was removed) counts as one that stood
/// still; without time between them, so do all.
Usage usage_between(const UsageCounters& before, const UsageCounters& now, Duration elapsed);

/// Measures this machine and a changing set of processes on it, from call to call. One thread.
class UsageMeter {
 public:
  struct Reading {
    Usage processes;  // together; their network is the machine's
    Usage machine;
  };

  explicit UsageMeter(std::filesystem::path root = "/") : root_(std::move(root)) {}

  /// Since the last call; the first call gives memory and no rates. What a process used before it was named first counts, what it
  /// used after it was measured last does not. In a control group of its own (a container) the whole group is measured instead.
  Reading read(std::span<const pid_t> processes, TimePoint now);

 private:
  Usage of_processes(std::span<const pid_t> processes, Duration elapsed);

  std::filesystem::path root_;
  std::optional<TimePoint> last_;
  UsageCounters machine_;
  std::optional<UsageCounters> group_;
  std::map<pid_t, UsageCounters> processes_;
};

}  // namespace weft
