// The primary's streams to its followers: where each is, what it lacks, and which are in sync.
#include <algorithm>
#include <utility>

#include "storage/tables/primary_role.hpp"

namespace weft::storage::tables {
namespace {

using namespace std::chrono_literals;
constexpr auto kRetry = 200ms;
constexpr auto kLongRetry = 1s;
constexpr std::uint32_t kMostTries = 15;  // of a follower in sync that is just not ready
constexpr std::uint64_t kBatchBytes = 4u << 20;

}  // namespace

PrimaryRole::Follower* PrimaryRole::follower(const std::string& name, std::uint64_t stream) {
  if (over_) return nullptr;
  const auto found = followers_.find(name);
  return found == followers_.end() || found->second.stream != stream ? nullptr : &found->second;
}

void PrimaryRole::start_stream(const std::string& name) {
  const auto found = followers_.find(name);
  if (found == followers_.end()) return;
  Follower& follower = found->second;
  follower.retry.reset();
  follower.phase = Follower::Phase::behind;
  follower.stream = parts_.new_stream();
  ask(follower.address, BeginStream{follower.stream, parts_.context.address},
      [this, name, stream = follower.stream](const Result<StreamPosition>& at) {
        Follower* there = this->follower(name, stream);
        if (there == nullptr) return;
        if (!at) return stream_failed(name, at.error(), ++there->tries > kMostTries);
        positioned(name, *there, *at);
      });
}

void PrimaryRole::positioned(const std::string& name, Follower& follower, const StreamPosition& at) {
  follower.tries = 0;
  follower.last = at.version;
  // Equal entries of equal number and epoch follow equal ones: what it has is the beginning of what is here, or something else.
  const bool fits = at.version == 0 || parts_.store->epoch_at(at.version) == at.epoch;
  if (!fits || at.needs_copy) return order_copy(name);
  feed(name);
}

void PrimaryRole::feed(const std::string& name) {
  Follower& follower = followers_.at(name);
  const auto& round = round_;
  const std::uint64_t newest = round && round->local ? round->version : last_;
  if (follower.last >= newest) {
    follower.phase = round && follower.last < round->version ? Follower::Phase::joining : Follower::Phase::synced;
    if (follower.phase == Follower::Phase::joining) return;  // until the entry under way is on this disk, to be sent from there
    follower.failed = false;
    return settle();
  }
  on_disk([store = parts_.store, last = follower.last] { return store->log_after(last, kBatchBytes); },
          [this, name, stream = follower.stream](Result<std::vector<LogEntry>> entries) {
            if (this->follower(name, stream) == nullptr) return;
            if (entries) return send_entries(name, std::move(*entries));
            if (entries.error().code() == Code::not_found) return order_copy(name);
            parts_.give_up(entries.error());  // somebody else may have them
          });
}

void PrimaryRole::send_entries(const std::string& name, std::vector<LogEntry> entries) {
  Follower& follower = followers_.at(name);
  const std::uint64_t last = entries.back().version;
  const bool commits =
      std::any_of(entries.begin(), entries.end(), [](const LogEntry& entry) { return entry.kind == EntryKind::commit; });
  const Duration deadline = commits ? commit_deadline(commit_bytes_) : kAskDeadline;
  const auto taken = [this, name, stream = follower.stream, last](const Result<AtVersion>& at) {
    Follower* there = this->follower(name, stream);
    if (there == nullptr) return;
    if (!at) return stream_failed(name, at.error(), true);
    there->last = last;
    if (there->phase != Follower::Phase::synced) return feed(name);
    if (round_) round_->waiting.erase(name);
    settle();
  };
  ask(follower.address, AppendEntries{follower.stream, std::move(entries)}, taken, deadline);
}

/// The stream is tried again, for ever. A follower in sync is not waited for when `hopeless`.
void PrimaryRole::stream_failed(const std::string& name, const Error& why, bool hopeless) {
  Follower& follower = followers_.at(name);
  const bool was_synced = std::exchange(follower.phase, Follower::Phase::behind) == Follower::Phase::synced;
  follower.stream = parts_.new_stream();  // whatever still comes of it
  if (was_synced || hopeless)
    parts_.context.log.debug("partition {}: {} falls behind: {}", to_string(parts_.place), name, why.to_string());
  follower.failed = follower.failed || was_synced || hopeless;
  follower.retry =
      parts_.context.reactor.after(hopeless ? Duration(kLongRetry) : Duration(kRetry), [weak = weak_from_this(), name] {
        if (const auto role = weak.lock()) role->start_stream(name);
      });
  if (round_) round_->waiting.erase(name);
  settle();
}

void PrimaryRole::order_copy(const std::string& name) {
  Follower& follower = followers_.at(name);
  ask(follower.address, StartCopy{follower.stream, parts_.context.address},
      [this, name, stream = follower.stream](const Result<Done>& begun) {
        if (this->follower(name, stream) == nullptr) return;
        stream_failed(name, begun ? not_now(parts_.place, "is copied again") : begun.error(), true);
      });
}

/// Asks the master to have in sync exactly the members that entries reach, or may still reach.
void PrimaryRole::change_in_sync() {
  if (changing_ || retry_change_) return;
  InSyncChange change{parts_.place, parts_.assignment->epoch, parts_.assignment->revision, {parts_.context.name}, last_};
  bool different = false, all_synced = true;
  for (auto& [name, follower] : followers_) {
    const bool synced = follower.phase == Follower::Phase::synced;
    const bool wanted = synced || (follower.in_sync && !follower.failed);
    different = different || wanted != follower.in_sync || (follower.requested && !wanted);
    all_synced = all_synced && (synced || !wanted);
    if (!wanted) continue;
    follower.requested = true;
    change.in_sync.push_back(name);
  }
  if (!different) return;
  // One that is in sync and not reached yet may lack what was never acknowledged, and become primary all the same.
  if (!all_synced) change.last = 0;
  changing_ = true;
  parts_.context.ask_master(change, [weak = weak_from_this()](const Result<TableOrders>& orders) {
    if (const auto role = weak.lock()) role->in_sync_changed(orders);
  });
}

void PrimaryRole::in_sync_changed(const Result<TableOrders>& orders) {
  if (over_) return;
  changing_ = false;
  if (!orders || orders->assignments.empty()) {
    retry_change_ = after(kRetry, &PrimaryRole::ask_again);
    return;
  }
  // Refused or not: the highest revision says what is.
  if (orders->assignments[0].revision > parts_.assignment->revision) return parts_.adopt(orders->assignments[0]);
  update_followers();
  settle();
}

void PrimaryRole::ask_again() {
  retry_change_.reset();
  change_in_sync();
}

}  // namespace weft::storage::tables
