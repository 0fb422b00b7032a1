// What the replicas of a worker share, and what a replica and its role have in common. Private to storage/tables.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "storage/reply.hpp"
#include "storage/tables/partition.hpp"
#include "storage/tables/partition_peers.hpp"
#include "storage/tables/protocol.hpp"
#include "storage/transfer/io_threads.hpp"

namespace weft::storage::tables {

/// Bytes that programs may write yet to the disk of that path.
Result<std::uint64_t> free_space_of(const std::string& path);

inline constexpr Duration kAskDeadline = std::chrono::seconds(5);  // of questions to other members

/// Of entries with a commit, which writes rows of that many bytes again before it is answered: a disk that is slow, or busy with
/// the same commit in other partitions, writes at least 8 MiB/s.
constexpr Duration commit_deadline(std::uint64_t bytes) { return kAskDeadline + std::chrono::seconds(bytes >> 23); }

/// What a worker's replicas share. Outlives them.
struct ReplicaContext {
  rpc::Reactor& reactor;
  IoThreads& threads;
  const Clock& clock;
  std::function<void(const std::string& address, const PartitionRequest&, Duration deadline, PartitionPeers::Answer)> ask;
  std::string address;  // of this worker's data port
  std::uint64_t reserve = 0;
  std::string name{};        // of this worker, as the master calls it
  TimePoint leased_until{};  // primaries serve no longer
  bool withheld = false;     // the master may have decided what it does not tell yet
  std::function<void(const InSyncChange&, std::function<void(Result<TableOrders>)>)> ask_master{};
  std::function<void()> heartbeat_soon{};
  std::function<Result<std::unique_ptr<TablePartition>>(const std::string& path, OpenMode mode)> open_partition =
      [](const std::string& path, OpenMode mode) { return TablePartition::open(path, mode); };
  std::function<Result<std::uint64_t>(const std::string& path)> free_space = free_space_of;
  Log log{"tables"};

  bool leased() const { return clock.now() < leased_until; }
};

/// Answers one request, once.
class PartitionResponder {
 public:
  explicit PartitionResponder(PartitionPeers::Answer to) : to_(std::move(to)) {}
  void reply(PartitionReply reply) { to_(std::move(reply)); }
  void fail(const Error& why) { to_(weft::fail(why)); }

 private:
  const PartitionPeers::Answer to_;
};
using SharedResponder = std::shared_ptr<PartitionResponder>;

using OnVersion = std::function<void(Result<std::uint64_t>)>;

/// Runs `work` on a thread, then `then` with its result on the reactor's, if the owner still lives.
template <class Owner, class Work, class Then>
void on_disk(ReplicaContext& context, IoQueue& queue, std::weak_ptr<Owner> owner, Work work, Then then) {
  queue.post([owner = std::move(owner), &reactor = context.reactor, work = std::move(work), then = std::move(then)]() mutable {
    auto result = std::make_shared<decltype(work())>(work());
    reactor.post([owner, result, then = std::move(then)]() mutable {
      if (const auto alive = owner.lock()) then(std::move(*result));
    });
  });
}

/// Asks another member; `then` gets a Result of the operation's reply, if the owner still lives.
template <class Owner, class Operation, class Then>
void ask(ReplicaContext& context, std::weak_ptr<Owner> owner, const std::string& address, const PlaceId& place, std::uint64_t epoch,
         Operation operation, Then then, Duration deadline = kAskDeadline) {
  context.ask(address, {place, epoch, std::move(operation)}, deadline,
              [owner = std::move(owner), then = std::move(then)](Result<PartitionReply> reply) {
                if (const auto alive = owner.lock()) then(reply_to<Operation>(std::move(reply)));
              });
}

void answer(const SharedResponder& responder, const Result<std::uint64_t>& version);
/// Another try, at the right place or later, may succeed.
Error not_now(const PlaceId& place, std::string_view why);
/// Whether the disk of that path has room for that many bytes of rows, and for the commit of as many bytes as are staged, beside
/// what is kept free.
Result<void> check_space(const ReplicaContext& context, const std::string& path, std::size_t bytes, std::uint64_t staged = 0);

}  // namespace weft::storage::tables
