#include "engine/master/standby/lease_keeper.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace weft::master {

namespace {

constexpr int kRenewals = 5;  // in the time of a lease
constexpr Duration kRetry = std::chrono::milliseconds(100);
constexpr Duration kSayRefusalAgain = std::chrono::seconds(10);  // that the record cannot be written

}  // namespace

LeaseKeeper::LeaseKeeper(Election& election, LeaderRecord record, Duration lease, TimePoint until, LeasePatience patience)
    : election_(election),
      record_(std::move(record)),
      lease_(lease),
      patience_(patience),
      renewed_(until - lease),
      until_(until),
      asked_(renewed_),
      thread_([this] { run(); }) {}

LeaseKeeper::~LeaseKeeper() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_one();
  thread_.join();
  end(Error(Code::unavailable, "the master ends"));
  election_.resign();
}

std::optional<Error> LeaseKeeper::lost() const {
  const std::lock_guard lock(mutex_);
  asked_ = SystemClock().now();
  begun_ = true;
  if (ended_) return ended_;
  if (SystemClock().now() < until_) return std::nullopt;
  ended_.emplace(Code::unavailable, fmt::format("this master does not lead any more: its lease of {} could not be prolonged{}{}",
                                                format_duration(lease_), failure_.empty() ? "" : ": ", failure_));
  return ended_;
}

void LeaseKeeper::set_in_sync(MarkedMembers members, std::function<void(const Result<void>&)> then) {
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) {
      changes_.push_back({std::move(members), std::move(then)});
      wake_.notify_one();
      return;
    }
  }
  then(fail(*lost()));
}

void LeaseKeeper::run() {
  while (true) {
    const auto change = next(renewed_ + lease_ / kRenewals);
    {
      const std::lock_guard lock(mutex_);
      if (closing_ || ended_) return;
    }
    if (change && !carry_out(*change)) pause();
    if (SystemClock().now() >= renewed_ + lease_ / kRenewals) renew();
  }
}

/// The first change that waits, or nothing at that time.
std::optional<LeaseKeeper::Change> LeaseKeeper::next(TimePoint until) {
  std::unique_lock lock(mutex_);
  wake_.wait_until(lock, until, [this] { return closing_ || !changes_.empty(); });
  return changes_.empty() ? std::nullopt : std::optional(changes_.front());
}

std::optional<Error> LeaseKeeper::announcement_failure() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

void LeaseKeeper::pause() {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, kRetry, [this] { return closing_; });
}

/// False: it has to be tried again.
bool LeaseKeeper::carry_out(const Change& change) {
  LeaderRecord record = record_;
  record.in_sync = {record.leader};
  for (const auto& [member, mark] : change.members) {
    record.in_sync.push_back(member);
    if (!mark.empty()) record.marks[member] = mark;
  }
  const auto replaced = election_.replace(record);
  say(replaced);
  if (replaced && !*replaced) {
    end(Error(Code::unavailable, "another master leads, or may lead: the lease of this one ended"));
    return true;
  }
  {
    const std::lock_guard lock(mutex_);
    refusal_ = replaced ? std::nullopt : std::optional(replaced.error());
    if (!replaced) failure_ = replaced.error().to_string();
    if (!replaced) return false;
    changes_.pop_front();
  }
  change.then({});
  return true;
}

/// A line when the record cannot be written, again now and then, and when it can be written again.
void LeaseKeeper::say(const Result<bool>& replaced) {
  if (replaced) {
    if (std::exchange(said_, false)) log_.warn("the record of masters can be written again");
    return;
  }
  const TimePoint now = SystemClock().now();
  if (said_ && now - said_at_ < kSayRefusalAgain) return;
  said_ = true;
  said_at_ = now;
  log_.error("the record of masters cannot be written: {}; if a master in sync is gone, nothing is acknowledged until it can",
             replaced.error().to_string());
}

void LeaseKeeper::renew() {
  renewed_ = SystemClock().now();
  {
    const std::lock_guard lock(mutex_);
    if (renewed_ - asked_ > (begun_ ? patience_.hangs : patience_.begins)) {
      failure_ = begun_ ? "it hung" : "it took too long to begin";
      return;
    }
  }
  const auto renewal = election_.renew();
  if (renewal && !*renewal) return end(Error(Code::unavailable, "another master leads, or may lead: the lease of this one ended"));
  const std::lock_guard lock(mutex_);
  failure_ = renewal ? std::string() : renewal.error().to_string();
  if (renewal) until_ = renewed_ + lease_;
}

void LeaseKeeper::end(const Error& why) {
  std::deque<Change> changes;
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) ended_ = why;
    changes = std::exchange(changes_, {});
  }
  for (const Change& change : changes) change.then(fail(why));
}

}  // namespace weft::master
