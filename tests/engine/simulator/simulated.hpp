// Small clusters and workloads for tests of the simulator.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "engine/master/log/event_log.hpp"
#include "engine/simulator/simulate.hpp"
#include "schedulers/builtin.hpp"

namespace weft::simulator::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline ClusterModel cluster(std::uint32_t nodes, double slots, std::uint32_t racks = 1) {
  ClusterModel model;
  NodeGroup group;
  group.count = nodes;
  group.capacity.cpu = slots;
  model.groups.push_back(group);
  model.racks = racks;
  return model;
}

inline StageSpec stage(std::uint32_t tasks, Time duration, std::vector<std::uint32_t> parents = {}) {
  StageSpec spec;
  spec.name = "stage";
  spec.tasks = tasks;
  spec.duration = duration;
  spec.parents = std::move(parents);
  return spec;
}

inline JobSpec job(Time arrival, std::vector<StageSpec> stages, std::string user = "") {
  JobSpec spec;
  spec.name = "job";
  spec.options.user = std::move(user);
  spec.arrival = arrival;
  spec.stages = std::move(stages);
  return spec;
}

inline Workload jobs(std::vector<JobSpec> list) {
  Workload workload;
  workload.jobs = std::move(list);
  return workload;
}

inline RunResult run(const Workload& workload, const ClusterModel& model, const std::string& scheduler = "fifo",
                     const RunOptions& options = {}) {
  auto result = simulate(workload, model, schedulers::make_scheduler(scheduler).value(), options);
  EXPECT_TRUE(result.has_value()) << result.error().to_string();
  return result ? std::move(*result) : RunResult{};
}

/// The event log of a run.
inline std::string log_of(const Workload& workload, const ClusterModel& model, const std::string& scheduler = "fifo") {
  std::string log;
  RunOptions options;
  options.on_event = [&log](Time at, const master::Event& event) { log += master::event_json(at, event) + '\n'; };
  run(workload, model, scheduler, options);
  return log;
}

/// Jobs of one to four stages that read, shuffle and write; nothing regular about them.
inline Workload random_workload(Random& random, std::size_t jobs) {
  Workload workload;
  Time arrival(0);
  for (std::size_t i = 0; i < jobs; ++i) {
    arrival += milliseconds(random.between(0, 20'000));
    std::vector<StageSpec> stages;
    for (std::uint32_t s = 0, count = 1 + static_cast<std::uint32_t>(random.below(4)); s < count; ++s) {
      const auto tasks = 1 + static_cast<std::uint32_t>(random.below(12));
      StageSpec spec = stage(tasks, milliseconds(random.between(0, 20'000)));
      for (std::uint32_t parent = 0; parent < s; ++parent) {
        if (random.chance(0.6)) spec.parents.push_back(parent);
      }
      if (spec.parents.empty()) spec.input_bytes = spec.tasks * random.below(64 << 20);
      if (random.chance(0.8)) spec.shuffle_bytes = random.below(256 << 20);
      if (random.chance(0.3)) spec.partition_skew = random.uniform();
      if (random.chance(0.3)) spec.output_bytes = random.below(64 << 20);
      if (random.chance(0.3)) {
        for (std::uint32_t t = 0; t < spec.tasks; ++t) spec.durations.push_back(milliseconds(random.between(1, 5000)));
      }
      stages.push_back(std::move(spec));
    }
    workload.jobs.push_back(job(arrival, std::move(stages), random.chance(0.5) ? "ann" : "bob"));
  }
  return workload;
}

/// Everything that can be switched on, at random.
inline ClusterModel random_model(Random& random, std::uint64_t seed) {
  const auto nodes = 2 + static_cast<std::uint32_t>(random.below(8));
  const auto cores = 1 + static_cast<double>(random.below(4));
  ClusterModel model = cluster(nodes, cores, 1 + static_cast<std::uint32_t>(random.below(3)));
  if (random.chance(0.4)) {
    model.groups[0].capacity.cpu = 4;
    model.groups[0].capacity.map_slots = 1 + static_cast<double>(random.below(2));
    model.groups[0].capacity.reduce_slots = 1 + static_cast<double>(random.below(2));
  }
  model.seed = seed;
  model.storage.replicas = static_cast<std::uint32_t>(random.below(4));
  model.storage.concentration = random.chance(0.3) ? random.uniform() : 0;
  model.storage.output_replicas = 1 + static_cast<std::uint32_t>(random.below(3));
  if (random.chance(0.6)) {
    model.network.flows = true;
    model.network.nic = random.chance(0.7) ? 50e6 : 0;
    model.network.disk_read = random.chance(0.5) ? 80e6 : 0;
    model.network.disk_write = random.chance(0.5) ? 80e6 : 0;
    if (random.chance(0.7)) model.network.uplink = 30e6;
  }
  if (random.chance(0.5)) model.heartbeat = milliseconds(random.between(200, 3000));
  if (random.chance(0.2)) model.step = seconds(1);
  if (random.chance(0.5)) model.slow_start = random.uniform();
  if (random.chance(0.5)) model.preplace = random.uniform();
  if (random.chance(0.5)) model.faults.between_deaths = seconds(random.between(30, 300));
  model.faults.silent = random.chance(0.5) ? random.uniform() : 0;
  model.faults.repair = seconds(random.between(1, 60));
  if (random.chance(0.3)) model.faults.attempt_failures = 0.05;
  if (random.chance(0.3)) model.faults.lost_outputs = 0.05;
  if (random.chance(0.3)) model.faults.stragglers = 0.1;
  if (random.chance(0.3)) model.estimates = {0.1, 0.3, 0, 0.3};
  if (random.chance(0.3)) model.availability = {{seconds(20), nodes / 2}, {seconds(60), nodes}};
  if (random.chance(0.4))
    model.speculation = master::parse_speculation("on(shortest=2s, slower=1.2, finished=0.3, per_cluster=0.5)").value();
  if (random.chance(0.5)) {
    if (model.network.flows) model.shuffle.mode = random.chance(0.7) ? shuffle::Mode::memory : shuffle::Mode::pull;
    if (model.shuffle.mode && random.chance(0.5)) model.shuffle.memory = std::uint64_t{1} << random.between(22, 28);
    if (model.shuffle.mode && random.chance(0.5)) model.shuffle.page_cache = std::uint64_t{1} << random.between(20, 26);
    if (random.chance(0.5)) model.shuffle_replicas = 2;
  }
  if (random.chance(0.3)) model.interference.cpu = 1 + static_cast<double>(random.below(3));
  if (seed % 3 == 0) model.network.round_trip = milliseconds(seed % 500);
  return model;
}

}  // namespace weft::simulator::test
