// The primary's side: entries one after the other, each on all followers in sync before it is acknowledged; holds; marks; commits.
#include <algorithm>

#include <fmt/core.h>

#include "storage/tables/replica.hpp"

namespace weft::storage::tables {
namespace {

constexpr std::size_t kEntryBytes = 4u << 20;  // writes are put together up to this
constexpr auto kHoldLater = std::chrono::seconds(1);
constexpr std::size_t kMostWaiting = 128u << 20;  // bytes of writes

/// About what a write takes in memory beside its bytes.
constexpr std::size_t kWriteBytes = 16;

}  // namespace

void Replica::lead() {
  led_ = assignment_->epoch;
  given_up_ = "has left its role";
  primary_ = std::make_unique<Primary>();
  primary_->last = store_->last();
  context_.log.debug("primary of partition {} in epoch {} from version {}", to_string(place_), assignment_->epoch, primary_->last);
  update_followers();
  drop_what_is_over();
  settle();
}

void Replica::update_followers() {
  Primary& role = *primary_;
  std::map<std::string, Follower> left = std::move(role.followers);
  role.followers.clear();
  std::vector<std::string> to_start;
  for (const Member& member : assignment_->members) {
    if (member.name == context_.name) continue;
    Follower& follower = role.followers[member.name];
    const auto known = left.find(member.name);
    const bool same = known != left.end() && known->second.address == member.address;
    if (same) follower = std::move(known->second);
    if (!same && role.round) role.round->waiting.erase(member.name);
    const bool dropped =
        same && follower.in_sync && !member.in_sync && follower.phase == Follower::Phase::synced;  // by the master: it is damaged
    follower.address = member.address;
    follower.in_sync = member.in_sync;
    if (!role.changing) follower.requested = false;
    if (dropped && role.round) role.round->waiting.erase(member.name);
    if (dropped) to_start.push_back(member.name);
    if (same) continue;
    follower.failed = member.address.empty();
    if (!follower.failed) to_start.push_back(member.name);
  }
  if (role.round) std::erase_if(role.round->waiting, [&](const std::string& name) { return !role.followers.contains(name); });
  for (const std::string& name : to_start) start_stream(name);
}

/// Snapshots and transactions that the master no longer knows; a commit it has decided.
void Replica::drop_what_is_over() {
  const auto nobody = [](const Result<std::uint64_t>&) {};
  const auto drop_unless_known = [&](auto id, const auto& known, EntryKind kind) {
    if (id.value() >= assignment_->next_id || std::find(known.begin(), known.end(), id) != known.end()) return;
    LogEntry entry;
    entry.kind = kind;
    entry.id = id.value();
    submit({std::move(entry), 0, true, nobody}, false);
  };
  for (const auto& [id, version] : store_->snapshots()) drop_unless_known(id, assignment_->snapshots, EntryKind::unmark);
  for (const TransactionId id : store_->staged()) drop_unless_known(id, assignment_->transactions, EntryKind::abort);
  if (assignment_->commit) commit_transaction(*assignment_->commit, nobody);
}

void Replica::stage(StageRows request, SharedResponder responder) {
  const auto id = request.transaction.value();
  if (primary_) {
    const auto& open = assignment_->transactions;
    if (std::find(open.begin(), open.end(), request.transaction) == open.end()) {
      if (id < assignment_->next_id) return responder->fail(Error(Code::cancelled, "the job whose rows these are has ended"));
      context_.heartbeat_soon();
      return responder->fail(not_now(place_, "has not heard of the job's rows yet"));
    }
  }
  LogEntry entry;
  entry.kind = EntryKind::stage;
  entry.id = id;
  entry.token = request.token;
  entry.writes = std::move(request.writes);
  write(std::move(entry), std::move(responder));
}

void Replica::write(LogEntry entry, SharedResponder responder) {
  if (!store_) return responder->fail(unusable());
  if (!primary_) return responder->fail(not_now(place_, "has another primary"));
  const std::size_t bytes = bytes_of(entry.writes) + kWriteBytes * entry.writes.size();
  if (const auto room = check_space(bytes); !room) return responder->fail(room.error());
  if (primary_->waiting_bytes + bytes > kMostWaiting) return responder->fail(not_now(place_, "has too much to write already"));
  submit({std::move(entry), bytes, false, [responder](const Result<std::uint64_t>& version) { answer(responder, version); }},
         false);
}

void Replica::submit(Proposal proposal, bool first) {
  primary_->waiting_bytes += proposal.bytes;
  if (first)
    primary_->proposals.push_front(std::move(proposal));
  else
    primary_->proposals.push_back(std::move(proposal));
  pump();
}

/// The next entry begins when the one before is everywhere it should be.
void Replica::pump() {
  if (!primary_ || primary_->round || !primary_->established) return;
  Primary& role = *primary_;
  if (std::any_of(role.followers.begin(), role.followers.end(),
                  [](const auto& f) { return f.second.phase == Follower::Phase::joining; }))
    return;
  auto next = role.proposals.begin();
  if (role.hold.ticket != 0)  // what a hold was made for passes it
    next = std::find_if(next, role.proposals.end(), [](const Proposal& proposal) { return proposal.through_hold; });
  if (next == role.proposals.end()) return;
  LogEntry entry = std::move(next->entry);
  std::vector<OnVersion> done{std::move(next->done)};
  std::size_t bytes = next->bytes;
  role.waiting_bytes -= next->bytes;
  next = role.proposals.erase(next);
  while (entry.kind == EntryKind::write && next != role.proposals.end() && next->entry.kind == EntryKind::write &&
         bytes + next->bytes <= kEntryBytes && role.hold.ticket == 0) {
    std::move(next->entry.writes.begin(), next->entry.writes.end(), std::back_inserter(entry.writes));
    done.push_back(std::move(next->done));
    bytes += next->bytes;
    role.waiting_bytes -= next->bytes;
    next = role.proposals.erase(next);
  }
  start_round(std::move(entry), std::move(done));
}

void Replica::start_round(LogEntry entry, std::vector<OnVersion> done) {
  Primary& role = *primary_;
  entry.version = role.last + 1;
  entry.epoch = assignment_->epoch;
  role.round = Round{};
  role.round->version = entry.version;
  role.round->done = std::move(done);
  std::vector<std::string> to;
  for (const auto& [name, follower] : role.followers)
    if (follower.phase == Follower::Phase::synced) to.push_back(name);
  role.round->waiting.insert(to.begin(), to.end());
  for (const std::string& name : to) send_entries(name, {entry});
  on_disk([store = store_, entry = std::move(entry)] { return store->apply(entry); },
          [this, version = role.round->version](const Result<void>& applied) { local_done(version, applied); });
}

void Replica::local_done(std::uint64_t version, const Result<void>& applied) {
  if (!primary_ || !primary_->round || primary_->round->version != version) return;
  if (!applied) return give_up(applied.error());
  primary_->round->local = true;
  std::vector<std::string> joining;
  for (const auto& [name, follower] : primary_->followers)
    if (follower.phase == Follower::Phase::joining) joining.push_back(name);
  for (const std::string& name : joining)
    if (primary_) feed(name);
  settle();
}

/// Looks whether the entry under way is done, and what is next. To be called whenever something has changed.
void Replica::settle() {
  if (!primary_) return;
  Primary& role = *primary_;
  bool all = true, somebody_failed = false, somebody_new = false;
  for (const auto& [name, follower] : role.followers) {
    const bool synced = follower.phase == Follower::Phase::synced;
    all = all && (synced || !follower.required());
    somebody_failed = somebody_failed || (follower.required() && follower.failed);
    somebody_new = somebody_new || (synced && !follower.required());
  }
  if (somebody_failed) return change_in_sync();  // settles again
  if (somebody_new) change_in_sync();
  if (!all) return;
  if (!assignment_->made) return context_.heartbeat_soon();  // the master has to write down first that it is in use
  if (!role.established) establish();
  if (!role.round) return pump();
  if (!role.round->waiting.empty() || !role.round->local) return;
  const Round round = std::move(*role.round);
  role.round.reset();
  role.last = round.version;
  store_->set_committed(round.version);
  for (const OnVersion& done : round.done) done(round.version);
  if (!primary_) return;
  for (const auto& waiting : std::exchange(role.holds_waiting, {})) waiting();
  pump();
}

void Replica::establish() {
  primary_->established = true;
  store_->set_committed(primary_->last);
}

void Replica::hold(const Hold& request, SharedResponder responder) {
  if (!primary_->established) return responder->fail(not_now(place_, "is being taken over"));
  auto begin = [this, ticket = request.ticket, reads = request.reads, responder] {
    if (!primary_) return responder->fail(not_now(place_, "has another primary"));
    if (ticket <= primary_->released) return responder->fail(not_now(place_, "was released before it was held"));
    primary_->hold = {ticket, reads, context_.reactor.after(kHoldLasts, [this] { hold_is_old(); })};
    answer(responder, Result<std::uint64_t>(primary_->last));
  };
  if (primary_->round)
    primary_->holds_waiting.push_back(std::move(begin));
  else
    begin();
}

void Replica::end_hold() {
  primary_->released = std::max(primary_->released, primary_->hold.ticket);
  primary_->hold = {};
  for (const auto& waiting : std::exchange(primary_->reads_waiting, {})) waiting();
  pump();
}

/// The master has forgotten it, or was forgotten. Not so while a commit may have been decided and others may show it: who has a
/// lease knows of every decision that was made in time.
void Replica::hold_is_old() {
  if (!primary_ || primary_->hold.ticket == 0) return;
  const bool decided = primary_->hold.reads && (assignment_->commit || !context_.leased());
  if (!decided) return end_hold();
  primary_->hold.timeout = context_.reactor.after(kHoldLater, [this] { hold_is_old(); });
}

void Replica::release(const Release& request, SharedResponder responder) {
  if (primary_->hold.ticket == request.ticket && request.ticket != 0) end_hold();
  if (primary_) primary_->released = std::max(primary_->released, request.ticket);
  responder->reply(Done{});
}

void Replica::mark(const Mark& request, SharedResponder responder) {
  if (request.ticket == 0 || primary_->hold.ticket != request.ticket)
    return responder->fail(not_now(place_, "was not held for this snapshot"));
  LogEntry entry;
  entry.kind = EntryKind::mark;
  entry.id = request.snapshot.value();
  const auto done = [this, responder, ticket = request.ticket](const Result<std::uint64_t>& version) {
    answer(responder, version);
    if (primary_ && primary_->hold.ticket == ticket) end_hold();
  };
  submit({std::move(entry), 0, true, done}, true);
}

void Replica::commit_transaction(const TableCommit& commit, OnVersion done) {
  if (store_->committed(commit.id)) return done(primary_->last);
  primary_->commit_waiters.push_back(std::move(done));
  if (primary_->committing == commit.id) return;
  primary_->committing = commit.id;
  LogEntry entry;
  entry.kind = EntryKind::commit;
  entry.id = commit.id.value();
  entry.tokens = commit.tokens;
  const auto committed = [this](const Result<std::uint64_t>& version) {
    if (!primary_) return;
    primary_->committing = {};
    for (const OnVersion& waiter : std::exchange(primary_->commit_waiters, {})) waiter(version);
  };
  submit({std::move(entry), 0, true, committed}, true);
}

}  // namespace weft::storage::tables
