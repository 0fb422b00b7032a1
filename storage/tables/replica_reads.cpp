// Reads of clients, and pages for new replicas.
#include <algorithm>

#include <fmt/core.h>

#include "storage/tables/replica.hpp"

namespace weft::storage::tables {
namespace {

constexpr std::size_t kMostScanBytes = 4u << 20, kMostScanRows = 100'000;
constexpr std::size_t kPageBytes = 4u << 20;
constexpr std::size_t kMostCopies = 16;  // of one partition at a time
constexpr Duration kCopyIdle = std::chrono::minutes(1);

/// What a snapshot that is dropped kept may be compacted away in the middle of a read.
bool keeps(const TablePartition& store, SnapshotId snapshot, std::uint64_t version) {
  const auto snapshots = store.snapshots();
  const auto known = snapshots.find(snapshot);
  return known != snapshots.end() && known->second == version;
}

}  // namespace

Result<PartitionReply> look_up(const TablePartition& store, const ScanRows& scan, std::uint64_t at) {
  Rows found;
  const auto limit = std::min<std::uint64_t>(scan.limit, kMostScanRows);
  WEFT_ASSIGN(found.rows, store.scan(scan.from, scan.to, limit, at, kMostScanBytes, &found.more));
  return PartitionReply(std::move(found));
}

Result<PartitionReply> look_up(const TablePartition& store, const GetRows& get, std::uint64_t at) {
  Values found;
  std::size_t bytes = 0;
  for (const std::string& key : get.keys) {
    WEFT_ASSIGN(auto value, store.get(key, at));
    bytes += value ? value->size() : 0;
    if (bytes > kMostBatchBytes)
      return fail(Code::resource_exhausted,
                  fmt::format("the values of {} keys are larger than {} MiB together; ask for fewer at a time", get.keys.size(),
                              kMostBatchBytes >> 20));
    found.values.push_back({std::move(value)});
  }
  return PartitionReply(std::move(found));
}

Result<void> Replica::may_read(SnapshotId snapshot) const {
  if (!store_) return fail(unusable());
  if (snapshot != SnapshotId()) return {};
  if (!primary_) return fail(not_now(place_, "has another primary"));
  if (!context_.leased()) return fail(not_now(place_, "waits for the master"));
  if (!primary_->may_read()) return fail(not_now(place_, "is being taken over"));
  return {};
}

void Replica::read(SnapshotId snapshot, LookUp look_up, SharedResponder responder) {
  if (const auto may = may_read(snapshot); !may) return responder->fail(may.error());
  const bool newest = snapshot == SnapshotId();
  if (newest && primary_->wait_to_read([this, snapshot, look_up, responder] { read(snapshot, look_up, responder); })) return;
  std::uint64_t at = kNewest;
  if (snapshot != SnapshotId()) {
    const auto snapshots = store_->snapshots();
    const auto known = snapshots.find(snapshot);
    // Only a primary with a lease that has everything that was acknowledged before knows that there is none.
    const bool knows = primary_ && context_.leased() && primary_->established();
    if (known == snapshots.end() && !knows) return responder->fail(not_now(place_, "has not got the snapshot on this worker"));
    if (known == snapshots.end())
      return responder->fail(
          Error(Code::not_found, fmt::format("partition {} has no snapshot {}", to_string(place_), snapshot.value())));
    at = known->second;
  }
  // Beside the queue: reads don't wait for writes. Snapshots don't change; of the newest version one must still be the primary, in
  // the same role: as a follower it may have taken, and shown, what nobody has acknowledged.
  context_.threads.post([weak = weak_from_this(), store = store_, look_up = std::move(look_up), responder, at, snapshot,
                         role = std::weak_ptr(primary_), &reactor = context_.reactor]() mutable {
    auto found = std::make_shared<Result<PartitionReply>>(look_up(*store, at));
    const bool kept = snapshot == SnapshotId() || keeps(*store, snapshot, at);
    store.reset();
    reactor.post([weak, found, responder = std::move(responder), role = std::move(role), current = at == kNewest, kept] {
      const auto self = weak.lock();
      if (!kept) return responder->fail(Error(Code::unavailable, "the snapshot was dropped while it was read"));
      if (current && (!self || !self->primary_ || self->primary_ != role.lock() || !self->context_.leased()))
        return responder->fail(Error(Code::unavailable, "the partition has another primary"));
      if (!*found && self) return responder->fail(self->read_failed(found->error()));
      if (!*found) return responder->fail(found->error());
      responder->reply(std::move(**found));
    });
  });
}

/// Damage is reported to the client only when no other replica has the data. An error of the disk may pass: it counts as damage
/// when another replica has the data, and is waited for when none has.
Error Replica::read_failed(const Error& why) {
  if (why.code() != Code::corrupt && why.code() != Code::io) return why;
  const bool others =
      !assignment_ || std::any_of(assignment_->members.begin(), assignment_->members.end(), [this](const Member& member) {
        return member.in_sync && member.name != context_.name && !member.address.empty();
      });
  if (others || why.code() == Code::corrupt) found_damage(why);
  if (others) return not_now(place_, "is damaged on this worker, and read elsewhere");
  return why.code() == Code::corrupt ? why : not_now(place_, "cannot be read now: " + why.to_string());
}

void Replica::send_page(std::uint64_t id, SharedResponder responder) {
  if (id == 0) {
    if (pages_.size() >= kMostCopies) return responder->fail(not_now(place_, "is being copied to others"));
    id = ++next_stream_;
    auto fresh = std::make_shared<Pages>();
    fresh->store = store_;
    fresh->log = store_->pin_log();
    fresh->pages = store_->pages();
    pages_[id] = std::move(fresh);
    if (!forget_pages_) forget_pages_ = context_.reactor.after(kCopyIdle, [this] { forget_pages(); });
  }
  const auto found = pages_.find(id);
  if (found == pages_.end() || !found->second->pages) return responder->fail(not_now(place_, "has forgotten the copy"));
  if (std::exchange(found->second->sending, true)) return responder->fail(not_now(place_, "is sending a page of the copy already"));
  found->second->used = context_.clock.now();
  on_disk([session = found->second] { return session->pages->next(kPageBytes); },
          [this, id, session = found->second, responder](Result<PartitionPages::Page> page) {
            session->sending = false;
            if (!page) return responder->fail(read_failed(page.error()));
            if (page->empty()) session->pages.reset();
            responder->reply(CopiedPage{id, std::move(*page)});
          });
}

void Replica::forget_pages() {
  const TimePoint now = context_.clock.now();
  std::erase_if(pages_, [now](const auto& session) { return now - session.second->used >= kCopyIdle; });
  forget_pages_.reset();
  if (!pages_.empty()) forget_pages_ = context_.reactor.after(kCopyIdle, [this] { forget_pages(); });
}

}  // namespace weft::storage::tables
