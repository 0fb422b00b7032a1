// Keeps the lease of a master that leads, on a thread of its own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "engine/master/election/election.hpp"
#include "engine/master/replication/leadership.hpp"

namespace weft::master {

/// How long a master may not ask whether it leads: then its lease is not prolonged, so that another can lead.
struct LeasePatience {
  Duration hangs = std::chrono::seconds(10);
  Duration begins = std::chrono::minutes(30);  // before it asks for the first time: it opens its files
};

class LeaseKeeper final : public Leadership {
 public:
  /// Of a leadership that was taken: nobody else can lead before `until`. While it lives, it alone uses `election`, which outlives
  /// it.
  LeaseKeeper(Election& election, LeaderRecord record, Duration lease, TimePoint until, LeasePatience patience = {});
  /// Gives the leadership back, so that another master can lead at once.
  ~LeaseKeeper() override;

  const std::string& cluster() const override { return record_.cluster; }
  const std::string& member() const override { return record_.leader; }
  const std::string& address() const override { return record_.address; }
  std::uint64_t epoch() const override { return record_.epoch; }
  std::optional<Error> lost() const override;
  void set_in_sync(MarkedMembers members, std::function<void(const Result<void>&)> then) override;
  std::optional<Error> announcement_failure() const override;

 private:
  struct Change {
    MarkedMembers members;
    std::function<void(const Result<void>&)> then;
  };
  void run();
  std::optional<Change> next(TimePoint until);
  bool carry_out(const Change& change);
  void say(const Result<bool>& replaced);
  void pause();
  void renew();
  void end(const Error& why);

  Election& election_;
  const LeaderRecord record_;  // when it was taken
  const Duration lease_;
  const LeasePatience patience_;
  TimePoint renewed_;  // the thread's: last, or tried
  TimePoint said_at_;  // the thread's: last time that the record could not be written
  bool said_ = false;  // the thread's: it was not written since
  Log log_{"master"};
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable wake_;
  std::deque<Change> changes_;
  TimePoint until_;
  mutable TimePoint asked_;             // when lost() was called last: whoever leads asks again and again
  mutable bool begun_ = false;          // it was called
  std::string failure_;                 // of the last try to prolong it
  std::optional<Error> refusal_;        // of the last try to carry out the first of changes_
  mutable std::optional<Error> ended_;  // another master may lead; once that was said it stays so
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace weft::master
