#include "storage/tables/replica.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/core.h>
#include <sys/statvfs.h>

#include "base/text.hpp"

namespace weft::storage {
namespace {

using namespace std::chrono_literals;
constexpr auto kReopen = 500ms;

}  // namespace

void answer(const SharedResponder& responder, const Result<std::uint64_t>& version) {
  if (!version) return responder->fail(version.error());
  PartitionReply reply;
  reply.version = *version;
  responder->reply(std::move(reply));
}

Error not_now(const PlaceId& place, std::string_view why) {
  return {Code::unavailable, fmt::format("partition {} {}", to_string(place), why)};
}

Replica::Replica(ReplicaContext& context, PlaceId place, std::string path)
    : context_(context), place_(place), path_(std::move(path)), queue_(std::make_shared<IoQueue>(context.threads)) {}

/// Who is in sync has what was acknowledged: when it is not there, it is lost, or its disk is not mounted.
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
  if (store_ || opening_ || closing_ || copying_ || erased_) return;
  opening_ = true;
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
  opening_ = false;
  if (!store) {
    if (failure_.empty()) context_.log.warn("{}", store.error().to_string());
    failure_ = store.error().to_string();
    absent_ = store.error().code() == Code::not_found;
    if (absent_ && may_create()) return open();
    // One that is locked is being given up by a reader or a process that ends; damage does not go away.
    damaged_ = store.error().code() == Code::corrupt || store.error().code() == Code::version_mismatch;
    if (!damaged_) reopen_ = context_.reactor.after(kReopen, [this] { open(); });
    return context_.beat_soon();
  }
  failure_.clear();
  damaged_ = absent_ = false;
  store_ = std::shared_ptr<TablePartition>(store->release(),
                                           [weak = weak_from_this(), &reactor = context_.reactor](TablePartition* last) {
                                             delete last;
                                             reactor.post([weak] {
                                               if (const auto self = weak.lock()) self->closed();
                                             });
                                           });
  fence_ = std::max(fence_, store_->epoch_at(store_->last()).value_or(0));
  if (may_lead()) lead();
  context_.beat_soon();
}

ReplicaReport Replica::report() const {
  ReplicaReport report;
  report.place = place_;
  report.failure = failure_;
  report.state = !failure_.empty() ? absent_ ? ReplicaState::absent : ReplicaState::failed
                 : store_          ? ReplicaState::good
                                   : ReplicaState::opening;
  if (assignment_) report.revision = assignment_->revision;
  if (!store_) return report;
  if (assignment_ && assignment_->primary == context_.name && !primary_) {  // until the next epoch
    report.state = ReplicaState::failed;
    report.failure = given_up_;
  } else if (!hurt_.empty()) {
    report.state = ReplicaState::hurt;
    report.failure = hurt_;
  }
  report.last = store_->last();
  report.epoch = store_->epoch_at(report.last).value_or(0);
  report.bytes = store_->bytes();
  return report;
}

Error Replica::unusable() const {
  return not_now(place_, failure_.empty() ? copying_ ? "is being copied" : "is being opened" : failure_);
}

/// The disk let it down: it begins anew with what is there, when somebody else has taken over.
void Replica::give_up(const Error& why) {
  if (why.code() == Code::corrupt) found_damage(why);
  context_.log.warn("partition {}: {}", to_string(place_), why.to_string());
  failure_ = given_up_ = why.to_string();
  leave_role("has lost its disk");
  close([this] { reopen_ = context_.reactor.after(kReopen, [this] { open(); }); });
  context_.beat_soon();
}

void Replica::found_damage(const Error& why) {
  if (!hurt_.empty()) return;
  context_.log.warn("partition {} is damaged: {}", to_string(place_), why.to_string());
  hurt_ = why.to_string();
  context_.beat_soon();
}

void Replica::close(std::function<void()> then) {
  pages_.clear();
  if (!store_ && !closing_) return then();
  closing_ = true;
  after_closing_.push_back(std::move(then));
  // On a disk's thread, behind what waits for it; or wherever the last reader is.
  if (store_) queue_->post([store = std::exchange(store_, nullptr)]() mutable { store.reset(); });
}

void Replica::closed() {
  closing_ = false;
  for (const auto& then : std::exchange(after_closing_, {})) then();
}

void Replica::leave_role(const char* why) {
  const auto role = std::move(primary_);
  if (!role) return;
  const Error error = not_now(place_, why);
  if (role->round)
    for (const Done& done : role->round->done) done(fail(error));
  for (const Operation& operation : role->operations) operation.done(fail(error));
  for (const Done& waiter : role->commit_waiters) waiter(fail(error));
  for (const auto& waiting : role->holds_waiting) waiting();
  for (const auto& waiting : role->reads_waiting) waiting();
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
  fence_ = std::max(fence_, assignment.epoch);
  open();
  if (may_lead()) return lead();
  if (!primary_) return;
  update_followers();
  drop_what_is_over();
  settle();
}

void Replica::serve(PartitionRequest request, PartitionPeers::Answer to) {
  const auto responder = std::make_shared<PartitionResponder>(std::move(to));
  if (erased_) return responder->fail(Error(Code::not_found, fmt::format("there is no partition {} here", to_string(place_))));
  switch (request.operation) {
    case PartitionOperation::get:
    case PartitionOperation::scan:
      return read(std::move(request), responder);
    case PartitionOperation::put:
    case PartitionOperation::stage:
      return write(std::move(request), responder);
    case PartitionOperation::position:
      return position(request, responder);
    case PartitionOperation::entries:
      return take_entries(std::move(request), responder);
    case PartitionOperation::copy:
      return start_copy(request, responder);
    default:
      break;
  }
  // What only the primary of this epoch does.
  if (!primary_ || assignment_->epoch != request.epoch || !store_) return responder->fail(not_now(place_, "has another primary"));
  switch (request.operation) {
    case PartitionOperation::hold:
      return hold(request, responder);
    case PartitionOperation::mark:
      return mark(request, responder);
    case PartitionOperation::commit:
      return commit(request, responder);
    case PartitionOperation::release:
      return release(request, responder);
    case PartitionOperation::page:
      return send_page(request, responder);
    default:
      return responder->fail(Error(Code::invalid_argument, "a worker of this version does not know what is asked of a partition"));
  }
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

Result<void> Replica::check_space(std::size_t bytes) const {
  struct statvfs info {};
  if (::statvfs(path_.c_str(), &info) != 0) return fail(errno_error("cannot see how full the disk of " + path_ + " is", errno));
  const std::uint64_t free = std::uint64_t{info.f_bavail} * info.f_frsize;
  if (free >= context_.reserve + 4 * bytes) return {};
  return fail(
      Code::resource_exhausted,
      fmt::format("the disk of worker {} is full: {} are left below {}, of which {} are kept free; make room, or add workers",
                  context_.name, human_bytes(free), path_, human_bytes(context_.reserve)));
}

}  // namespace weft::storage
