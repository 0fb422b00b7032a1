// The clusters and workloads of Carbyne's experiments, and what its figures are made of.
#pragma once

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
/// So many queries of the file drawn at random; one every 20 s in the mean, or all at once.
Workload drawn_queries(const std::string& path, std::uint32_t count, bool online, const ClusterModel& model);

/// By job that finished under both: its completion time under the first over that under the second; ascending.
std::vector<double> factors(const RunResult& of, const RunResult& over);
double mean_of(const std::vector<double>& values);
/// `part` from 0 to 1, of ascending values.
double at_part(const std::vector<double>& ascending, double part);
/// The part of the values that are below `limit`.
double part_below(const std::vector<double>& values, double limit);

}  // namespace weft::papers
