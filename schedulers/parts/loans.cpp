#include "schedulers/parts/loans.hpp"

namespace weft::schedulers {

void Loans::lend(const TaskId& task, JobId from) {
  if (from == task.job || !lender_.emplace(task, from).second) return;
  Lent& lent = lent_[from];
  ++lent.to[task.job];
  ++lent.slots;
}

std::optional<JobId> Loans::ended(const TaskId& task) {
  const auto found = lender_.find(task);
  if (found == lender_.end()) return std::nullopt;
  const JobId from = found->second;
  lender_.erase(found);
  const auto lends = lent_.find(from);
  if (lends == lent_.end()) return from;
  Lent& lent = lends->second;
  if (--lent.to[task.job] == 0) lent.to.erase(task.job);
  if (--lent.slots == 0) lent_.erase(lends);
  return from;
}

void Loans::ended(JobId job) {
  lent_.erase(job);
  while (true) {
    const auto task = lender_.lower_bound(TaskId{job, StageId(0), 0});
    if (task == lender_.end() || task->first.job != job) break;
    (void)ended(TaskId(task->first));
  }
}

std::optional<Loans::Loan> Loans::most(JobId from) const {
  const auto lends = lent_.find(from);
  if (lends == lent_.end()) return std::nullopt;
  std::optional<Loan> most;
  for (const auto& [to, slots] : lends->second.to) {
    if (!most || slots > most->slots) most = Loan{to, slots};
  }
  return most;
}

std::uint32_t Loans::lent(JobId from) const {
  const auto lends = lent_.find(from);
  return lends == lent_.end() ? 0 : lends->second.slots;
}

}  // namespace weft::schedulers
