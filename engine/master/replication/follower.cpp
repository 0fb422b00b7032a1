#include "engine/master/replication/follower.hpp"

namespace weft::master {

namespace {

constexpr std::size_t kPiece = 4u << 20;  // bytes of an answer, if no entry is larger
constexpr std::size_t kPerEntry = 256;    // besides its own, so that an answer's header is small

}  // namespace

void Follower::add(std::unique_ptr<StoreSnapshot> snapshot) {
  --to_come_;
  snapshots_.push_back(std::move(snapshot));
  send();
}

void Follower::append(std::uint64_t number, const LogEntry& entry) {
  queue_.emplace_back(number, entry);
  queued_bytes_ += entry.bytes.bytes.size();
  send();
}

bool Follower::near() const { return to_come_ == 0 && snapshots_.empty() && queued_bytes_ <= kPiece; }

Result<void> Follower::pull(std::uint64_t kept, bool in_sync, rpc::Responder responder) {
  if (kept < kept_count_ || kept - kept_count_ > sent_.size())
    return fail(Code::invalid_argument, "a follower keeps entries that were not sent to it");
  for (; kept_count_ < kept; ++kept_count_, sent_.pop_front())
    if (sent_.front() != 0) kept_number_ = sent_.front();
  waiting_.emplace(std::move(responder));
  waiting_since_ = progress_ = SystemClock().now();
  in_sync_ = in_sync;
  send();
  return {};
}

void Follower::answer_if_older(TimePoint since) {
  if (waiting_ && waiting_since_ < since) reply({});
}

void Follower::give_up(const Error& why) {
  if (waiting_) std::exchange(waiting_, std::nullopt)->fail(why);
}

void Follower::send() {
  if (!waiting_ || reading_) return;
  if (!read_.empty()) return send_read();
  if (!snapshots_.empty()) return read_snapshot();
  if (to_come_ > 0 || queue_.empty()) return;
  std::vector<LogEntry> entries;
  for (std::size_t bytes = 0; !queue_.empty() && bytes < kPiece; queue_.pop_front()) {
    auto& [number, entry] = queue_.front();
    bytes += kPerEntry + entry.bytes.bytes.size();
    queued_bytes_ -= entry.bytes.bytes.size();
    sent_.push_back(number);
    entries.push_back(std::move(entry));
  }
  reply(std::move(entries));
}

void Follower::read_snapshot() {
  reading_ = true;
  disk_.post([this, alive = std::weak_ptr(alive_), snapshot = snapshots_.front(), &reactor = reactor_] {
    auto entries = std::make_shared<Result<std::vector<LogEntry>>>(snapshot->next(kPiece));
    reactor.post([this, alive, entries] {
      if (!alive.expired()) on_read(std::move(*entries));
    });
  });
}

void Follower::on_read(Result<std::vector<LogEntry>> entries) {
  reading_ = false;
  if (!entries) return broken_(entries.error());
  if (entries->empty()) {
    snapshots_.pop_front();
    return send();
  }
  read_ = std::move(*entries);
  send();  // unless the pull was answered meanwhile: then the next one gets it
}

void Follower::send_read() {
  sent_.insert(sent_.end(), read_.size(), 0);
  reply(std::exchange(read_, {}));
}

void Follower::reply(std::vector<LogEntry> entries) {
  if (waiting_) std::exchange(waiting_, std::nullopt)->reply(to_payload(Pulled{std::move(entries), in_sync_}));
}

}  // namespace weft::master
