// The two shells that run tasks - the embedded engine's slots and an executor's pool - end them alike: one suite for both.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "engine/client/embedded_slots.hpp"
#include "runtime/executor/task_pool.hpp"
#include "runtime/operators/fault.hpp"

namespace weft::client {
namespace {

namespace protocol = runtime::protocol;
using runtime::TaskContext;
using runtime::TaskEnd;
using std::chrono::seconds;

class ShellBody final : public runtime::StageBody {
 public:
  explicit ShellBody(std::function<Buffer(TaskContext&)> run) : run_(std::move(run)) {}
  Buffer run(TaskContext& context) const override { return run_(context); }

 private:
  std::function<Buffer(TaskContext&)> run_;
};

/// Of one stage, or of none: then its error is that.
class ShellProgram final : public runtime::JobProgram {
 public:
  explicit ShellProgram(std::function<Buffer(TaskContext&)> run) : body_(std::move(run)) {}
  explicit ShellProgram(Error error) : body_([](TaskContext&) { return Buffer(); }), error_(std::move(error)) {}
  Result<const runtime::StageBody*> stage(StageId, std::uint64_t) override {
    if (error_) return fail(*error_);
    return &body_;
  }
  void provide(ActionId, Buffer) override {}

 private:
  ShellBody body_;
  std::optional<Error> error_;
};

/// How an attempt ended, as either shell reports it.
struct End {
  TaskEnd kind = TaskEnd::finished;
  std::string message, result;
  std::map<std::string, std::int64_t> counters;
  std::uint64_t input_bytes = 0;
  runtime::TaskUsage usage{};
};

AttemptId attempt(std::uint32_t index) { return {TaskId{JobId(1), StageId(0), index}, 0}; }

/// One slot of a shell.
class Shell {
 public:
  virtual ~Shell() = default;
  virtual void launch(std::uint32_t index) = 0;
  virtual void stop(std::uint32_t index) = 0;
  /// The next attempt that ends.
  virtual End next() = 0;
};

class EmbeddedShell final : public Shell {
 public:
  explicit EmbeddedShell(std::unique_ptr<ShellProgram> program) : program_(std::move(program)) {
    Slots::Settings settings;
    settings.memory_per_task = 1u << 20;
    auto store = shuffle::Store::open((directory_.path() / "store").string(), 16u << 20).value();
    slots_ = std::make_shared<Slots>(settings, std::move(store), *program_);
    slots_->start();
  }
  ~EmbeddedShell() override { EXPECT_TRUE(slots_->finish(seconds(60))); }
  void launch(std::uint32_t index) override {
    master::LaunchTask task;
    task.attempt = attempt(index);
    slots_->launch(std::move(task));
  }
  void stop(std::uint32_t index) override { slots_->stop(attempt(index)); }
  End next() override {
    const TimePoint until = SystemClock().now() + seconds(60);
    while (events_.empty() && SystemClock().now() < until) {
      for (master::Event& event : slots_->mailbox().take(seconds(1))) events_.push_back(std::move(event));
    }
    if (events_.empty()) throw std::runtime_error("no task ended");
    master::Event event = std::move(events_.front());
    events_.pop_front();
    if (auto* finished = std::get_if<master::TaskFinished>(&event))
      return {TaskEnd::finished, "", std::string(as_chars(finished->result.view())), finished->counters, finished->input_bytes,
              finished->usage};
    const auto& failed = std::get<master::TaskFailed>(event);
    return {failed.kind, failed.message, "", {}, 0, {}};
  }

 private:
  TempDir directory_ = TempDir::create().value();
  std::unique_ptr<ShellProgram> program_;
  std::shared_ptr<Slots> slots_;
  std::deque<master::Event> events_;
};

/// Its pool's threads live as long as the process, and so does what they use.
class ExecutorShell final : public Shell {
 public:
  explicit ExecutorShell(std::unique_ptr<ShellProgram> program) {
    auto* const lasting = new Lasting;
    lasting->program = std::move(program);
    lasting_ = lasting;
    static auto* const kept = new std::vector<Lasting*>;
    kept->push_back(lasting);
    static rpc::Reactor& reactor = *rpc::Reactor::start("shell").release();
    protocol::ExecutorSetup setup;
    setup.memory_bytes = 1u << 20;
    lasting->link = std::make_unique<runtime::WorkerLink>(reactor, rpc::ConnectionPtr(), 1u << 20);
    lasting->pool = std::make_unique<runtime::TaskPool>(setup, *lasting->program, *lasting->link, [lasting](auto event) {
      const std::lock_guard lock(lasting->mutex);
      lasting->events.push_back(std::move(event));
      lasting->changed.notify_all();
    });
  }
  void launch(std::uint32_t index) override {
    protocol::Launches launches;
    launches.launches.emplace_back().attempt = attempt(index);
    lasting_->pool->launch(std::move(launches));
  }
  void stop(std::uint32_t index) override { lasting_->pool->stop(attempt(index)); }
  End next() override {
    std::unique_lock lock(lasting_->mutex);
    if (!lasting_->changed.wait_for(lock, seconds(60), [this] { return !lasting_->events.empty(); }))
      throw std::runtime_error("no task ended");
    const protocol::Event event = std::move(lasting_->events.front());
    lasting_->events.pop_front();
    return {event.kind, event.message, std::string(as_chars(event.result.view())), event.counters, event.input_bytes, event.usage};
  }

 private:
  struct Lasting {
    std::unique_ptr<ShellProgram> program;
    std::unique_ptr<runtime::WorkerLink> link;
    std::unique_ptr<runtime::TaskPool> pool;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<protocol::Event> events;
  };
  Lasting* lasting_;
};

using Make = std::unique_ptr<Shell> (*)(std::unique_ptr<ShellProgram>);
template <class S>
std::unique_ptr<Shell> make(std::unique_ptr<ShellProgram> program) {
  return std::make_unique<S>(std::move(program));
}

struct Kind {
  const char* name;
  Make make;
};

class TaskShell : public testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<Shell> shell(std::function<Buffer(TaskContext&)> run) {
    return GetParam().make(std::make_unique<ShellProgram>(std::move(run)));
  }
  End end_of(std::function<Buffer(TaskContext&)> run) {
    const auto made = shell(std::move(run));
    made->launch(0);
    return made->next();
  }
  End end_of(Error error) {
    const auto made = GetParam().make(std::make_unique<ShellProgram>(std::move(error)));
    made->launch(0);
    return made->next();
  }
  static std::function<Buffer(TaskContext&)> throws(Code code) {
    return [code](TaskContext&) -> Buffer { throw runtime::TaskError{Error(code, "so it is")}; };
  }
};

TEST_P(TaskShell, ReportsWhatATaskMade) {
  const End end = end_of([](TaskContext& context) {
    context.counters["seen"] = 3;
    context.input_bytes = 77;
    return Buffer::copy_of(as_bytes("made"));
  });
  EXPECT_EQ(end.kind, TaskEnd::finished) << end.message;
  EXPECT_EQ(end.result, "made");
  EXPECT_EQ(end.counters.at("seen"), 3);
  EXPECT_EQ(end.input_bytes, 77u);
}

TEST_P(TaskShell, ReportsWhatATaskUsed) {
  const End end = end_of([](TaskContext& context) {
    const auto began = SystemClock().now();
    while (SystemClock().now() - began < std::chrono::milliseconds(20)) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    context.usage.read += std::chrono::milliseconds(7);
    EXPECT_TRUE(context.operators.memory->try_take(1000));
    context.operators.memory->give_back(1000);
    context.operators.spilled_bytes = 2000;
    context.usage.output_bytes = 3000;
    return Buffer();
  });
  EXPECT_GE(end.usage.run, std::chrono::milliseconds(50));
  EXPECT_GT(end.usage.cpu, Duration(0));
  EXPECT_LE(end.usage.cpu, end.usage.run - std::chrono::milliseconds(20)) << "it slept";
  EXPECT_GE(end.usage.ready, Duration(0));
  EXPECT_LE(end.usage.ready, end.usage.run - end.usage.cpu) << "it cannot have waited while it ran";
  EXPECT_EQ(end.usage.read, std::chrono::milliseconds(7));
  EXPECT_EQ(end.usage.peak_memory, 1000u);
  EXPECT_EQ(end.usage.spilled_bytes, 2000u);
  EXPECT_EQ(end.usage.output_bytes, 3000u);
}

TEST_P(TaskShell, EndsATaskByWhatItThrew) {
  const End user = end_of([](TaskContext&) -> Buffer { throw std::runtime_error("bad line 7"); });
  EXPECT_EQ(user.kind, TaskEnd::user_code);
  EXPECT_NE(user.message.find("bad line 7"), std::string::npos) << user.message;
  EXPECT_EQ(end_of([](TaskContext&) -> Buffer { throw 42; }).kind, TaskEnd::user_code);
  EXPECT_EQ(end_of([](TaskContext&) -> Buffer { throw runtime::TaskCancelled{}; }).kind, TaskEnd::killed);
}

TEST_P(TaskShell, EndsATaskByTheErrorItWasGiven) {
  EXPECT_EQ(end_of(throws(Code::io)).kind, TaskEnd::environment);
  EXPECT_EQ(end_of(throws(Code::resource_exhausted)).kind, TaskEnd::environment);
  EXPECT_EQ(end_of(throws(Code::user_code)).kind, TaskEnd::user_code);
  const End refused = end_of(throws(Code::invalid_argument));
  EXPECT_EQ(refused.kind, TaskEnd::refused);
  EXPECT_NE(refused.message.find("so it is"), std::string::npos) << refused.message;
}

TEST_P(TaskShell, EndsATaskWhoseStageTheProgramDoesNotHave) {
  const End mismatch = end_of(Error(Code::plan_mismatch, "no such stage"));
  EXPECT_EQ(mismatch.kind, TaskEnd::plan_mismatch);
  EXPECT_EQ(mismatch.message, "no such stage");
  EXPECT_EQ(end_of(Error(Code::user_code, "define() threw")).kind, TaskEnd::user_code);
}

TEST_P(TaskShell, SaysWhereInItsInputATaskFailed) {
  const End end = end_of([](TaskContext& context) -> Buffer {
    context.position_path = "in.txt";
    context.position_offset = 12;
    throw std::runtime_error("no number");
  });
  EXPECT_NE(end.message.find("in.txt at byte 12"), std::string::npos) << end.message;
}

TEST_P(TaskShell, StopsATaskThatLooksAndOneThatWaits) {
  std::atomic<bool> running{false};
  const auto made = shell([&running](TaskContext& context) -> Buffer {
    running = true;
    running.notify_all();
    for (;;) context.check_stop();
  });
  made->launch(0);
  running.wait(false);
  made->launch(1);  // there is one slot
  made->stop(1);
  made->stop(0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(made->next().kind, TaskEnd::killed);
}

INSTANTIATE_TEST_SUITE_P(Shells, TaskShell,
                         testing::Values(Kind{"embedded", make<EmbeddedShell>}, Kind{"executor", make<ExecutorShell>}),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace weft::client
