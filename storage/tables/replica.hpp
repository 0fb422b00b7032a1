// One replica of a partition, on its worker: follows a primary, or is it. Private to storage/tables.
//
// Everything happens on the reactor's thread but disk calls, which queue up on threads beside it.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "storage/reply.hpp"
#include "storage/tables/partition.hpp"
#include "storage/tables/partition_peers.hpp"
#include "storage/tables/protocol.hpp"
#include "storage/transfer/io_threads.hpp"

namespace weft::storage::tables {

inline constexpr Duration kAskDeadline = std::chrono::seconds(5);  // of questions to other members

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
  std::function<void(const InSyncChange&, std::function<void(Result<TableOrders>)>)> ask_master{};
  std::function<void()> heartbeat_soon{};
  std::function<Result<std::unique_ptr<TablePartition>>(const std::string& path, OpenMode mode)> open_partition =
      [](const std::string& path, OpenMode mode) { return TablePartition::open(path, mode); };
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

class Replica : public std::enable_shared_from_this<Replica> {
 public:
  Replica(ReplicaContext& context, PlaceId place, std::string path);

  /// Opens what is there, or makes it if the assignment says that nothing can have been there. May be called again after a failure.
  void open();
  bool opening() const { return disk_ == Disk::opening; }
  ReplicaReport report() const;
  void adopt(const Assignment& assignment);
  /// It serves and follows nobody until there is another assignment.
  void master_lost();
  void serve(PartitionRequest request, PartitionPeers::Answer answer);
  /// Closes it and removes its directory.
  void erase(std::function<void()> done);
  const PlaceId& place() const { return place_; }

 private:
  using OnVersion = std::function<void(Result<std::uint64_t>)>;
  /// What waits to become an entry.
  struct Proposal {
    LogEntry entry;
    std::size_t bytes = 0;
    bool through_hold = false;
    OnVersion done;
  };
  /// Another member, as the primary sees it.
  struct Follower {
    std::string address;
    bool in_sync = false;    // the master has it so
    bool requested = false;  // the master was asked to have it so: perhaps it has
    bool failed = false;     // nothing to wait for now
    enum class Phase : std::uint8_t {
      behind,   // lacks entries, or nothing is known of it
      joining,  // lacks but the entry under way: no other begins before it has that
      synced,   // gets every entry; what it does not get is not acknowledged
    } phase = Phase::behind;
    std::uint64_t stream = 0;
    std::uint64_t last = 0;
    std::uint32_t tries = 0;
    std::unique_ptr<rpc::Timer> retry;
    bool required() const { return in_sync || requested; }
  };
  /// The entry that is being written, here and by the followers.
  struct Round {
    std::uint64_t version = 0;
    std::set<std::string> waiting;
    bool local = false;  // it is on this disk
    std::vector<OnVersion> done;
  };
  struct Held {
    std::uint64_t ticket = 0;
    bool reads = false;
    std::unique_ptr<rpc::Timer> timeout;
  };
  struct Primary {
    std::uint64_t last = 0;
    bool established = false;  // followers in sync have what this one has
    std::map<std::string, Follower> followers;
    std::deque<Proposal> proposals;
    std::size_t waiting_bytes = 0;
    std::optional<Round> round;
    Held hold;
    std::uint64_t released = 0;                        // the highest ticket whose hold is over, or may not begin any more
    std::vector<std::function<void()>> holds_waiting;  // for the round to end
    std::vector<std::function<void()>> reads_waiting;  // for a hold to end
    bool changing = false;                             // the master was asked
    std::unique_ptr<rpc::Timer> retry_change;
    TransactionId committing{};
    std::vector<OnVersion> commit_waiters;
  };
  struct Pages {
    std::shared_ptr<TablePartition> store;
    std::unique_ptr<PartitionPages> pages;  // none: all were sent
    bool sending = false;                   // a thread is reading the next
    std::shared_ptr<void> log;              // what comes after them stays until the copy has caught up, or nobody asks for long
    TimePoint used;
  };

  struct Server;

  // replica.cpp
  template <class Work, class Then>
  void on_disk(Work work, Then then);
  void opened(Result<std::unique_ptr<TablePartition>> store);
  bool may_create() const;
  bool may_lead() const;
  void give_up(const Error& why);
  /// Parts of it cannot be read. It is filled again when another one has everything.
  void found_damage(const Error& why);
  Error read_failed(const Error& why);
  /// Lets go of the database; `then` when nobody has it any more: until then its files are not to be touched, nor opened again.
  void close(std::function<void()> then);
  void closed();
  void leave_role(const char* why);
  Error unusable() const;
  Result<void> check_space(std::size_t bytes) const;

  // replica_reads.cpp
  using LookUp = std::function<Result<PartitionReply>(const TablePartition& store, std::uint64_t at)>;
  void read(SnapshotId snapshot, LookUp look_up, SharedResponder responder);
  Result<void> may_read(SnapshotId snapshot, bool& wait) const;
  void send_page(std::uint64_t id, SharedResponder responder);
  void forget_pages();

  // replica_primary.cpp
  void lead();
  void update_followers();
  void drop_what_is_over();
  /// Rows of a transaction; they are set aside.
  void stage(StageRows request, SharedResponder responder);
  /// `entry` but for its version and epoch.
  void write(LogEntry entry, SharedResponder responder);
  void submit(Proposal proposal, bool first);
  void pump();
  void start_round(LogEntry entry, std::vector<OnVersion> done);
  void local_done(std::uint64_t version, const Result<void>& applied);
  void settle();
  void establish();
  void hold(const Hold& request, SharedResponder responder);
  void mark(const Mark& request, SharedResponder responder);
  void commit_transaction(const TableCommit& commit, OnVersion done);
  void release(const Release& request, SharedResponder responder);
  void end_hold();
  void hold_is_old();

  // replica_followers.cpp
  template <class Operation, class Then>
  void ask(const std::string& address, std::uint64_t epoch, Operation operation, Then then);
  void start_stream(const std::string& name);
  void positioned(const std::string& name, Follower& follower, const StreamPosition& at);
  void feed(const std::string& name);
  void send_entries(const std::string& name, std::vector<LogEntry> entries);
  void stream_failed(const std::string& name, const Error& why, bool hopeless);
  void order_copy(const std::string& name);
  void change_in_sync();
  Follower* follower(const std::string& name, std::uint64_t stream);

  // replica_follower.cpp
  void begin_stream(std::uint64_t epoch, const BeginStream& request, SharedResponder responder);
  void take_entries(std::uint64_t epoch, AppendEntries request, SharedResponder responder);
  void start_copy(std::uint64_t epoch, const StartCopy& request, SharedResponder responder);
  void copy_pages(std::shared_ptr<PartitionCopy> copy, std::string from, std::uint64_t session);
  void copied(std::shared_ptr<PartitionCopy> copy);
  void take_copy();
  void copy_failed(const Error& why);

  ReplicaContext& context_;
  const PlaceId place_;
  const std::string path_;
  const std::shared_ptr<IoQueue> queue_;
  std::shared_ptr<TablePartition> store_;                             // null: not open
  enum class Disk : std::uint8_t { closed, opening, open, closing };  // open: store_ is there
  Disk disk_ = Disk::closed;
  bool copying_ = false, erased_ = false;
  std::vector<std::function<void()>> after_closing_;
  enum class Lack : std::uint8_t { nothing, absent, unusable };  // as found at the last try to open: no database, or none any more
  Lack lack_ = Lack::nothing;
  std::string damage_;  // parts of it cannot be read: why
  std::string failure_;
  std::unique_ptr<rpc::Timer> reopen_;
  std::optional<Assignment> assignment_;
  std::unique_ptr<Primary> primary_;
  std::uint64_t fence_ = 0;                                // the highest epoch heard of
  std::uint64_t led_ = 0;                                  // the last epoch in which it was primary: never again in that one
  std::string given_up_ = "has heard of a later primary";  // why it is not, though the master has it so
  std::uint64_t stream_ = 0;                               // from the primary
  std::uint64_t next_stream_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Pages>> pages_;
  std::unique_ptr<rpc::Timer> forget_pages_;
};

/// Runs `work` on a thread, then `then` with its result on the reactor's, if the replica still lives.
template <class Work, class Then>
void Replica::on_disk(Work work, Then then) {
  queue_->post([weak = weak_from_this(), &reactor = context_.reactor, work = std::move(work), then = std::move(then)]() mutable {
    auto result = std::make_shared<decltype(work())>(work());
    reactor.post([weak, result, then = std::move(then)]() mutable {
      if (const auto self = weak.lock()) then(std::move(*result));
    });
  });
}

/// Asks another member; `then` gets a Result of the operation's reply, if the replica still lives.
template <class Operation, class Then>
void Replica::ask(const std::string& address, std::uint64_t epoch, Operation operation, Then then) {
  context_.ask(address, {place_, epoch, std::move(operation)}, kAskDeadline,
               [weak = weak_from_this(), then = std::move(then)](Result<PartitionReply> reply) {
                 if (weak.lock()) then(reply_to<Operation>(std::move(reply)));
               });
}

void answer(const SharedResponder& responder, const Result<std::uint64_t>& version);
Result<PartitionReply> look_up(const TablePartition& store, const GetRows& get, std::uint64_t at);
Result<PartitionReply> look_up(const TablePartition& store, const ScanRows& scan, std::uint64_t at);
/// Another try, at the right place or later, may succeed.
Error not_now(const PlaceId& place, std::string_view why);

}  // namespace weft::storage::tables
