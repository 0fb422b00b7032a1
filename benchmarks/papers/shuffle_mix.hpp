// Runs of the workload of the ShuffleWatcher paper, and what its figures are of. A run is made once, whoever asks for it.
//
// As in the paper, what counts is the time while jobs arrive, without its beginning (the first sixth), under all schedulers alike:
// a run ends there. Traffic is that of the run over the tasks that it finished, because who gets more done moves more.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "benchmarks/papers/runs.hpp"

namespace weft::papers {

enum MixClass : std::uint8_t { kHeavy, kMedium, kLight };
constexpr std::size_t kMixClasses = 3;
constexpr std::uint32_t kQuickJobs = 90;

struct MixSetting {
  std::uint32_t jobs = 360, users = 30, nodes = 100, racks = 10;
  Time gap = seconds(40);
  double concentration = 0.95;                           // part of a job's blocks with a replica in its home rack
  std::optional<double> scale;                           // of all inputs; none: that of the workload's file
  std::optional<std::array<double, kMixClasses>> parts;  // of the jobs; none: those of the file

  auto key() const { return std::tie(jobs, users, nodes, racks, gap, concentration, scale, parts); }
  friend bool operator<(const MixSetting& a, const MixSetting& b) { return a.key() < b.key(); }
};

/// Bytes.
struct MixTraffic {
  double cross_shuffle = 0, cross_map_read = 0;
  double cross() const { return cross_shuffle + cross_map_read; }
};

struct MixRun {
  double throughput = 0;     // tasks a second
  double jobs_per_hour = 0;  // that end
  double turn_around = 0;    // of a job in the mean, seconds; of those that have not ended, until the end of the run
  double tasks = 0;          // that ended, also in the beginning
  double shuffle = 0;        // bytes
  double uplinks_used = 0;   // part
  double jobs_of_user = 0;   // that are there at a time, in the mean
  double variation = 0;      // coefficient of variation of the traffic between racks, minute by minute
  std::array<MixTraffic, kMixClasses> by_class;
  std::vector<double> completion;                         // by job, seconds; 0: it has not ended
  std::vector<std::pair<double, double>> rate_by_minute;  // Gbit/s between racks

  double cross_shuffle() const;
  double cross_map_read() const;
  double cross_bytes() const { return cross_shuffle() + cross_map_read(); }
  double cross_per_task() const { return cross_bytes() / tasks; }
  /// By how much each job is faster than in the other run, ascending; of those that ended in both.
  std::vector<double> factors_over(const MixRun& other) const;
  /// The part of these that take no longer than in the other run (to a thousandth).
  double improved_over(const MixRun& other) const;
};

/// Any thread. Schedulers may name the file "pools": the jobs of a pool go one after the other.
class MixRuns {
 public:
  MixRun get(const MixSetting& setting, const std::string& scheduler, std::uint64_t seed);

 private:
  std::mutex mutex_;
  std::map<std::tuple<MixSetting, std::string, std::uint64_t>, MixRun> runs_;
};

}  // namespace weft::papers
