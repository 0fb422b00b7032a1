// Clusters, workloads and runs, in few words. What goes wrong ends the program with the reason.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/simulator/cluster_model.hpp"
#include "engine/simulator/result.hpp"
#include "engine/simulator/simulate.hpp"
#include "engine/simulator/workload.hpp"

namespace weft::papers {

using simulator::ClusterModel;
using simulator::JobSpec;
using simulator::RunOptions;
using simulator::RunResult;
using simulator::StageSpec;
using simulator::Time;
using simulator::Workload;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline double in_seconds(Time time) { return std::chrono::duration<double>(time).count(); }

/// Nodes of so many untyped slots, in racks of equally many.
ClusterModel cluster(std::uint32_t nodes, double slots, std::uint32_t racks = 1);
/// Nodes of so many map and reduce slots that report every second, with NICs of 1 Gbit/s and disks of 80 MB/s; the NICs of a rack
/// are so many times as fast as its uplink.
ClusterModel hadoop(std::uint32_t nodes, std::uint32_t racks, double slots, double oversubscription, std::uint64_t seed);

StageSpec stage(std::uint32_t tasks, Time duration, std::vector<std::uint32_t> parents = {});
JobSpec job(Time arrival, std::vector<StageSpec> stages, std::string pool = "");
Workload jobs(std::vector<JobSpec> list);

/// `files`: the texts of those that the scheduler's options name.
RunResult run(const Workload& workload, const ClusterModel& model, const std::string& scheduler, const RunOptions& options = {},
              const std::map<std::string, std::string>& files = {});

/// When tasks of the stages with that name were launched.
struct Launches {
  std::vector<Time> at;
  RunOptions of(const std::string& stage);
};

/// From submission to end, in the mean of the jobs that `counts` names; ends the program when one of them did not finish.
double mean_completion(const RunResult& result, const std::function<bool(std::size_t job)>& counts = {});

}  // namespace weft::papers
