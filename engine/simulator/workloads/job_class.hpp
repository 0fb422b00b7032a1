// A class of generated jobs: how their sizes, shapes and times are drawn.
#pragma once

#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/random.hpp"
#include "base/result.hpp"
#include "engine/simulator/workload.hpp"
#include "engine/simulator/workloads/distribution.hpp"

namespace weft::simulator::workloads {

/// As the user writes it. Empty values follow from the others.
struct JobClassText {
  std::string name = "job";
  std::string kind = "mapreduce";
  double weight = 1, input_scale = 1;
  std::string input = "lognormal(1GiB,1.5)", shuffle_ratio = "0.5", output_ratio = "0.5";
  std::uint64_t block = 64u << 20, reduce_bytes = 256u << 20, rate = 20'000'000;
  std::string maps, reduces, map_time, reduce_time;
  std::string stages = "uniform(2,8)", parents = "uniform(1,2)", tasks, task_time;
  Duration startup = std::chrono::seconds(1);
  std::string variation = "1", skew = "0";
  std::string demand, user, pool, deadline, fast_nodes;
  double speedup = 1;
  std::int64_t isolated_slots = 0;
  int priority = 0;
  double job_weight = 1;

  void declare(Config& config);
};

class JobClass {
 public:
  static Result<JobClass> make(const JobClassText& text);

  double weight() const { return text_.weight; }
  /// A job without name and arrival. resource_exhausted when it would have more tasks than any workload may.
  Result<JobSpec> draw(Random& random) const;

 private:
  Result<void> draw_map_reduce(Random& random, JobSpec& job) const;
  Result<void> draw_dag(Random& random, JobSpec& job) const;
  /// Sets the work of the tasks of a stage that processes `bytes`. Draws from `time` unless that is null.
  void set_work(Random& random, StageSpec& stage, double bytes, const Distribution* time) const;
  Result<std::uint32_t> task_count(double count) const;
  Time isolated_time(const JobSpec& job) const;

  struct Draws {
    Distribution input, shuffle_ratio, output_ratio, maps, reduces, map_time, reduce_time, stages, parents, tasks, task_time,
        variation, skew, deadline;
  };
  JobClassText text_;
  Draws draws_;
  schedulers::Resources demand_;
  std::vector<Speedup> speedups_;
};

}  // namespace weft::simulator::workloads
