// All partitions of a table at one moment: they are held, one after the other, until none takes writes. What is done to them then
// happens at one point of time for every client.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "storage/tables/partition_peers.hpp"

namespace weft::master {

/// On the reactor's thread. Callbacks come later, never from within a call, and none after destruction.
class TableBarrier {
 public:
  /// Sends a request to a partition's worker, and answers once, later.
  using Ask = std::function<void(const std::string& address, const storage::tables::PartitionRequest&, Duration deadline,
                                 storage::tables::PartitionPeers::Answer)>;
  TableBarrier(rpc::Reactor& reactor, Ask ask);

  /// `job` when the jobs of this table before it have called their `finished`.
  using Job = std::function<void(std::function<void()> finished)>;
  void in_line(const std::string& table, Job job);
  /// Jobs of this table that are not finished.
  std::size_t jobs(const std::string& table) const;

  /// Asks the primary of each partition for this; `done` gets the first error. unavailable when a
  /// partition has no primary.
  using OnDone = std::function<void(Result<void>)>;
  void each(const storage::tables::TableStatus& table, const storage::tables::PartitionOperation& operation, OnDone done);
  /// Asks the primaries of these partitions; `done` gets the partitions whose primary failed, or is away.
  using Partitions = std::set<std::uint32_t>;
  void those_led(const storage::tables::TableStatus& table, const Partitions& partitions,
                 const storage::tables::PartitionOperation& operation, std::function<void(Partitions failed)> done);
  /// A ticket for a hold.
  std::uint64_t ticket() { return ++ticket_; }
  void later(std::function<void()> task);

 private:
  void next(const std::string& table);
  /// `done`, once, unless this is gone by then. The partition has a primary.
  void ask_primary(const storage::tables::TableStatus& table, std::uint32_t partition,
                   const storage::tables::PartitionOperation& operation, OnDone done);

  rpc::Reactor& reactor_;
  const Ask ask_;
  std::map<std::string, std::deque<Job>> lines_;  // the first one runs
  std::uint64_t ticket_;
  std::map<std::uint64_t, std::unique_ptr<rpc::Timer>> timers_;
  std::uint64_t next_timer_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// unavailable, with its fault, when a partition has no primary that could be asked.
Result<void> check_led(const storage::tables::TableStatus& table);

}  // namespace weft::master
