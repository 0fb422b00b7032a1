// The shell of the core: it applies events, has the commands carried out, and applies the events that these cause.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/master/driver/core_driver.hpp"
#include "engine/simulator/event_digest.hpp"
#include "engine/simulator/watched.hpp"
#include "engine/simulator/world.hpp"

namespace weft::simulator {

class MasterShell final : private master::CoreDriver::BackEnd {
 public:
  /// Carries out what the master decides.
  class Hands {
   public:
    virtual ~Hands() = default;
    virtual void carry_out(const master::Command& command) = 0;
    virtual void job_refused(JobId job, std::string error) = 0;
    /// A reader reported it, and the master accepted the report.
    virtual void output_lost(JobId job, const shuffle::FetchFailure& failure) = 0;
    /// There is work again for nodes that ask for tasks.
    virtual void work_waits() = 0;
  };

  MasterShell(World& world, Hands& hands, std::unique_ptr<schedulers::Scheduler> scheduler);

  /// Queues the event; drain() gives it to the master.
  void apply(master::Event event) { events_.push_back(std::move(event)); }
  void drain();
  const schedulers::ClusterView& view() const { return driver_.core().view(); }
  /// Whether a node that asks may get a task.
  bool wanted() const { return !view().runnable_jobs().empty() || !view().stragglers().empty(); }
  void add_to(RunResult& result) const;

 private:
  void give(master::Event event);
  Time now() const override { return world_.now; }
  void before(const master::Event& event) override;
  void accepted(const std::vector<master::Command>& commands) override;
  void carry_out(master::Command& command) override;

  World& world_;
  Hands& hands_;
  Watch watch_;  // outlives the core, whose scheduler reports to it
  std::string scheduler_name_;
  std::optional<profiles::Observer> observer_;  // where there is a history
  master::CoreDriver driver_{*this};
  EventDigest digest_;
  std::deque<master::Event> events_;                                   // to be applied in this moment
  std::optional<master::Event> event_;                                 // a copy of the present one, where somebody listens
  std::optional<std::pair<JobId, shuffle::FetchFailure>> unreadable_;  // what it says that a reader could not fetch
  bool draining_ = false;
  bool runnable_ = false;
  std::uint64_t applied_ = 0;
};

}  // namespace weft::simulator
