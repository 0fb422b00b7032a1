// The primary's streams to its followers: where each is, what it lacks, and who is in sync.
#include <algorithm>

#include <fmt/core.h>

#include "storage/tables/replica.hpp"

namespace weft::storage::tables {
namespace {

using namespace std::chrono_literals;
constexpr auto kRetry = 200ms;
constexpr auto kLongRetry = 1s;
constexpr std::uint32_t kMostTries = 15;  // of a follower in sync that is just not ready
constexpr std::uint64_t kBatchBytes = 4u << 20;

}  // namespace

Replica::Follower* Replica::follower(const std::string& name, std::uint64_t stream) {
  if (!primary_) return nullptr;
  const auto found = primary_->followers.find(name);
  return found == primary_->followers.end() || found->second.stream != stream ? nullptr : &found->second;
}

void Replica::start_stream(const std::string& name) {
  const auto found = primary_->followers.find(name);
  if (found == primary_->followers.end()) return;
  Follower& follower = found->second;
  follower.retry.reset();
  follower.phase = Follower::Phase::behind;
  follower.stream = ++next_stream_;
  ask(follower.address, assignment_->epoch, BeginStream{follower.stream, context_.address},
      [this, name, stream = follower.stream](const Result<StreamPosition>& at) {
        Follower* there = this->follower(name, stream);
        if (there == nullptr) return;
        if (!at) return stream_failed(name, at.error(), ++there->tries > kMostTries);
        positioned(name, *there, *at);
      });
}

void Replica::positioned(const std::string& name, Follower& follower, const StreamPosition& at) {
  follower.tries = 0;
  follower.last = at.version;
  // Equal entries of equal number and epoch follow equal ones: what it has is the beginning of what is here, or something else.
  const bool fits = at.version == 0 || store_->epoch_at(at.version) == at.epoch;
  if (!fits || at.needs_copy) return order_copy(name);
  feed(name);
}

void Replica::feed(const std::string& name) {
  Follower& follower = primary_->followers.at(name);
  const auto& round = primary_->round;
  const std::uint64_t newest = round && round->local ? round->version : primary_->last;
  if (follower.last >= newest) {
    follower.phase = round && follower.last < round->version ? Follower::Phase::joining : Follower::Phase::synced;
    if (follower.phase == Follower::Phase::joining) return;  // until the entry under way is on this disk, to be sent from there
    follower.failed = false;
    return settle();
  }
  on_disk([store = store_, last = follower.last] { return store->log_after(last, kBatchBytes); },
          [this, name, stream = follower.stream](Result<std::vector<LogEntry>> entries) {
            if (this->follower(name, stream) == nullptr) return;
            if (entries) return send_entries(name, std::move(*entries));
            if (entries.error().code() == Code::not_found) return order_copy(name);
            give_up(entries.error());  // somebody else may have them
          });
}

void Replica::send_entries(const std::string& name, std::vector<LogEntry> entries) {
  Follower& follower = primary_->followers.at(name);
  const std::uint64_t last = entries.back().version;
  ask(follower.address, assignment_->epoch, AppendEntries{follower.stream, std::move(entries)},
      [this, name, stream = follower.stream, last](const Result<AtVersion>& taken) {
        Follower* there = this->follower(name, stream);
        if (there == nullptr) return;
        if (!taken) return stream_failed(name, taken.error(), true);
        there->last = last;
        if (there->phase != Follower::Phase::synced) return feed(name);
        if (primary_->round) primary_->round->waiting.erase(name);
        settle();
      });
}

/// It is tried again, for ever; but one in sync is not waited for when there is no hope.
void Replica::stream_failed(const std::string& name, const Error& why, bool hopeless) {
  Follower& follower = primary_->followers.at(name);
  const bool was_synced = std::exchange(follower.phase, Follower::Phase::behind) == Follower::Phase::synced;
  ++follower.stream;  // whatever still comes of it
  next_stream_ = std::max(next_stream_, follower.stream);
  if (was_synced || hopeless) context_.log.debug("partition {}: {} falls behind: {}", to_string(place_), name, why.to_string());
  follower.failed = follower.failed || was_synced || hopeless;
  follower.retry = context_.reactor.after(hopeless ? Duration(kLongRetry) : Duration(kRetry), [this, name] {
    if (primary_) start_stream(name);
  });
  if (primary_->round) primary_->round->waiting.erase(name);
  settle();
}

void Replica::order_copy(const std::string& name) {
  Follower& follower = primary_->followers.at(name);
  ask(follower.address, assignment_->epoch, StartCopy{follower.stream, context_.address},
      [this, name, stream = follower.stream](const Result<Done>& begun) {
        if (this->follower(name, stream) == nullptr) return;
        stream_failed(name, begun ? not_now(place_, "is copied again") : begun.error(), true);
      });
}

/// Asks the master to have exactly those in sync whom entries reach, and those who may still be reached.
void Replica::change_in_sync() {
  Primary& role = *primary_;
  if (role.changing || role.retry_change) return;
  InSyncChange change{place_, assignment_->epoch, assignment_->revision, {context_.name}, role.last};
  bool different = false, all_synced = true;
  for (auto& [name, follower] : role.followers) {
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
  role.changing = true;
  context_.ask_master(change, [weak = weak_from_this(), epoch = change.epoch](Result<TableOrders> orders) {
    const auto self = weak.lock();
    if (!self || !self->primary_ || self->assignment_->epoch != epoch) return;
    Primary& now = *self->primary_;
    now.changing = false;
    if (!orders || orders->assignments.empty()) {
      now.retry_change = self->context_.reactor.after(kRetry, [raw = self.get()] {
        if (!raw->primary_) return;
        raw->primary_->retry_change.reset();
        raw->change_in_sync();
      });
      return;
    }
    // Refused or not: the highest revision says what is.
    const bool newer = orders->assignments[0].revision > self->assignment_->revision;
    if (newer) return self->adopt(orders->assignments[0]);
    self->update_followers();
    self->settle();
  });
}

}  // namespace weft::storage::tables
