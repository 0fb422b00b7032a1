// A leadership whose announcements a test answers by hand.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/master/replication/leadership.hpp"

namespace weft::master::test {

class PretendedLeadership final : public Leadership {
 public:
  const std::string& cluster() const override { return cluster_; }
  const std::string& member() const override { return member_; }
  const std::string& address() const override { return address_; }
  std::uint64_t epoch() const override { return 7; }
  std::optional<Error> lost() const override { return std::nullopt; }
  void set_in_sync(MarkedMembers members, std::function<void(const Result<void>&)> then) override {
    const std::lock_guard lock(mutex_);
    announcements_.emplace_back(std::move(members), std::move(then));
    wake_.notify_all();
  }

  std::optional<Error> announcement_failure() const override {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

  /// The store refuses the announcements that wait; nothing: it does not.
  void refuse(std::optional<Error> why) {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(why);
  }
  /// Waits for the next announcement, and returns who is in sync by it. It is not carried out before answer().
  std::vector<std::string> announcement() {
    std::unique_lock lock(mutex_);
    if (!wake_.wait_for(lock, std::chrono::seconds(30), [this] { return !announcements_.empty(); })) return {"no announcement"};
    std::vector<std::string> members;
    for (const auto& [member, mark] : announcements_.front().first) members.push_back(member);
    return members;
  }
  /// That the announcement gives the member.
  std::string mark_of(const std::string& member) {
    const std::lock_guard lock(mutex_);
    return announcements_.front().first.at(member);
  }
  bool announces() {
    const std::lock_guard lock(mutex_);
    return !announcements_.empty();
  }
  void answer(const Result<void>& result) {
    std::unique_lock lock(mutex_);
    const auto then = std::move(announcements_.front().second);
    announcements_.pop_front();
    lock.unlock();
    then(result);
  }

 private:
  const std::string cluster_ = "c", member_ = "leader", address_ = "a:1";
  mutable std::mutex mutex_;
  std::optional<Error> failure_;
  std::condition_variable wake_;
  std::deque<std::pair<MarkedMembers, std::function<void(const Result<void>&)>>> announcements_;
};

}  // namespace weft::master::test
