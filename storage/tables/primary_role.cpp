#include "storage/tables/primary_role.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weft::storage::tables {
namespace {

constexpr std::size_t kEntryBytes = 4u << 20;  // writes are put together up to this
constexpr auto kHoldLater = std::chrono::seconds(1);
constexpr auto kHandOver = std::chrono::seconds(15);  // by then the master has made another member primary, if one can be
constexpr std::size_t kMostWaiting = 128u << 20;      // bytes of writes

/// About what a write takes in memory beside its bytes.
constexpr std::size_t kWriteBytes = 16;
/// Of a commit that an earlier primary made: how large it was is not known any more.
constexpr std::uint64_t kMostCommitBytes = std::uint64_t{4} << 30;

}  // namespace

PrimaryRole::PrimaryRole(Parts parts)
    : parts_(std::move(parts)), last_(parts_.store->last()), commit_bytes_(std::min(parts_.store->bytes(), kMostCommitBytes)) {}

void PrimaryRole::adopt_assignment() {
  update_followers();
  drop_what_is_over();
  settle();
}

void PrimaryRole::end(const char* why) {
  over_ = true;
  const Error error = not_now(parts_.place, why);
  if (round_)
    for (const OnVersion& done : round_->done) done(fail(error));
  for (const Proposal& proposal : proposals_) proposal.done(fail(error));
  for (const OnVersion& waiter : commit_waiters_) waiter(fail(error));
  for (const auto& waiting : holds_waiting_) waiting();
  for (const auto& waiting : reads_waiting_) waiting();
}

/// `then` while the role lasts.
std::unique_ptr<rpc::Timer> PrimaryRole::after(Duration wait, void (PrimaryRole::*then)()) {
  return parts_.context.reactor.after(wait, [weak = weak_from_this(), then] {
    if (const auto role = weak.lock()) ((*role).*then)();
  });
}

bool PrimaryRole::may_read() const {
  const auto& commit = parts_.assignment->commit;
  return established_ && (!commit || settled(commit->id) || hold_.reads);
}

/// That the store has the commit says only that it is on this disk: its round may be under way, or an earlier epoch's that ended in
/// it.
bool PrimaryRole::settled(TransactionId id) const { return established_ && committing_ != id && parts_.store->committed(id); }

bool PrimaryRole::wait_to_read(std::function<void()> then) {
  if (!hold_.reads) return false;
  reads_waiting_.push_back(std::move(then));
  return true;
}

void PrimaryRole::update_followers() {
  std::map<std::string, Follower> left = std::move(followers_);
  followers_.clear();
  std::vector<std::string> to_start;
  for (const Member& member : parts_.assignment->members) {
    if (member.name == parts_.context.name) continue;
    Follower& follower = followers_[member.name];
    const auto known = left.find(member.name);
    const bool same = known != left.end() && known->second.address == member.address;
    if (same) follower = std::move(known->second);
    if (!same && round_) round_->waiting.erase(member.name);
    const bool dropped =
        same && follower.in_sync && !member.in_sync && follower.phase == Follower::Phase::synced;  // by the master: it is damaged
    follower.address = member.address;
    follower.in_sync = member.in_sync;
    if (!changing_) follower.requested = false;
    if (dropped && round_) round_->waiting.erase(member.name);
    if (dropped) to_start.push_back(member.name);
    if (same) continue;
    follower.failed = member.address.empty();
    if (!follower.failed) to_start.push_back(member.name);
  }
  if (round_) std::erase_if(round_->waiting, [&](const std::string& name) { return !followers_.contains(name); });
  for (const std::string& name : to_start) start_stream(name);
}

/// Snapshots and transactions that the master no longer knows; a commit it has decided.
void PrimaryRole::drop_what_is_over() {
  const auto nobody = [](const Result<std::uint64_t>&) {};
  const auto drop_unless_known = [&](auto id, const auto& known, EntryKind kind) {
    if (id.value() >= parts_.assignment->next_id || std::find(known.begin(), known.end(), id) != known.end()) return;
    LogEntry entry;
    entry.kind = kind;
    entry.id = id.value();
    submit({std::move(entry), 0, true, nobody}, false);
  };
  for (const auto& [id, version] : parts_.store->snapshots())
    drop_unless_known(id, parts_.assignment->snapshots, EntryKind::unmark);
  for (const TransactionId id : parts_.store->staged()) drop_unless_known(id, parts_.assignment->transactions, EntryKind::abort);
  if (parts_.assignment->commit) commit_transaction(*parts_.assignment->commit, nobody);
}

void PrimaryRole::put(PutRows request, SharedResponder responder) {
  LogEntry entry;
  entry.writes = std::move(request.writes);
  write(std::move(entry), request.request, request.repeated, std::move(responder));
}

void PrimaryRole::stage(StageRows request, SharedResponder responder) {
  const auto id = request.transaction.value();
  const auto& open = parts_.assignment->transactions;
  if (std::find(open.begin(), open.end(), request.transaction) == open.end()) {
    if (id < parts_.assignment->next_id)
      return responder->fail(Error(Code::invalid_argument, "the job whose rows these are has ended, or was silent for too long"));
    parts_.context.heartbeat_soon();
    return responder->fail(not_now(parts_.place, "does not know the job's rows yet"));
  }
  LogEntry entry;
  entry.kind = EntryKind::stage;
  entry.id = id;
  entry.token = request.token;
  entry.writes = std::move(request.writes);
  write(std::move(entry), request.request, request.repeated, std::move(responder));
}

/// A request whose answer was lost is repeated, and may arrive again even after its repetition.
void PrimaryRole::write(LogEntry entry, std::uint64_t request, bool repeated, SharedResponder responder) {
  if (const auto under_way = requests_.find(request); under_way != requests_.end())
    return under_way->second.push_back(std::move(responder));
  if (request != 0 && parts_.store->carried_out(request)) {
    if (!established_) return responder->fail(not_now(parts_.place, "is being taken over"));
    return answer(responder, Result<std::uint64_t>(last_));
  }
  if (repeated && !parts_.store->recalled_requests())
    return on_disk([store = parts_.store] { return store->recall_requests(); },
                   [this, entry = std::move(entry), request, responder](const Result<void>& recalled) mutable {
                     if (over_) return responder->fail(not_now(parts_.place, "has another primary"));
                     if (!recalled) {
                       responder->fail(not_now(parts_.place, "is about to be given up: " + recalled.error().to_string()));
                       return parts_.give_up(recalled.error());
                     }
                     write(std::move(entry), request, true, responder);
                   });
  const std::size_t bytes = bytes_of(entry.writes) + kWriteBytes * entry.writes.size();
  const std::uint64_t staged = entry.kind == EntryKind::stage ? parts_.store->staged_bytes() : 0;
  if (const auto refused = refusal(bytes, staged)) return responder->fail(*refused);
  if (waiting_bytes_ + bytes > kMostWaiting) return responder->fail(not_now(parts_.place, "has too much to write already"));
  if (request == 0)
    return submit({std::move(entry), bytes, false, [responder](const auto& version) { answer(responder, version); }}, false);
  entry.tokens = {request};
  requests_[request].push_back(std::move(responder));
  const auto done = [this, request](const Result<std::uint64_t>& version) {
    const auto waiting = std::exchange(requests_.at(request), {});
    requests_.erase(request);
    for (const SharedResponder& one : waiting) answer(one, version);
  };
  submit({std::move(entry), bytes, false, done}, false);
}

std::optional<Error> PrimaryRole::refusal(std::optional<std::size_t> row_bytes, std::uint64_t staged) {
  auto why = parts_.store->refusal();
  if (!why && row_bytes)
    if (auto room = check_space(parts_.context, parts_.path, *row_bytes, staged); !room) why = std::move(room).error();
  if (!why && row_bytes) full_since_.reset();
  if (!why) return std::nullopt;
  if (why->code() != Code::resource_exhausted) return not_now(parts_.place, "is about to be given up: " + why->to_string());
  const TimePoint now = parts_.context.clock.now();
  if (!full_since_) {
    full_since_ = now;
    parts_.context.heartbeat_soon();
  }
  const bool alone =
      std::all_of(followers_.begin(), followers_.end(), [](const auto& follower) { return follower.second.address.empty(); });
  if (alone || now - *full_since_ >= kHandOver) return why;
  return not_now(parts_.place, "waits for another primary: " + why->to_string());
}

void PrimaryRole::submit(Proposal proposal, bool first) {
  waiting_bytes_ += proposal.bytes;
  if (first)
    proposals_.push_front(std::move(proposal));
  else
    proposals_.push_back(std::move(proposal));
  pump();
}

/// The next entry begins when the one before is everywhere it should be. On a full disk all wait.
void PrimaryRole::pump() {
  if (over_ || round_ || !established_ || parts_.store->refusal()) return;
  if (std::any_of(followers_.begin(), followers_.end(), [](const auto& f) { return f.second.phase == Follower::Phase::joining; }))
    return;
  auto next = proposals_.begin();
  if (hold_.ticket != 0)  // what a hold was made for passes it
    next = std::find_if(next, proposals_.end(), [](const Proposal& proposal) { return proposal.through_hold; });
  if (next == proposals_.end()) return;
  LogEntry entry = std::move(next->entry);
  std::vector<OnVersion> done{std::move(next->done)};
  std::size_t bytes = next->bytes;
  waiting_bytes_ -= next->bytes;
  next = proposals_.erase(next);
  while (entry.kind == EntryKind::write && next != proposals_.end() && next->entry.kind == EntryKind::write &&
         bytes + next->bytes <= kEntryBytes && hold_.ticket == 0) {
    std::move(next->entry.writes.begin(), next->entry.writes.end(), std::back_inserter(entry.writes));
    entry.tokens.insert(entry.tokens.end(), next->entry.tokens.begin(), next->entry.tokens.end());
    done.push_back(std::move(next->done));
    bytes += next->bytes;
    waiting_bytes_ -= next->bytes;
    next = proposals_.erase(next);
  }
  start_round(std::move(entry), std::move(done));
}

void PrimaryRole::start_round(LogEntry entry, std::vector<OnVersion> done) {
  entry.version = last_ + 1;
  entry.epoch = parts_.assignment->epoch;
  if (entry.kind == EntryKind::commit) commit_bytes_ = parts_.store->staged_bytes();
  round_ = Round{};
  round_->version = entry.version;
  round_->done = std::move(done);
  std::vector<std::string> to;
  for (const auto& [name, follower] : followers_)
    if (follower.phase == Follower::Phase::synced) to.push_back(name);
  round_->waiting.insert(to.begin(), to.end());
  for (const std::string& name : to) send_entries(name, {entry});
  on_disk([store = parts_.store, entry = std::move(entry)] { return store->apply(entry); },
          [this, version = round_->version](const Result<void>& applied) { local_done(version, applied); });
}

void PrimaryRole::local_done(std::uint64_t version, const Result<void>& applied) {
  if (over_ || !round_ || round_->version != version) return;
  if (!applied) return parts_.give_up(applied.error());
  round_->local = true;
  std::vector<std::string> joining;
  for (const auto& [name, follower] : followers_)
    if (follower.phase == Follower::Phase::joining) joining.push_back(name);
  for (const std::string& name : joining)
    if (!over_) feed(name);
  settle();
}

/// Looks whether the entry under way is done, and what is next. To be called whenever something has changed.
void PrimaryRole::settle() {
  if (over_) return;
  bool all = true, somebody_failed = false, somebody_new = false;
  for (const auto& [name, follower] : followers_) {
    const bool synced = follower.phase == Follower::Phase::synced;
    all = all && (synced || !follower.required());
    somebody_failed = somebody_failed || (follower.required() && follower.failed);
    somebody_new = somebody_new || (synced && !follower.required());
  }
  if (somebody_failed) return change_in_sync();  // settles again
  if (somebody_new) change_in_sync();
  if (!all) return;
  if (!parts_.assignment->made) return parts_.context.heartbeat_soon();  // the master has to write down first that it is in use
  if (!established_) establish();
  if (!round_) return pump();
  if (!round_->waiting.empty() || !round_->local) return;
  const Round round = std::move(*round_);
  round_.reset();
  last_ = round.version;
  parts_.store->set_committed(round.version);
  for (const OnVersion& done : round.done) done(round.version);
  if (over_) return;
  for (const auto& waiting : std::exchange(holds_waiting_, {})) waiting();
  pump();
}

void PrimaryRole::establish() {
  established_ = true;
  parts_.store->set_committed(last_);
  if (committing_ != TransactionId() && parts_.store->committed(committing_)) commit_settled(last_);
}

void PrimaryRole::hold(const Hold& request, SharedResponder responder) {
  if (!established_) return responder->fail(not_now(parts_.place, "is being taken over"));
  const std::uint64_t staged = request.reads ? parts_.store->staged_bytes() : 0;
  const auto rows = staged > 0 ? std::optional<std::size_t>(0) : std::nullopt;
  if (request.reads)  // what is decided has to be carried out, so that there must be room for it before
    if (const auto refused = refusal(rows, staged)) return responder->fail(*refused);
  auto begin = [this, ticket = request.ticket, reads = request.reads, responder] {
    if (over_) return responder->fail(not_now(parts_.place, "has another primary"));
    if (ticket <= released_) return responder->fail(not_now(parts_.place, "was released before it was held"));
    hold_ = {ticket, reads, after(kHoldLasts, &PrimaryRole::hold_is_old)};
    answer(responder, Result<std::uint64_t>(last_));
  };
  if (round_)
    holds_waiting_.push_back(std::move(begin));
  else
    begin();
}

void PrimaryRole::end_hold() {
  released_ = std::max(released_, hold_.ticket);
  hold_ = {};
  for (const auto& waiting : std::exchange(reads_waiting_, {})) waiting();
  pump();
}

/// The master has forgotten the hold, or has been restarted. The hold does not end while a commit may have been decided that others
/// may show: a primary with a lease knows every decision that was made in time, unless the master's disk was full.
void PrimaryRole::hold_is_old() {
  if (over_ || hold_.ticket == 0) return;
  const bool decided = hold_.reads && (parts_.assignment->commit || parts_.context.withheld || !parts_.context.leased());
  if (!decided) return end_hold();
  hold_.timeout = after(kHoldLater, &PrimaryRole::hold_is_old);
}

void PrimaryRole::release(const Release& request, SharedResponder responder) {
  if (hold_.ticket != 0 && hold_.ticket <= request.ticket) end_hold();
  if (!over_) released_ = std::max(released_, request.ticket);
  responder->reply(Done{});
}

void PrimaryRole::mark(const Mark& request, SharedResponder responder) {
  if (request.ticket == 0 || hold_.ticket != request.ticket)
    return responder->fail(not_now(parts_.place, "was not held for this snapshot"));
  if (const auto refused = refusal(std::nullopt)) return responder->fail(*refused);
  LogEntry entry;
  entry.kind = EntryKind::mark;
  entry.id = request.snapshot.value();
  const auto done = [this, responder, ticket = request.ticket](const Result<std::uint64_t>& version) {
    answer(responder, version);
    if (!over_ && hold_.ticket == ticket) end_hold();
  };
  submit({std::move(entry), 0, true, done}, true);
}

void PrimaryRole::commit_transaction(const TableCommit& commit, OnVersion done) {
  if (settled(commit.id)) return done(last_);
  const auto& open = parts_.assignment->transactions;
  const bool over = commit.id.value() < parts_.assignment->next_id && std::find(open.begin(), open.end(), commit.id) == open.end();
  if (over && established_) return done(last_);  // a request that comes late: everybody has carried it out
  if (over || (committing_ != TransactionId() && committing_ != commit.id))
    return done(fail(not_now(parts_.place, "has another commit to carry out first")));
  commit_waiters_.push_back(std::move(done));
  if (committing_ == commit.id) return;
  committing_ = commit.id;
  if (parts_.store->committed(commit.id)) return;  // in an earlier epoch: settled as soon as this one is established
  LogEntry entry;
  entry.kind = EntryKind::commit;
  entry.id = commit.id.value();
  entry.tokens = commit.tokens;
  const auto committed = [this](const Result<std::uint64_t>& version) {
    if (!over_) commit_settled(version);
  };
  submit({std::move(entry), 0, true, committed}, true);
}

void PrimaryRole::commit_settled(const Result<std::uint64_t>& version) {
  committing_ = {};
  for (const OnVersion& waiter : std::exchange(commit_waiters_, {})) waiter(version);
}

}  // namespace weft::storage::tables
