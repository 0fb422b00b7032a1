// Elections in memory, for tests: their store can be away, and a lease ends when the test says so.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/master/election/election.hpp"

namespace weft::master::test {

/// Any thread.
struct ElectionStore {
  std::mutex mutex;  // of what follows
  std::optional<LeaderRecord> record;
  std::string holder;  // of the lease; empty: nobody
  int version = 0, renewals = 0, replacements = 0;
  bool away = false;
  bool full = false;  // it takes no record, and prolongs leases
};

class PretendedElection final : public Election {
 public:
  PretendedElection(ElectionStore& store, std::string member) : store_(store), member_(std::move(member)) {}

  Result<Seen> look() override {
    const std::lock_guard lock(store_.mutex);
    if (store_.away) return fail(Code::unavailable, "the store is away");
    return Seen{store_.record, !store_.holder.empty(), std::to_string(store_.version)};
  }
  Result<bool> take(const Seen& seen, const LeaderRecord& record) override {
    const std::lock_guard lock(store_.mutex);
    if (store_.away) return fail(Code::unavailable, "the store is away");
    if (!store_.holder.empty() || seen.version != std::to_string(store_.version)) return false;
    store_.holder = member_;
    store_.record = record;
    ++store_.version;
    return true;
  }
  Result<bool> renew() override {
    const std::lock_guard lock(store_.mutex);
    if (store_.away) return fail(Code::unavailable, "the store is away");
    ++store_.renewals;
    return store_.holder == member_;
  }
  Result<bool> replace(const LeaderRecord& record) override {
    const std::lock_guard lock(store_.mutex);
    if (store_.away) return fail(Code::unavailable, "the store is away");
    if (store_.full) return fail(Code::unavailable, "the store has no space");
    if (store_.holder != member_) return false;
    store_.record = record;
    ++store_.version;
    ++store_.replacements;
    return true;
  }
  void resign() override {
    const std::lock_guard lock(store_.mutex);
    if (store_.holder == member_) store_.holder.clear();
  }

 private:
  ElectionStore& store_;
  const std::string member_;
};

}  // namespace weft::master::test
