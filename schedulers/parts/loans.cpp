#include "schedulers/parts/loans.hpp"

namespace weft::schedulers {

void Loans::lend(const TaskId& task, JobId from) {
  if (from == task.job || !lender_.emplace(task, from).second) return;
  ++lent_[from][task.job];
}

void Loans::ended(const TaskId& task) {
  const auto found = lender_.find(task);
  if (found == lender_.end()) return;
  const JobId from = found->second;
  lender_.erase(found);
  const auto lends = lent_.find(from);
  if (lends == lent_.end()) return;
  if (--lends->second[task.job] == 0) lends->second.erase(task.job);
  if (lends->second.empty()) lent_.erase(lends);
}

void Loans::ended(JobId job) {
  lent_.erase(job);
  while (true) {
    const auto task = lender_.lower_bound(TaskId{job, StageId(0), 0});
    if (task == lender_.end() || task->first.job != job) break;
    ended(TaskId(task->first));
  }
}

std::optional<Loans::Loan> Loans::most(JobId from) const {
  const auto lends = lent_.find(from);
  if (lends == lent_.end()) return std::nullopt;
  std::optional<Loan> most;
  for (const auto& [to, slots] : lends->second) {
    if (!most || slots > most->slots) most = Loan{to, slots};
  }
  return most;
}

std::uint32_t Loans::lent(JobId from) const {
  std::uint32_t sum = 0;
  if (const auto lends = lent_.find(from); lends != lent_.end()) {
    for (const auto& [to, slots] : lends->second) sum += slots;
  }
  return sum;
}

}  // namespace weft::schedulers
