// How much memory a program and its children take at most: anonymous memory plus the memfds they hold open, mapped or not. Mapped
// files are not counted; the kernel takes them back when it wants to.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <thread>

namespace weft::test {

struct MemoryPeak {
  std::uint64_t total = 0;      // of all processes together, each memfd once
  std::uint64_t anonymous = 0;  // at the moment of the peak
  std::uint64_t shared = 0;
  /// Greatest anonymous memory of each process by "role name" (driver, worker worker-1, executor worker-1).
  std::map<std::string, std::uint64_t> processes;
  /// Greatest sum of a worker, its executors and what they share, by the worker's name; "" is the driver.
  std::map<std::string, std::uint64_t> groups;
};

/// Samples the tree of processes below `pid` until it is destroyed or finished. Peaks that are shorter than the interval can be
/// missed, so tests leave some room.
class MemoryWatch {
 public:
  explicit MemoryWatch(int pid, std::chrono::milliseconds interval = std::chrono::milliseconds(4));
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  MemoryPeak finish();

 private:
  void watch();

  int pid_;
  std::chrono::milliseconds interval_;
  std::atomic<bool> stop_ = false;
  MemoryPeak peak_;
  std::thread thread_;
};

}  // namespace weft::test
