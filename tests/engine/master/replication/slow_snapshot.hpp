// A snapshot whose disk takes as long as a test wants.
#pragma once

#include <future>
#include <utility>
#include <vector>

#include "engine/master/replication/snapshot.hpp"

namespace weft::master::test {

/// One piece, which is read when `ready` is.
class SlowSnapshot final : public StoreSnapshot {
 public:
  SlowSnapshot(std::future<void> ready, std::vector<LogEntry> entries) : ready_(std::move(ready)), entries_(std::move(entries)) {}
  Result<std::vector<LogEntry>> next(std::size_t) override {
    if (ready_.valid()) ready_.get();
    return std::exchange(entries_, {});
  }

 private:
  std::future<void> ready_;
  std::vector<LogEntry> entries_;
};

}  // namespace weft::master::test
