#include "benchmarks/papers/runs.hpp"

#include <utility>
#include <variant>

#include <fmt/core.h>

#include "benchmarks/measure.hpp"
#include "schedulers/builtin.hpp"

namespace weft::papers {

ClusterModel cluster(std::uint32_t nodes, double slots, std::uint32_t racks) {
  ClusterModel model;
  simulator::NodeGroup group;
  group.count = nodes;
  group.capacity.cpu = slots;
  model.groups.push_back(group);
  model.racks = racks;
  return model;
}

ClusterModel hadoop(std::uint32_t nodes, std::uint32_t racks, double slots, double oversubscription, std::uint64_t seed) {
  ClusterModel model = cluster(nodes, 2 * slots, racks);
  model.groups[0].capacity.map_slots = model.groups[0].capacity.reduce_slots = slots;
  model.network.flows = true;
  model.network.nic = 125e6;
  model.network.disk_read = model.network.disk_write = 80e6;
  model.network.oversubscription = oversubscription;
  model.heartbeat = seconds(1);
  model.seed = seed;
  return model;
}

StageSpec stage(std::uint32_t tasks, Time duration, std::vector<std::uint32_t> parents) {
  StageSpec spec;
  spec.name = "stage";
  spec.tasks = tasks;
  spec.duration = duration;
  spec.parents = std::move(parents);
  return spec;
}

JobSpec job(Time arrival, std::vector<StageSpec> stages, std::string pool) {
  JobSpec spec;
  spec.name = "job";
  spec.options.user = spec.options.pool = std::move(pool);
  spec.arrival = arrival;
  spec.stages = std::move(stages);
  return spec;
}

Workload jobs(std::vector<JobSpec> list) {
  Workload workload;
  workload.jobs = std::move(list);
  return workload;
}

RunResult run(const Workload& workload, const ClusterModel& model, const std::string& scheduler, const RunOptions& options,
              const std::map<std::string, std::string>& files) {
  auto made = bench::need(schedulers::make_scheduler(scheduler, schedulers::reader_of(files)));
  return bench::need(simulator::simulate(workload, model, std::move(made), options));
}

RunOptions Launches::of(const std::string& stage) {
  RunOptions options;
  options.on_command = [this, stage](Time now, const master::Command& command) {
    const auto* launch = std::get_if<master::LaunchTask>(&command);
    if (launch != nullptr && launch->stage_name == stage) at.push_back(now);
  };
  return options;
}

double mean_completion(const RunResult& result, const std::function<bool(std::size_t job)>& counts) {
  double sum = 0, count = 0;
  for (const auto& one : result.jobs) {
    if (counts && !counts(one.index)) continue;
    if (!one.completion_time())
      bench::need<void>(fail(Code::internal, fmt::format("job {} did not finish: {}", one.index, one.error)));
    sum += in_seconds(*one.completion_time());
    ++count;
  }
  return sum / count;
}

}  // namespace weft::papers
