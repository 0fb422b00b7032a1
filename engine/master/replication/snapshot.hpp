// A copy of a store for a follower, in pieces.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "engine/master/replication/protocol.hpp"

namespace weft::master {

/// Of the store as it was at one moment. One thread at a time; reading blocks.
class StoreSnapshot {
 public:
  virtual ~StoreSnapshot() = default;
  /// The next entries, of about that many bytes together; none at the end.
  virtual Result<std::vector<LogEntry>> next(std::size_t bytes) = 0;
};

/// Takes a snapshot, and gives it to the function, on the reactor's thread. It has every change that was appended to the log before
/// the call.
using SnapshotSource = std::function<void(std::function<void(Result<std::unique_ptr<StoreSnapshot>>)>)>;

/// Of entries that are there already.
class ListedSnapshot final : public StoreSnapshot {
 public:
  explicit ListedSnapshot(std::vector<LogEntry> entries) : entries_(std::move(entries)) {}
  Result<std::vector<LogEntry>> next(std::size_t /*bytes*/) override { return std::exchange(entries_, {}); }

 private:
  std::vector<LogEntry> entries_;
};

}  // namespace weft::master
