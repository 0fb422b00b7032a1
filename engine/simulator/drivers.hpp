// The drivers of jobs: arrivals, the parts of their plans, their ends; and events injected from outside.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/simulator/master_shell.hpp"
#include "engine/simulator/transfers.hpp"

namespace weft::simulator {

class Drivers {
 public:
  Drivers(World& world, MasterShell& master, Transfers& transfers);

  /// Puts the first arrival and the first injected event on the agenda.
  void start();
  /// The next job.
  void arrive();
  void plan_next(std::size_t job);
  /// Gives the master the injected event at this position.
  void inject(std::size_t position);
  /// All parts of the job's plan so far are done.
  void action_finished(std::size_t job);
  void job_over(std::size_t job, Outcome outcome, std::string error);

  bool all_arrived() const { return arrived_ == order_.size(); }
  bool all_over() const { return over_ == order_.size(); }

 private:
  void next_arrives();
  void inject_later(std::size_t position);
  void submit(std::size_t job);
  void plan_later(std::size_t job);
  std::optional<std::string> never_fits(const JobRun& job) const;

  World& world_;
  MasterShell& master_;
  Transfers& transfers_;
  std::vector<std::size_t> order_;  // jobs by arrival
  std::size_t arrived_ = 0, over_ = 0;
};

}  // namespace weft::simulator
