#include "storage/tables/replica.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/core.h>
#include <sys/statvfs.h>

#include "base/text.hpp"

namespace weft::storage::tables {
namespace {

using namespace std::chrono_literals;
constexpr auto kReopen = 500ms;
constexpr std::size_t kLeastRoom = 4u << 20;  // bytes of rows, as in a message of a client; a disk without room for them is full

}  // namespace

void answer(const SharedResponder& responder, const Result<std::uint64_t>& version) {
  if (!version) return responder->fail(version.error());
  responder->reply(AtVersion{*version});
}

Error not_now(const PlaceId& place, std::string_view why) {
  return {Code::unavailable, fmt::format("partition {} {}", to_string(place), why)};
}

Replica::Replica(ReplicaContext& context, PlaceId place, std::string path)
    : context_(context), place_(place), path_(std::move(path)), queue_(std::make_shared<IoQueue>(context.threads)) {}

/// A member in sync has what was acknowledged: when its database is missing, it is lost, or its disk is not mounted.
bool Replica::may_create() const {
  if (!assignment_) return false;
  return !assignment_->made || std::none_of(assignment_->members.begin(), assignment_->members.end(), [this](const Member& member) {
    return member.name == context_.name && member.in_sync;
  });
}

/// Once in an epoch: an entry it began may be with others, and another one would get the same number.
bool Replica::may_lead() const {
  return store_ && !primary_ && assignment_ && assignment_->primary == context_.name && assignment_->epoch > led_ &&
         assignment_->epoch >= fence_;
}

void Replica::open() {
  if (disk_ != Disk::closed || copying_ || erased_) return;
  disk_ = Disk::opening;
  const OpenMode mode = may_create() ? OpenMode::create : OpenMode::existing;
  on_disk(
      [path = path_, mode, open_partition = context_.open_partition]() -> Result<std::unique_ptr<TablePartition>> {
        std::error_code error;
        if (mode == OpenMode::create) std::filesystem::create_directories(path, error);
        if (error) return fail(Code::io, fmt::format("cannot create {}: {}", path, error.message()));
        return open_partition(path, mode);
      },
      [this](Result<std::unique_ptr<TablePartition>> store) { opened(std::move(store)); });
}

void Replica::opened(Result<std::unique_ptr<TablePartition>> store) {
  disk_ = store ? Disk::open : Disk::closed;
  if (!store) {
    if (failure_.empty()) context_.log.warn("{}", store.error().to_string());
    failure_ = store.error().to_string();
    const Code why = store.error().code();
    const bool unusable = why == Code::corrupt || why == Code::version_mismatch;
    lack_ = why == Code::not_found ? Lack::absent : unusable ? Lack::unusable : Lack::nothing;
    if (lack_ == Lack::absent && may_create()) return open();
    // One that is locked is being given up by a reader or a process that ends; damage does not go away.
    if (!unusable) reopen_ = context_.reactor.after(kReopen, [this] { open(); });
    return context_.heartbeat_soon();
  }
  failure_.clear();
  lack_ = Lack::nothing;
  store_ = std::shared_ptr<TablePartition>(store->release(),
                                           [weak = weak_from_this(), &reactor = context_.reactor](TablePartition* last) {
                                             delete last;
                                             reactor.post([weak] {
                                               if (const auto self = weak.lock()) self->closed();
                                             });
                                           });
  fence_ = std::max(fence_, store_->epoch_at(store_->last()).value_or(0));
  if (may_lead()) lead();
  look_at_disk();
  context_.heartbeat_soon();
}

void Replica::look_at_disk() {
  if (!store_ || disk_ != Disk::open) return;
  const auto refused = store_->refusal();
  const auto room = check_space(context_, path_, kLeastRoom, store_->staged_bytes());
  no_room_ = refused ? refused->to_string() : room ? std::string() : room.error().to_string();
  if (!refused || recovering_) return;
  context_.log.warn("{}; until then it is only read", refused->to_string());
  recovering_ = true;
  recover_later();
}

/// Takes entries again when its disk has room.
void Replica::recover_later() {
  recover_ = context_.reactor.after(kReopen, [this] {
    on_disk([store = store_] { return store->recover(); },
            [this, store = std::weak_ptr(store_)](const Result<void>& recovered) {
              if (!recovering_ || store.lock() != store_) return;  // it was closed, and perhaps opened again
              if (!recovered && recovered.error().code() == Code::resource_exhausted) return recover_later();
              recovering_ = false;
              if (!recovered) return give_up(recovered.error());
              context_.log.info("partition {} takes writes again", to_string(place_));
              if (const auto role = primary_) role->go_on();
            });
  });
}

ReplicaReport Replica::report() const {
  ReplicaReport report;
  report.place = place_;
  report.failure = failure_;
  report.state = !failure_.empty() ? lack_ == Lack::absent ? ReplicaState::absent : ReplicaState::failed
                 : store_          ? ReplicaState::good
                                   : ReplicaState::opening;
  if (assignment_) report.revision = assignment_->revision;
  if (!store_) return report;
  if (taking_over_) {
    report.state = ReplicaState::opening;
  } else if (assignment_ && assignment_->primary == context_.name && !primary_) {  // until the next epoch
    report.state = ReplicaState::failed;
    report.failure = given_up_;
  } else if (!damage_.empty()) {
    report.state = ReplicaState::damaged;
    report.failure = damage_;
  } else if (!no_room_.empty()) {
    report.state = ReplicaState::full;
    report.failure = no_room_;
  }
  report.last = store_->last();
  report.epoch = store_->epoch_at(report.last).value_or(0);
  report.bytes = store_->bytes();
  return report;
}

Error Replica::unusable() const {
  return not_now(place_, failure_.empty() ? copying_ ? "is being copied" : "is being opened" : failure_);
}

/// The disk has failed: the replica opens its database again when another member has become primary.
void Replica::give_up(const Error& why) {
  if (why.code() == Code::corrupt) found_damage(why);
  context_.log.warn("partition {}: {}", to_string(place_), why.to_string());
  failure_ = given_up_ = why.to_string();
  leave_role("has lost its disk");
  close([this] { reopen_ = context_.reactor.after(kReopen, [this] { open(); }); });
  context_.heartbeat_soon();
}

void Replica::found_damage(const Error& why) {
  if (!damage_.empty()) return;
  context_.log.warn("partition {} is damaged: {}", to_string(place_), why.to_string());
  damage_ = why.to_string();
  context_.heartbeat_soon();
}

void Replica::close(std::function<void()> then) {
  pages_.clear();
  recovering_ = false;  // what is opened next is looked at by itself
  recover_.reset();
  if (disk_ != Disk::open && disk_ != Disk::closing) return then();
  disk_ = Disk::closing;
  after_closing_.push_back(std::move(then));
  // On a disk's thread, behind what waits for it; or wherever the last reader is.
  if (store_) queue_->post([store = std::exchange(store_, nullptr)]() mutable { store.reset(); });
}

void Replica::closed() {
  disk_ = Disk::closed;
  for (const auto& then : std::exchange(after_closing_, {})) then();
}

/// Behind entries of earlier primaries, of itself too, that its disk still has before it: a role begins with the last of them.
void Replica::lead() {
  if (std::exchange(taking_over_, true)) return;
  on_disk([store = store_] { return store->last(); },
          [this, store = std::weak_ptr(store_)](std::uint64_t) {
            taking_over_ = false;
            if (!may_lead()) return;
            if (store.lock() == store_) return begin_role();
            lead();  // it was opened again meanwhile
          });
}

void Replica::begin_role() {
  led_ = assignment_->epoch;
  given_up_ = "has left its role";
  context_.log.debug("primary of partition {} in epoch {} from version {}", to_string(place_), led_, store_->last());
  const auto role = std::make_shared<PrimaryRole>(
      PrimaryRole::Parts{context_, place_, path_, queue_, store_, assignment_, [this] { return ++next_stream_; },
                         [this](const Error& why) { give_up(why); }, [this](const Assignment& newer) { adopt(newer); }});
  primary_ = role;
  role->adopt_assignment();
}

void Replica::leave_role(const char* why) {
  if (const auto role = std::exchange(primary_, nullptr)) role->end(why);
}

void Replica::master_lost() {
  leave_role("waits for the master");
  assignment_.reset();
}

void Replica::adopt(const Assignment& assignment) {
  if (erased_ || (assignment_ && assignment.revision <= assignment_->revision)) return;
  if (primary_ && (assignment.primary != context_.name || assignment.epoch != assignment_->epoch))
    leave_role("has another primary now");
  assignment_ = assignment;
  keys_ = assignment.keys;
  fence_ = std::max(fence_, assignment.epoch);
  open();
  if (may_lead()) return lead();
  if (const auto role = primary_) role->adopt_assignment();
}

struct Replica::Server {
  Replica& replica;
  const std::uint64_t epoch;
  const SharedResponder responder;

  void operator()(GetRows& get) const {
    const SnapshotId snapshot = get.snapshot;
    replica.read(
        snapshot, [get = std::move(get)](const TablePartition& store, std::uint64_t at) { return look_up(store, get, at); },
        responder);
  }
  void operator()(ScanRows& scan) const {
    const SnapshotId snapshot = scan.snapshot;
    replica.read(
        snapshot, [scan = std::move(scan)](const TablePartition& store, std::uint64_t at) { return look_up(store, scan, at); },
        responder);
  }
  void operator()(PutRows& put) const {
    writes([&](PrimaryRole& role) { role.put(std::move(put), responder); });
  }
  void operator()(StageRows& stage) const {
    writes([&](PrimaryRole& role) { role.stage(std::move(stage), responder); });
  }
  void operator()(const BeginStream& begin) const { replica.begin_stream(epoch, begin, responder); }
  void operator()(AppendEntries& append) const { replica.take_entries(epoch, std::move(append), responder); }
  void operator()(const StartCopy& start) const { replica.start_copy(epoch, start, responder); }

  // What only the primary of this epoch does.
  void operator()(const Hold& hold) const {
    leads([&](PrimaryRole& role) { role.hold(hold, responder); });
  }
  void operator()(const Mark& mark) const {
    leads([&](PrimaryRole& role) { role.mark(mark, responder); });
  }
  void operator()(const Commit& commit) const {
    leads([&](PrimaryRole& role) {
      role.commit_transaction(commit.commit, [to = responder](const Result<std::uint64_t>& version) { answer(to, version); });
    });
  }
  void operator()(const Release& release) const {
    leads([&](PrimaryRole& role) { role.release(release, responder); });
  }
  void operator()(const NextPage& next) const {
    leads([&](PrimaryRole&) { replica.send_page(next.session, responder); });
  }

  template <class Do>
  void leads(Do&& act) const {
    if (!replica.primary_ || replica.assignment_->epoch != epoch || !replica.store_)
      return responder->fail(not_now(replica.place_, "has another primary"));
    const auto role = replica.primary_;  // it may end meanwhile
    act(*role);
  }
  template <class Do>
  void writes(Do&& act) const {
    if (!replica.store_) return responder->fail(replica.unusable());
    const auto role = replica.primary_;
    if (!role) return responder->fail(not_now(replica.place_, "has another primary"));
    act(*role);
  }
};

void Replica::serve(PartitionRequest request, PartitionPeers::Answer to) {
  const auto responder = std::make_shared<PartitionResponder>(std::move(to));
  if (erased_) return responder->fail(not_now(place_, "is not on this worker any more"));
  std::visit(Server{*this, request.epoch, responder}, request.operation);
}

void Replica::erase(std::function<void()> done) {
  leave_role("is gone");
  erased_ = true;
  assignment_.reset();
  reopen_.reset();
  close([this, done = std::move(done)] {
    on_disk(
        [path = path_] {
          std::error_code ignored;
          std::filesystem::remove_all(path, ignored);
          std::filesystem::remove_all(path + ".copy", ignored);
          return true;
        },
        [done](bool) { done(); });
  });
}

Result<std::uint64_t> free_space_of(const std::string& path) {
  struct statvfs info {};
  if (::statvfs(path.c_str(), &info) != 0) return fail(errno_error("cannot see how full the disk of " + path + " is", errno));
  return std::uint64_t{info.f_bavail} * info.f_frsize;
}

/// A commit writes the rows that were staged again, and a compaction writes those once more.
Result<void> check_space(const ReplicaContext& context, const std::string& path, std::size_t bytes, std::uint64_t staged) {
  WEFT_ASSIGN(const std::uint64_t free, context.free_space(path));
  if (free >= context.reserve + 4 * bytes + 2 * staged) return {};
  return fail(
      Code::resource_exhausted,
      fmt::format("the disk of worker {} is full: {} are left below {}, of which {} are kept free; make room, or add workers",
                  context.name, human_bytes(free), path, human_bytes(context.reserve)));
}

}  // namespace weft::storage::tables
