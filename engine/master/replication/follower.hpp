// What a leader sends to one follower: a snapshot of every store, and then the log.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/rpc/rpc.hpp"
#include "engine/master/replication/protocol.hpp"
#include "engine/master/replication/snapshot.hpp"

namespace weft::master {

/// Reactor thread only. The reactors outlive it; `disk` reads snapshots.
class Follower {
 public:
  /// `snapshots`: how many will be added, which have all entries of the log up to `number`. `broken`: one cannot be read; it must
  /// not destroy the follower.
  Follower(rpc::Reactor& reactor, rpc::Reactor& disk, std::size_t snapshots, std::uint64_t number,
           std::function<void(const Error&)> broken)
      : reactor_(reactor), disk_(disk), broken_(std::move(broken)), to_come_(snapshots), kept_number_(number) {}

  /// Snapshots are sent in the order of the calls, all of them before the first entry of the log, also when they come late.
  void add(std::unique_ptr<StoreSnapshot> snapshot);
  /// An entry of the log; the numbers grow.
  void append(std::uint64_t number, const LogEntry& entry);

  /// The follower has this many entries of what was sent, snapshots included, and wants the next. Answered as soon as there are
  /// some. invalid_argument when that many were never sent.
  Result<void> pull(std::uint64_t kept, bool in_sync, rpc::Responder responder);
  /// Answers a pull that has waited since before `since`, without entries. A read from a slow disk that is under way goes on, and a
  /// later pull gets what it gives.
  void answer_if_older(TimePoint since);
  /// Answers a pull that waits.
  void give_up(const Error& why);

  /// It keeps the log up to this number.
  std::uint64_t kept() const { return kept_number_; }
  /// All snapshots were sent, and little is left.
  bool near() const;
  std::uint64_t queued_bytes() const { return queued_bytes_; }
  /// It fetches a program that it was sent the name of, which may take long.
  void progressed() { progress_ = SystemClock().now(); }
  /// Since when it has not kept more of what it was sent; nothing: it keeps everything.
  std::optional<TimePoint> behind_since() const { return sent_.empty() ? std::nullopt : std::optional(progress_); }

 private:
  void send();
  void read_snapshot();
  void on_read(Result<std::vector<LogEntry>> entries);
  void send_read();
  void reply(std::vector<LogEntry> entries);

  rpc::Reactor& reactor_;
  rpc::Reactor& disk_;
  std::function<void(const Error&)> broken_;
  std::size_t to_come_;                                   // snapshots that were not added yet
  std::deque<std::shared_ptr<StoreSnapshot>> snapshots_;  // shared with a read that is under way
  bool reading_ = false, in_sync_ = false;
  std::vector<LogEntry> read_;                            // of the first of these, and not sent
  std::deque<std::pair<std::uint64_t, LogEntry>> queue_;  // of the log, not sent
  std::uint64_t queued_bytes_ = 0;
  std::deque<std::uint64_t> sent_;  // and not known to be kept: numbers in the log, 0 of what was in a snapshot
  std::uint64_t kept_count_ = 0, kept_number_;
  std::optional<rpc::Responder> waiting_;
  TimePoint waiting_since_{}, progress_{};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace weft::master
