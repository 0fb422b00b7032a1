// The clusters and workloads of Carbyne's experiments, and what its figures are made of.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "benchmarks/papers/experiment.hpp"
#include "benchmarks/papers/runs.hpp"

namespace weft::papers {

inline constexpr const char* kCarbynePaper = "Grandl et al., Altruistic Scheduling, OSDI 2016";
inline constexpr const char* kCarbyneFiles = "github.com/lenhattan86/IRFsim";
/// Jobs launch inside their shares; what these leave goes to the job that is furthest below its own.
inline constexpr const char* kStrictDrf = "drf(form=closed, mean=all, leftover=furthest)";

/// What is found of an experiment whose file is not there.
Findings no_carbyne_file(const std::string& file);

/// The first jobs of a file with demands as they are, for ClusterModel::one_machine(); `arrivals`: times their times of arrival.
Workload first_jobs(const std::string& path, std::size_t count, double arrivals);

/// The paper's cluster: machines of 20 cores, 128 GB, disks and 10 Gbit/s. The queries' demands are parts of a machine.
ClusterModel carbyne_machines(std::uint32_t count, std::uint64_t seed);

/// The paper's queries: so many, drawn from the file, one every 20 s on 100 machines in the mean (less often for fewer queries,
/// which fewer machines run), or all at once. Their inputs are "from GBs to hundreds of GBs": each has its tasks times a factor
/// that is uniform in its logarithm over a hundredfold. How much work that makes is what makespans tell: what all of them ask of
/// the scarcest resource keeps nine tenths of 100 machines in use for the 4356 s that Tetris takes when 250 come at once.
Workload sized_queries(const std::string& path, std::uint32_t count, bool online, const ClusterModel& model);
/// Of the 100 machines of 250 queries.
std::uint32_t machines_for(std::uint32_t queries);

/// The same cluster and queries as YARN's own schedulers see them: they account for cores and memory alone, so that tasks can ask
/// for more of a machine's disks and links than there is. Those tasks then take longer, by what is scarcest of these.
struct SeenByYarn {
  ClusterModel model;
  Workload workload;
};
SeenByYarn seen_by_yarn(const ClusterModel& model, Workload workload);

/// By job that finished under both: its completion time under the first over that under the second; ascending.
std::vector<double> factors(const RunResult& of, const RunResult& over);
double mean_of(const std::vector<double>& values);
/// `part` from 0 to 1, of ascending values.
double at_part(const std::vector<double>& ascending, double part);
/// Of the figures of all seeds the median, and how far the farthest is from it.
Estimate median_of(std::vector<double> values);
/// As Context::over_seeds, but that medians count, as in the paper.
std::vector<Estimate> medians_over_seeds(const Context& context,
                                         const std::function<std::vector<double>(std::uint64_t seed)>& measure);
/// The part of the values that are below `limit`.
double part_below(const std::vector<double>& values, double limit);

}  // namespace weft::papers
