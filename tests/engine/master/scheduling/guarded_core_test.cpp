// A core whose scheduler does not return is given up in time; nobody touches it afterwards.
#include "engine/master/scheduling/guarded_core.hpp"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include <gtest/gtest.h>

#include "schedulers/builtin.hpp"

namespace weft::scheduling {
namespace {

using namespace std::chrono_literals;
using namespace master;

/// Opened once.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

/// Waits at `gate` before it decides, and passes `done` when it has; once.
class Waiting final : public schedulers::Scheduler {
 public:
  Waiting(std::shared_ptr<Gate> gate, std::shared_ptr<Gate> done) : gate_(std::move(gate)), done_(std::move(done)) {}
  std::string_view name() const override { return "waiting"; }
  void schedule(const schedulers::ClusterView& view, const schedulers::Trigger&, schedulers::Decisions& decisions) override {
    gate_->pass();
    if (!view.runnable_jobs().empty()) decisions.hold(view.runnable_jobs().begin()->id, std::nullopt, "at last");
    done_->open();
  }

 private:
  std::shared_ptr<Gate> gate_, done_;
};

WorkerJoined worker() {
  WorkerJoined event;
  event.node = NodeId(1);
  event.name = "w";
  event.capacity.cpu = 2;
  return event;
}

TEST(GuardedCore, AppliesEventsAsACoreDoes) {
  for (const std::optional<Duration> timeout : {std::optional<Duration>(), std::optional<Duration>(10s)}) {
    GuardedCore core(std::make_unique<Core>(schedulers::make_scheduler("fifo").value(), CoreOptions{}), timeout);
    std::vector<Command> commands;
    EXPECT_TRUE(core.apply(Time(1), worker(), commands));
    EXPECT_EQ(commands.size(), 1u);  // the heartbeat's timer
    const auto refused = core.apply(Time(2), worker(), commands);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::already_exists);
    EXPECT_EQ(core->view().nodes().size(), 1u);
    EXPECT_FALSE(core.stuck());
  }
}

/// What is expected of a call that does not return, in words; empty when all is well.
std::string give_up() {
  auto gate = std::make_shared<Gate>();
  auto done = std::make_shared<Gate>();
  std::string wrong;
  {
    auto inner = std::make_unique<Core>(schedulers::make_scheduler("fifo").value(), CoreOptions{},
                                        [&](const std::string&, const auto&) -> Result<std::unique_ptr<schedulers::Scheduler>> {
                                          return std::make_unique<Waiting>(gate, done);
                                        });
    GuardedCore core(std::move(inner), 50ms);
    std::vector<Command> commands;
    const auto stuck = core.apply(Time(1), SchedulerConfigured{"waiting(long=true)", {}}, commands);
    if (stuck || !core.stuck()) return "it was not given up";
    const std::string text = stuck.error().to_string();
    if (text.find("the scheduler waiting(long=true) has not returned for 50ms") == std::string::npos) wrong += text;
    const auto later = core.apply(Time(2), worker(), commands);
    if (later || later.error().to_string() != text || !commands.empty()) wrong += "it was used again";
  }
  gate->open();  // it returns when everybody has left
  done->pass();
  return wrong;
}

// In a process of its own: one with a core that was given up ends with a failure, whatever else it did.
TEST(GuardedCoreDeathTest, GivesUpASchedulerThatDoesNotReturn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const std::string wrong = give_up();
        std::fputs(wrong.empty() ? "as expected" : wrong.c_str(), stderr);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "as expected");
}

}  // namespace
}  // namespace weft::scheduling
