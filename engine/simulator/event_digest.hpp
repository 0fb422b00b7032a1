// A number that stands for all events of a run in order. Cheap: it takes what identifies an event, not its whole text.
#pragma once

#include <cstdint>

#include "engine/master/core/events.hpp"
#include "engine/simulator/workload.hpp"

namespace weft::simulator {

class EventDigest {
 public:
  void add(Time now, const master::Event& event) {
    mix(static_cast<std::uint64_t>(now.count()));
    mix(event.index());
    std::visit([this](const auto& alternative) { add(alternative); }, event);
  }
  std::uint64_t value() const { return state_; }

 private:
  void mix(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9e3779b97f4a7c15ULL;
    state_ ^= state_ >> 29;
  }
  void mix(const std::string& text) {
    for (char c : text) mix(static_cast<unsigned char>(c));
  }
  void mix(const AttemptId& id) {
    for (std::uint64_t word :
         {id.task.job.value(), std::uint64_t{id.task.stage.value()}, std::uint64_t{id.task.index}, std::uint64_t{id.attempt}})
      mix(word);
  }
  void mix(const master::OutputReplica& copy) {
    mix(AttemptId{TaskId{copy.job, StageId(copy.shuffle.value()), copy.map}, copy.attempt});
    mix(copy.node.value());
  }
  void add(const master::JobSubmitted& event) { mix(event.job.value()), mix(event.name); }
  void add(const master::PlanExtended& event) {
    mix(event.job.value());
    for (const auto& stage : event.part.stages) {
      mix(stage.task_count());
      for (const auto& branch : stage.branches) {
        for (const auto& splits : branch.splits) {
          for (const auto& split : splits) {
            for (const auto& host : split.hosts) mix(host);
          }
        }
      }
    }
  }
  void add(const master::JobClosed& event) { mix(event.job.value()); }
  void add(const master::JobKilled& event) { mix(event.job.value()); }
  void add(const master::DriverFailed& event) { mix(event.job.value()); }
  void add(const master::WorkerJoined& event) { mix(event.node.value()), mix(event.name); }
  void add(const master::WorkerHeartbeat& event) { mix(event.node.value()); }
  void add(const master::WorkerLost& event) { mix(event.node.value()); }
  void add(const master::TaskFinished& event) { mix(event.attempt), mix(event.node.value()), mix(event.input_bytes); }
  void add(const master::TaskFailed& event) {
    mix(event.attempt), mix(event.node.value()), mix(static_cast<std::uint64_t>(event.kind));
  }
  void add(const master::TimerFired& event) { mix(event.timer); }
  void add(const master::OutputReplicated& event) { mix(event.replica); }
  void add(const master::ReplicaFailed& event) { mix(event.replica); }
  template <class Other>
  void add(const Other&) {}  // kinds the simulator does not give

  std::uint64_t state_ = 0x2545f4914f6cdd1dULL;
};

}  // namespace weft::simulator
