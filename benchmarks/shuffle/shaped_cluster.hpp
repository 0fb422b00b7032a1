// A master and workers that share nothing, on a shaped network or on loopback, and the jobs that run there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/shuffle/node_samples.hpp"
#include "benchmarks/shuffle/run_log.hpp"
#include "tests/support/process.hpp"
#include "tests/support/shaped_network.hpp"

namespace weft::bench {

struct SlowDisk {
  std::uint64_t bytes_per_second = 0;  // 0: as fast as it is
  std::uint64_t page_cache = 0;        // bytes that were written but are not yet on it: writers wait for all beyond
};

struct ClusterSetting {
  std::string programs;   // where weft and the jobs are
  std::string directory;  // of its own; what the workers write is below it
  int nodes = 4;
  int slots = 2;                                 // of each node
  std::string store = "512MiB";                  // of each worker
  std::string memory = "512MiB";                 // of each executor
  bool share = true;                             // on loopback: workers map each other's outputs
  const test::ShapedNetwork* network = nullptr;  // null: loopback
  SlowDisk disk = {};                            // of each node
  std::string scheduler = "fifo";
};

struct FinishedJob {
  std::string output;  // what it printed
  std::vector<std::vector<NodeSample>> samples;
};

/// Ready after construction, ended on destruction. What goes wrong ends the benchmark, with the reason.
class ShapedCluster {
 public:
  explicit ShapedCluster(const ClusterSetting& setting);
  /// Workers first: executors end with them.
  ~ShapedCluster();
  ShapedCluster(const ShapedCluster&) = delete;
  ShapedCluster& operator=(const ShapedCluster&) = delete;

  /// Runs a job program; its first word is a name in `programs`.
  FinishedJob run(std::vector<std::string> words, const std::string& mode);
  /// Their processes; executors are children of these.
  std::vector<int> workers() const;
  /// Of all jobs so far.
  std::vector<JobRun> runs() const;

 private:
  std::vector<std::string> at_bridge(std::vector<std::string> command) const;
  void add_worker(int node);

  const ClusterSetting setting_;
  std::string address_;
  std::unique_ptr<test::Process> master_;
  std::vector<std::unique_ptr<test::Process>> workers_;
};

}  // namespace weft::bench
