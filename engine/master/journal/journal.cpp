#include "engine/master/journal/journal.hpp"

#include <chrono>
#include <iterator>
#include <utility>

namespace weft::master {

namespace {

constexpr Duration kRetry = std::chrono::milliseconds(500);  // while the disk is full

}  // namespace

Journal::Journal(JournalFile file, rpc::Reactor& reactor, std::function<void(const Error&)> failed)
    : file_(std::move(file)), reactor_(reactor), failed_(std::move(failed)), thread_(rpc::Reactor::start("weft-journal")) {}

void Journal::append(JournalRecord record, Keep keep) {
  if (error_ || (full_ && keep == Keep::lazily)) return;
  pending_.push_back(std::move(record));
  ++appended_;
  if (keep == Keep::promised) promised_ = appended_;
  if (!std::exchange(busy_, true)) reactor_.post([this] { write(); });  // with what else this turn of the loop brings
}

void Journal::when_durable(std::function<void(const Result<void>&)> then) {
  if (error_) return then(fail(*error_));
  if (durable()) return then({});
  waiting_.emplace_back(promised_, std::move(then));
}

void Journal::when_durable_or_full(std::function<void(const Result<void>&)> then) {
  if (full_) return then({});
  const auto once = std::make_shared<Waiting>(std::move(then));
  when_durable([once](const Result<void>& result) {
    if (const auto waits = std::exchange(*once, nullptr)) waits(result);
  });
  if (*once) at_full_.push_back(once);
}

void Journal::snapshot(std::function<void(Result<std::unique_ptr<StoreSnapshot>>)> then) {
  if (error_) return then(fail(*error_));
  thread_->post([this, then = std::move(then)] {
    const auto taken = std::make_shared<Result<std::unique_ptr<StoreSnapshot>>>(file_.snapshot());
    reactor_.post([then, taken] { then(std::move(*taken)); });
  });
}

void Journal::write() {
  if (log_ != nullptr && log_->followed()) send_pending();
  auto records = std::make_shared<std::vector<JournalRecord>>(std::exchange(pending_, {}));
  thread_->post([this, records, until = appended_, number = log_ != nullptr ? log_->appended() : 0] {
    const Result<void> result = file_.commit(*records);
    reactor_.post([this, records, until, number, result] { written(until, number, *records, result); });
  });
}

/// What a try before has sent is sent again only when somebody follows who was not there then.
void Journal::send_pending() {
  const std::size_t first = log_->begun() == sent_to_ ? sent_ : 0;
  sent_ = pending_.size();
  sent_to_ = log_->begun();
  if (first == pending_.size()) return;
  std::string frames;
  for (std::size_t i = first; i < pending_.size(); ++i) frames += to_frame(pending_[i]);
  log_->append({Store::journal, SharedBytes(Buffer::copy_of(as_bytes(frames)))});
}

void Journal::written(std::uint64_t until, std::uint64_t number, std::vector<JournalRecord>& records, const Result<void>& result) {
  if (!result && result.error().code() == Code::resource_exhausted) return wait_for_room(records, result.error());
  if (full_) Log("journal").info("there is room again: what waited is written");
  full_.reset();
  sent_ = 0;
  if (!result) {
    error_ = result.error();
    failed_(*error_);
    return tell_waiting(result);
  }
  busy_ = !pending_.empty();
  if (busy_) write();
  if (log_ == nullptr) return kept(until);
  log_->when_kept(number, [this, until](const Result<void>& followers) {
    if (followers) kept(until);
  });
}

void Journal::kept(std::uint64_t until) {
  if (error_) return;
  durable_ = until;
  tell_waiting({});
  std::erase_if(at_full_, [](const auto& waits) { return !*waits; });
}

/// Nothing that was promised is forgotten; what waits for it goes on waiting.
void Journal::wait_for_room(std::vector<JournalRecord>& records, const Error& why) {
  if (!full_) Log("journal").error("{}", why.to_string());
  full_ = why;
  pending_.insert(pending_.begin(), std::make_move_iterator(records.begin()), std::make_move_iterator(records.end()));
  if (!error_) retry_ = reactor_.after(kRetry, [this] { write(); });
  for (const auto& waits : std::exchange(at_full_, {}))
    if (const auto call = std::exchange(*waits, nullptr)) call({});
}

void Journal::tell_waiting(const Result<void>& result) {
  while (!waiting_.empty() && (error_ || waiting_.front().first <= durable_)) {
    const auto then = std::move(waiting_.front().second);
    waiting_.pop_front();
    then(result);
  }
}

void Journal::end() {
  if (!error_) error_.emplace(Code::unavailable, "the master ends");
  retry_.reset();
  log_ = nullptr;
  tell_waiting(fail(*error_));
}

void Journal::close() {
  if (!thread_) return;
  thread_->run([] {});  // what was posted before
  thread_->stop();
  thread_.reset();
  if (!pending_.empty()) (void)file_.commit(pending_);  // nobody waits for it
}

}  // namespace weft::master
