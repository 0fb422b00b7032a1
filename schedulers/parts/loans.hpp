// Which job lends capacity to which, for explanations: decisions do not depend on it.
#pragma once

#include <map>
#include <optional>

#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

/// A task that is launched on leftover shares counts as running on the share of the job that leaves most.
class Loans {
 public:
  struct Loan {
    JobId to;
    std::uint32_t slots = 0;
  };

  void lend(const TaskId& task, JobId from);
  /// The job that had lent to the task; nothing: it ran on no loan.
  std::optional<JobId> ended(const TaskId& task);
  void ended(JobId job);
  /// Its loan to the job that borrows most from it.
  std::optional<Loan> most(JobId from) const;
  std::uint32_t lent(JobId from) const;

 private:
  struct Lent {
    std::map<JobId, std::uint32_t> to;
    std::uint32_t slots = 0;  // together
  };

  std::map<TaskId, JobId> lender_;
  std::map<JobId, Lent> lent_;
};

}  // namespace weft::schedulers
