// What a node of a benchmark has used, sampled from /proc, and the rates that follow.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace weft::bench {

/// Sums since some beginning. They fall back where a process has ended.
struct NodeUse {
  double cpu_seconds = 0;
  std::uint64_t received = 0, sent = 0;           // bytes, of its network namespace
  std::uint64_t disk_read = 0, disk_written = 0;  // bytes; written: into the page cache, to go to a disk
};
struct NodeSample {
  std::int64_t unix_ns = 0;
  NodeUse use;
};

/// User and system time in ticks of /proc/PID/stat, with that of children it has waited for. Nothing of a text that is none.
std::optional<std::uint64_t> cpu_ticks(std::string_view stat);
/// Adds what /proc/PID/io says.
void add_disk(std::string_view io, NodeUse& use);
/// Adds what /proc/PID/net/dev says of all links but lo.
void add_network(std::string_view net_dev, NodeUse& use);

/// Of the process and everything below it, and of its network namespace.
NodeUse use_of(int pid);

/// What happened per second between two samples, at the end of the time between them.
struct NodeRate {
  double at = 0;                                                   // seconds after `zero_ns`
  double cpu = 0;                                                  // processors
  double received = 0, sent = 0, disk_read = 0, disk_written = 0;  // bytes a second
};
/// Of the samples between the two times. What fell back counts as nothing.
std::vector<NodeRate> rates(const std::vector<NodeSample>& samples, std::int64_t zero_ns, std::int64_t end_ns);

/// Samples the trees of these processes, one per node, ten times a second until it is destroyed or asked for the result.
class NodeSampler {
 public:
  explicit NodeSampler(std::vector<int> pids);
  /// By node. Ends the sampling.
  std::vector<std::vector<NodeSample>> take();

 private:
  void sample(const std::stop_token& stop);

  const std::vector<int> pids_;
  std::vector<std::vector<NodeSample>> samples_;
  std::jthread thread_;
};

}  // namespace weft::bench
