// The follower's side: entries of the primary, and copying everything from it.
#include <algorithm>
#include <filesystem>

#include <fmt/core.h>

#include "storage/tables/replica.hpp"
#include "storage/tables/replica_directories.hpp"

namespace weft::storage::tables {

void Replica::begin_stream(std::uint64_t epoch, const BeginStream& request, SharedResponder responder) {
  if (!assignment_)
    return responder->fail(not_now(place_, "waits for the master"));  // it does not know the primary since it was last here
  if (epoch < fence_) return responder->fail(not_now(place_, "has a later primary"));
  if (primary_ && epoch > assignment_->epoch) leave_role("has another primary now");
  if (primary_) return responder->fail(not_now(place_, "has this worker as its primary"));
  if (opening() || copying_ || (!store_ && lack_ == Lack::nothing)) return responder->fail(unusable());
  fence_ = epoch;
  stream_ = request.stream;
  if (!store_ || !damage_.empty()) return responder->reply(StreamPosition{0, 0, true});
  // Behind what an earlier primary sent.
  on_disk([store = store_] { return std::pair(store->last(), store->epoch_at(store->last()).value_or(0)); },
          [responder](std::pair<std::uint64_t, std::uint64_t> at) {
            responder->reply(StreamPosition{at.first, at.second, false});
          });
}

void Replica::take_entries(std::uint64_t epoch, AppendEntries request, SharedResponder responder) {
  if (epoch != fence_ || request.stream != stream_ || primary_) return responder->fail(not_now(place_, "has a later primary"));
  if (!store_) return responder->fail(unusable());
  if (const auto refused = store_->refusal()) return responder->fail(*refused);
  std::size_t bytes = 0;
  for (const LogEntry& entry : request.entries) bytes += bytes_of(entry.writes);
  if (bytes > 0)
    if (const auto room = check_space(context_, path_, bytes); !room) return responder->fail(room.error());
  on_disk(
      [store = store_, entries = std::move(request.entries)]() -> Result<std::uint64_t> {
        for (const LogEntry& entry : entries) WEFT_TRY(store->apply(entry));
        const std::uint64_t last = store->last();
        store->set_committed(last);  // nobody reads older versions here, except by snapshots
        return last;
      },
      [this, responder](const Result<std::uint64_t>& version) {
        answer(responder, version);
        if (!version && version.error().code() != Code::invalid_argument && store_) give_up(version.error());
      });
}

void Replica::start_copy(std::uint64_t epoch, const StartCopy& request, SharedResponder responder) {
  if (epoch != fence_ || request.stream != stream_ || primary_) return responder->fail(not_now(place_, "has a later primary"));
  responder->reply(Done{});
  if (std::exchange(copying_, true)) return;
  context_.log.info("partition {} is copied from {}", to_string(place_), request.primary);
  reopen_.reset();
  on_disk(
      [path = path_ + ".copy"]() -> Result<std::unique_ptr<PartitionCopy>> {
        std::error_code error;
        std::filesystem::remove_all(path, error);
        std::filesystem::create_directories(path, error);
        if (error) return fail(Code::io, fmt::format("cannot create {}: {}", path, error.message()));
        return PartitionCopy::create(path);
      },
      [this, from = request.primary](Result<std::unique_ptr<PartitionCopy>> copy) {
        if (!copy) return copy_failed(copy.error());
        copy_pages(std::move(*copy), from, 0);
      });
}

void Replica::copy_pages(std::shared_ptr<PartitionCopy> copy, std::string from, std::uint64_t session) {
  ask(context_, weak_from_this(), from, place_, fence_, NextPage{session}, [this, copy, from](Result<CopiedPage> reply) {
    if (!reply) return copy_failed(reply.error());
    if (reply->records.empty()) return copied(copy);
    std::size_t bytes = 0;
    for (const auto& [key, value] : reply->records) bytes += key.size() + value.size();
    if (const auto room = check_space(context_, path_, bytes); !room) return copy_failed(room.error());
    on_disk([copy, page = std::move(reply->records)] { return copy->add(page); },
            [this, copy, from, id = reply->session](const Result<void>& added) {
              if (!added) return copy_failed(added.error());
              copy_pages(copy, from, id);
            });
  });
}

void Replica::copied(std::shared_ptr<PartitionCopy> copy) {
  on_disk(
      [copy = std::move(copy)]() mutable -> Result<void> {
        WEFT_TRY(copy->finish());
        copy.reset();
        return {};
      },
      [this](const Result<void>& finished) {
        if (!finished) return copy_failed(finished.error());
        if (primary_) return copy_failed(not_now(place_, "has this worker as its primary now"));
        close([this] { take_copy(); });
      });
}

void Replica::take_copy() {
  on_disk([path = path_, damaged = lack_ == Lack::unusable || !damage_.empty()] { return replace_replica(path, damaged); },
          [this](const Result<void>& replaced) {
            if (!replaced) return copy_failed(replaced.error());
            copying_ = false;
            damage_.clear();
            open();
          });
}

void Replica::copy_failed(const Error& why) {
  context_.log.warn("partition {} could not be copied: {}", to_string(place_), why.to_string());
  copying_ = false;
  open();
}

}  // namespace weft::storage::tables
