// A reactor whose time stands still while anything is to be done. Its thread is whoever turns it. It has no network, unless `dial`
// makes connections.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "base/clock.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::test {

class FakeReactor final : public rpc::Reactor {
 public:
  /// `busy`: other threads are at work that may come with something.
  FakeReactor(ManualClock& clock, std::function<bool()> busy) : clock_(clock), busy_(std::move(busy)) {}

  void post(std::function<void()> task) override {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  bool in_thread() const override { return true; }
  void stop() override {}
  std::unique_ptr<rpc::Timer> after(Duration delay, std::function<void()> task) override {
    const auto key = std::pair(clock_.now() + delay, ++next_);
    timers_->emplace(key, std::move(task));
    return std::make_unique<Handle>(timers_, key);
  }
  void connect(const rpc::Endpoint&, Duration, rpc::Handler handler, rpc::Limits,
               std::function<void(Result<rpc::ConnectionPtr>)> done) override {
    post([this, handler = std::move(handler), done = std::move(done)]() mutable {
      done(dial ? dial(std::move(handler)) : fail(Code::unavailable, "there is no network"));
    });
  }
  void adopt(Fd, Duration, rpc::Handler, rpc::Limits, std::function<void(Result<rpc::ConnectionPtr>)> done) override {
    post([done = std::move(done)] { done(fail(Code::unavailable, "there is no network")); });
  }
  Result<std::unique_ptr<rpc::Listener>> listen(const rpc::Endpoint&, rpc::Limits,
                                                std::function<rpc::Handler(const rpc::ConnectionPtr&)>) override {
    return fail(Code::unavailable, "there is no network");
  }

  std::function<Result<rpc::ConnectionPtr>(rpc::Handler)> dial;

  /// Of the other threads, in real time. A test that holds one of them up makes it shorter: time would stand still for as long.
  std::chrono::milliseconds patience = std::chrono::seconds(10);

  /// Runs what is to be done until `done`; when all is quiet, the clock goes on to the next timer, for `most` at the most. False:
  /// then it still isn't so.
  bool until(const std::function<bool()>& done, Duration most = std::chrono::minutes(2)) {
    const TimePoint end = clock_.now() + most;
    auto quiet_since = std::chrono::steady_clock::now();
    while (!done()) {
      const bool busy = busy_();  // asked first: what they came with before they rested is there
      const bool ran = run_one(std::chrono::milliseconds(busy ? 5 : 0));
      const auto now = std::chrono::steady_clock::now();
      if (!ran && busy && now - quiet_since < patience) continue;
      quiet_since = now;
      if (ran) continue;
      if (timers_->empty() || timers_->begin()->first.first > end) return false;
      const auto [key, task] = std::move(*timers_->begin());
      timers_->erase(timers_->begin());
      if (key.first > clock_.now()) clock_.advance(key.first - clock_.now());
      task();
    }
    return true;
  }
  void pass(Duration time) {
    const TimePoint end = clock_.now() + time;
    until([] { return false; }, time);
    if (end > clock_.now()) clock_.advance(end - clock_.now());
  }

 private:
  using Key = std::pair<TimePoint, std::uint64_t>;
  using Timers = std::map<Key, std::function<void()>>;
  struct Handle final : rpc::Timer {
    Handle(std::shared_ptr<Timers> all, Key mine) : timers(std::move(all)), key(mine) {}
    ~Handle() override { timers->erase(key); }
    std::shared_ptr<Timers> timers;
    Key key;
  };
  /// Other threads have a moment to come with something.
  bool run_one(std::chrono::milliseconds moment) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait_for(lock, moment, [this] { return !tasks_.empty(); })) return false;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
    return true;
  }

  ManualClock& clock_;
  const std::function<bool()> busy_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  const std::shared_ptr<Timers> timers_ = std::make_shared<Timers>();
  std::uint64_t next_ = 0;
};

}  // namespace weft::test
