// The drivers of jobs: when these arrive, the parts of their plans, their ends; and what the master is told from outside.
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

  /// Puts down the first arrival, and what comes from outside.
  void start();
  /// The next job.
  void arrive();
  void plan_next(std::size_t job);
  /// What is not of the run's own making.
  void tell(std::size_t position);
  /// All that was planned of the job has been done.
  void action_finished(std::size_t job);
  void job_over(std::size_t job, Outcome outcome, std::string error);

  bool all_arrived() const { return arrived_ == order_.size(); }
  bool all_over() const { return over_ == order_.size(); }

 private:
  void next_arrives();
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
