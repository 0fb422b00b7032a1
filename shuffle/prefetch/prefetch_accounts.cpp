#include "shuffle/prefetch/prefetch_accounts.hpp"

namespace weft::shuffle {

void PrefetchAccounts::count(JobId job, std::uint64_t PrefetchStats::*what, std::uint64_t bytes) {
  Account& account = jobs_[job];
  account.bytes.*what += bytes;
  account.changed = true;
  all_.*what += bytes;
}

void PrefetchAccounts::count_unwanted(JobId job, std::uint64_t bytes) {
  for (std::uint64_t PrefetchStats::*what : {&PrefetchStats::prefetched_bytes, &PrefetchStats::wasted_bytes}) {
    if (jobs_.contains(job)) {
      count(job, what, bytes);
    } else {
      all_.*what += bytes;
    }
  }
}

std::optional<PrefetchStats> PrefetchAccounts::drop(JobId job) {
  const auto found = jobs_.extract(job);
  if (found.empty()) return std::nullopt;
  dropped_.emplace_back(job, found.mapped().bytes);
  return found.mapped().bytes;
}

void PrefetchAccounts::report_all() {
  for (auto& [job, account] : jobs_) account.changed = true;
}

PrefetchAccounts::JobBytes PrefetchAccounts::take_changed() {
  JobBytes jobs = std::exchange(dropped_, {});
  for (auto& [job, account] : jobs_)
    if (std::exchange(account.changed, false)) jobs.emplace_back(job, account.bytes);
  return jobs;
}

}  // namespace weft::shuffle
