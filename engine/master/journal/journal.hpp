// The journal of a running master: records are collected on its reactor's thread and written by a thread of the journal's own, all
// that came meanwhile with one sync (group commit).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/rpc/rpc.hpp"
#include "engine/master/journal/journal_file.hpp"
#include "engine/master/replication/replication_log.hpp"

namespace weft::master {

/// Everything on the reactor's thread, but construction and close().
class Journal {
 public:
  /// `failed` is called once, on the reactor's thread, when the journal cannot be continued. A full disk is waited for: see full().
  Journal(JournalFile file, rpc::Reactor& reactor, std::function<void(const Error&)> failed);
  ~Journal() { close(); }

  enum class Keep : std::uint8_t {
    promised,  // somebody may be promised something on its strength: when_durable() waits for it
    needed,    // nobody waits for it, and it waits for room on a full disk
    lazily,    // dropped while the disk is full
  };
  /// From now on no promised record counts as durable before the followers keep it. The log is not used after end().
  void replicate_to(ReplicationLog& log) { log_ = &log; }
  /// Takes a snapshot of what was given to append() before, and is not to come by the log; on the reactor's thread.
  void snapshot(std::function<void(Result<std::unique_ptr<StoreSnapshot>>)> then);

  /// To be written soon.
  void append(JournalRecord record, Keep keep);
  /// Whether all promised records are on the disk.
  bool durable() const { return durable_ >= promised_; }
  /// Calls `then` once all records promised so far are on the disk, at once when they are; with an error once the journal failed.
  void when_durable(std::function<void(const Result<void>&)> then);
  /// The same for callers that need not wait until a full disk has room: `then` is called, without an error, as soon as the disk is
  /// known to be full.
  void when_durable_or_full(std::function<void(const Result<void>&)> then);
  /// Its disk is full, in one line; ends by itself when there is room, and then all that was promised is written.
  const std::optional<Error>& full() const { return full_; }
  /// The master ends: all that wait, now or later, get this error. Nothing is appended any more.
  void end();
  /// Writes what is left and ends the thread. Call it when the reactor has stopped; idempotent.
  void close();

 private:
  void write();
  void send_pending();
  void tell_waiting(const Result<void>& result);
  /// The records up to `until` are on the disk, or not. They are entries of the log up to `number`.
  void written(std::uint64_t until, std::uint64_t number, std::vector<JournalRecord>& records, const Result<void>& result);
  void kept(std::uint64_t until);
  void wait_for_room(std::vector<JournalRecord>& records, const Error& why);

  JournalFile file_;  // the thread's, while it runs
  rpc::Reactor& reactor_;
  std::function<void(const Error&)> failed_;
  ReplicationLog* log_ = nullptr;  // null: nobody follows
  std::optional<Error> error_;     // why nothing is written any more
  std::optional<Error> full_;
  std::unique_ptr<rpc::Timer> retry_;  // while it is full
  using Waiting = std::function<void(const Result<void>&)>;
  std::vector<std::shared_ptr<Waiting>> at_full_;  // an empty one was called
  std::vector<JournalRecord> pending_;
  std::size_t sent_ = 0;       // of the first of these, to the followers that there were when `sent_to_` had begun; the disk was
  std::uint64_t sent_to_ = 0;  // full then
  bool busy_ = false;          // a write was posted, or is under way
  std::uint64_t appended_ = 0, promised_ = 0, durable_ = 0;  // numbers of records
  std::deque<std::pair<std::uint64_t, std::function<void(const Result<void>&)>>> waiting_;
  std::unique_ptr<rpc::Reactor> thread_;
};

}  // namespace weft::master
