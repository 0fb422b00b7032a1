#include "benchmarks/e2e/memory_probe.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

namespace weft::bench {

namespace {

namespace fs = std::filesystem;

/// "Name:   123 kB" in a file of /proc; 0 when it is not there.
std::uint64_t field_kib(const std::string& path, const std::string& name) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(name)) return std::strtoull(line.c_str() + name.size(), nullptr, 10);
  return 0;
}

std::uint64_t shared_kib() { return field_kib("/proc/meminfo", "Shmem:"); }

std::uint64_t anonymous_kib(int pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  std::uint64_t sum = field_kib(process + "/status", "RssAnon:");
  std::error_code gone;  // a process may end while it is looked at
  for (fs::directory_iterator thread(process + "/task", gone), end; !gone && thread != end; thread.increment(gone)) {
    std::ifstream children(thread->path() / "children");
    for (int child = 0; children >> child;) sum += anonymous_kib(child);
  }
  return sum;
}

}  // namespace

MemoryProbe::MemoryProbe(int pid) : shared_before_kib_(shared_kib()), thread_([this, pid] { sample_until_stopped(pid); }) {}

MemoryProbe::~MemoryProbe() {
  if (thread_.joinable()) stop_mib();
}

double MemoryProbe::stop_mib() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_one();
  thread_.join();
  return static_cast<double>(peak_kib_) / 1024;
}

void MemoryProbe::sample_until_stopped(int pid) {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::milliseconds(20), [this] { return stopped_; })) {
    const std::uint64_t shared = shared_kib();
    peak_kib_ = std::max(peak_kib_, anonymous_kib(pid) + (shared > shared_before_kib_ ? shared - shared_before_kib_ : 0));
  }
}

}  // namespace weft::bench
