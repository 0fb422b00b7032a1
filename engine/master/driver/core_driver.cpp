#include "engine/master/driver/core_driver.hpp"

#include <utility>

namespace weft::master {

Result<void> CoreDriver::apply(Event event) {
  if (ended_) return fail(*ended_);
  const Time at = now();
  if (observer_ != nullptr)
    if (const auto text = observer_->before(at, core().view(), event)) back_end_.inform(*text);
  if (log_) log_->before(at, event);
  back_end_.before(event);
  if (journal_ != nullptr) journal_->before(event);
  std::vector<Command> commands = std::exchange(spare_, {});  // another event may come while these are carried out
  auto applied = core_->apply(at, std::move(event), commands);
  if (core_->stuck()) {
    ended_ = applied.error();
    back_end_.stuck(*ended_);
    return applied;
  }
  report_faults();
  WEFT_TRY(std::move(applied));
  if (observer_ != nullptr) observer_->after(core().view(), commands, back_end_.unix_seconds());
  if (journal_ != nullptr) journal_->after(commands);
  if (log_) log_->after(at, commands);
  if (log_ && log_->urgent()) flush_log();
  back_end_.accepted(commands);
  for (Command& command : commands) back_end_.carry_out(command);
  if (log_ && log_->waits() && !back_end_.flush_log_later()) flush_log();
  commands.clear();
  spare_ = std::move(commands);
  return {};
}

void CoreDriver::note(JobId job, NodeId node, const shuffle::PrefetchStats& prefetched) {
  if (log_) check_log(log_->note_prefetched(now(), heartbeat_, job, node, prefetched));
}

void CoreDriver::report_faults() {
  const SchedulerFaults& faults = core().scheduler_faults();
  if (faults.faults == std::exchange(faults_, faults.faults)) return;
  back_end_.scheduler_failed(faults);
}

void CoreDriver::check_log(const Result<void>& written) {
  if (!written) back_end_.log_failed(written.error());
}

}  // namespace weft::master
