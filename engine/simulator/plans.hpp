// The submission and the plan of a job, as the master gets them: with estimates that may err, and the places of inputs.
#pragma once

#include <span>
#include <vector>

#include "engine/master/core/events.hpp"
#include "engine/simulator/machines.hpp"
#include "engine/simulator/placement.hpp"
#include "engine/simulator/workload.hpp"

namespace weft::simulator {

/// Where the replicas of the inputs of a stage's tasks lie: machines, Machines::kOutside for hosts that are none. Compact, there
/// may be millions of tasks.
class Replicas {
 public:
  bool empty() const { return tasks_ == 0; }
  void reserve(std::size_t replicas) { machines_.reserve(replicas); }
  /// Of the next task.
  void add(std::span<const std::uint32_t> machines) {
    if (tasks_ == 0) each_ = machines.size();
    if (ends_.empty() && machines.size() != each_) {
      for (std::size_t before = 1; before <= tasks_; ++before) ends_.push_back(static_cast<std::uint32_t>(before * each_));
    }
    machines_.insert(machines_.end(), machines.begin(), machines.end());
    ++tasks_;
    if (!ends_.empty()) ends_.push_back(static_cast<std::uint32_t>(machines_.size()));
  }
  std::span<const std::uint32_t> of(std::uint32_t task) const {
    if (ends_.empty()) return std::span(machines_).subspan(task * each_, each_);
    const std::uint32_t begin = task == 0 ? 0 : ends_[task - 1];
    return std::span(machines_).subspan(begin, ends_[task] - begin);
  }

 private:
  std::size_t tasks_ = 0, each_ = 0;            // each_: replicas of a task, while all tasks have the same number
  std::vector<std::uint32_t> machines_, ends_;  // ends_: else where those of each task end
};

/// How a stage's shuffle is laid out. Readers with different numbers of tasks cannot share partitions: each of their tasks reads a
/// part of the only partition.
struct StagePlan {
  std::vector<std::uint32_t> children;
  std::uint32_t partitions = 0;           // 0: no stage reads it
  bool shared = false;                    // one partition; of a broadcast each reading task takes all, else an equal part
  std::vector<double> weights;            // of the partitions, together 1; empty: equal
  schedulers::Resources demand, planned;  // the true one, and the one in the plan
  Time estimate{0};                       // in the plan
  Replicas replicas;                      // empty: inputs have no place
};

/// invalid_argument names job and stage.
Result<void> validate(const JobSpec& job, std::size_t index);
/// `random` is for the errors of estimates.
std::vector<StagePlan> lay_out(const JobSpec& job, const ClusterModel& model, const Machines& machines, Placement& placement,
                               Random random);
master::JobSubmitted submission(const JobSpec& job, JobId id, const ClusterModel& model);
/// The parts of the plan, in the order in which the driver submits them.
std::vector<plan::PlanPart> plan_of(const JobSpec& job, const std::vector<StagePlan>& stages, const Machines& machines);

}  // namespace weft::simulator
