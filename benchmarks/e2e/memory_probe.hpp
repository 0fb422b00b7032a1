// The memory a program and its children take, sampled while they run.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace weft::bench {

/// Every 20 ms: anonymous memory of the process and of all its descendants, and what shared memory (memfds, mapped or not) of the
/// whole machine has grown by since the probe began. Mapped files are not counted: they are page cache.
class MemoryProbe {
 public:
  explicit MemoryProbe(int pid);
  ~MemoryProbe();
  MemoryProbe(const MemoryProbe&) = delete;
  MemoryProbe& operator=(const MemoryProbe&) = delete;
  /// Ends the sampling and gives the largest sum seen.
  double stop_mib();

 private:
  void sample_until_stopped(int pid);
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::uint64_t peak_kib_ = 0;
  std::uint64_t shared_before_kib_;
  std::thread thread_;
};

}  // namespace weft::bench
