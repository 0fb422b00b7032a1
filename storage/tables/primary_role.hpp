// What a replica does as the primary of its partition: entries one after the other, each on all followers in sync before it is
// acknowledged; holds, marks and commits; and the streams to the followers. Private to storage/tables.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/tables/replica_context.hpp"

namespace weft::storage::tables {

/// Of one epoch. Reactor thread only. Its replica owns it; when the role is over, what is still under way for it is dropped.
class PrimaryRole : public std::enable_shared_from_this<PrimaryRole> {
 public:
  /// What it works with, all of its replica.
  struct Parts {
    ReplicaContext& context;
    PlaceId place;
    const std::string& path;
    std::shared_ptr<IoQueue> queue;
    std::shared_ptr<TablePartition> store;
    const std::optional<Assignment>& assignment;   // there while the role lasts
    std::function<std::uint64_t()> new_stream;     // a number that no stream of the replica had
    std::function<void(const Error&)> give_up;     // the disk failed; ends the role
    std::function<void(const Assignment&)> adopt;  // the master answered with another one; may end the role
  };
  /// Nothing may be on its way to the store any more.
  explicit PrimaryRole(Parts parts);

  /// To be called when the role begins, and when the assignment has changed (a new epoch or primary ends the role instead).
  void adopt_assignment();
  /// The partition takes entries again: what waits goes on.
  void go_on() { settle(); }
  /// Requests that wait are answered with `why`. The role does nothing after that.
  void end(const char* why);

  void put(PutRows request, SharedResponder responder);
  /// Rows of a transaction; they are set aside.
  void stage(StageRows request, SharedResponder responder);
  void hold(const Hold& request, SharedResponder responder);
  void mark(const Mark& request, SharedResponder responder);
  void commit_transaction(const TableCommit& commit, OnVersion done);
  void release(const Release& request, SharedResponder responder);

  /// Followers in sync have what this one has, and what was decided before is with them, too, or is held.
  bool may_read() const;
  /// Followers in sync have what this one has: what is not here was never acknowledged.
  bool established() const { return established_; }
  /// Calls `then` when reads are not held any more, or the role is over: at once, and false, when they are not.
  bool wait_to_read(std::function<void()> then);

 private:
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
      joining,  // lacks only the entry under way: no other begins before it has that
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

  /// Makes `entry`, whose version and epoch are set here, and carries out a client's request once.
  void write(LogEntry entry, std::uint64_t request, bool repeated, SharedResponder responder);
  /// Why this disk refuses an entry: a mark, or one of that many bytes of rows beside the commit of what is staged. The error is
  /// transient while another member may take over.
  std::optional<Error> refusal(std::optional<std::size_t> row_bytes, std::uint64_t staged = 0);
  void update_followers();
  void drop_what_is_over();
  void submit(Proposal proposal, bool first);
  void pump();
  void start_round(LogEntry entry, std::vector<OnVersion> done);
  void local_done(std::uint64_t version, const Result<void>& applied);
  bool settled(TransactionId id) const;
  void commit_settled(const Result<std::uint64_t>& version);
  void settle();
  void establish();
  void end_hold();
  void hold_is_old();
  std::unique_ptr<rpc::Timer> after(Duration wait, void (PrimaryRole::*then)());

  // primary_followers.cpp
  void start_stream(const std::string& name);
  void positioned(const std::string& name, Follower& follower, const StreamPosition& at);
  void feed(const std::string& name);
  void send_entries(const std::string& name, std::vector<LogEntry> entries);
  void stream_failed(const std::string& name, const Error& why, bool hopeless);
  void order_copy(const std::string& name);
  void change_in_sync();
  void in_sync_changed(const Result<TableOrders>& orders);
  void ask_again();
  Follower* follower(const std::string& name, std::uint64_t stream);

  template <class Work, class Then>
  void on_disk(Work work, Then then) {
    tables::on_disk(parts_.context, *parts_.queue, weak_from_this(), std::move(work), std::move(then));
  }
  template <class Operation, class Then>
  void ask(const std::string& address, Operation operation, Then then, Duration deadline = kAskDeadline) {
    tables::ask(parts_.context, weak_from_this(), address, parts_.place, parts_.assignment->epoch, std::move(operation),
                std::move(then), deadline);
  }

  Parts parts_;
  bool over_ = false;
  std::uint64_t last_ = 0;
  bool established_ = false;             // followers in sync have what this one has
  std::optional<TimePoint> full_since_;  // when its disk first refused rows, and took none afterwards
  std::map<std::string, Follower> followers_;
  std::deque<Proposal> proposals_;
  std::size_t waiting_bytes_ = 0;
  std::unordered_map<std::uint64_t, std::vector<SharedResponder>> requests_;  // clients' requests that wait to be acknowledged
  std::optional<Round> round_;
  Held hold_;
  std::uint64_t released_ = 0;                        // the highest ticket whose hold is over, or may not begin any more
  std::vector<std::function<void()>> holds_waiting_;  // for the round to end
  std::vector<std::function<void()>> reads_waiting_;  // for a hold to end
  bool changing_ = false;                             // the master was asked
  std::unique_ptr<rpc::Timer> retry_change_;
  TransactionId committing_{};  // decided, and not yet known to be with everybody in sync
  std::vector<OnVersion> commit_waiters_;
  std::uint64_t commit_bytes_;  // of the rows of the newest commit, at most
};

}  // namespace weft::storage::tables
