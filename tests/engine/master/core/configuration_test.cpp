// The scheduler is changed, and its configuration reloaded, by events while jobs run.
#include <stdexcept>

#include "tests/engine/master/core/core_driver.hpp"
#include "tests/engine/master/core/simulated.hpp"

namespace weft::master::test {
namespace {

using Files = std::map<std::string, std::string>;

/// Launches `limit` tasks at a time, or throws, refuses to start, …: what its configuration says.
class Configured final : public schedulers::Scheduler {
 public:
  Configured(std::string text, std::vector<std::string>& story) : text_(std::move(text)), story_(story) {}
  std::string_view name() const override { return "configured"; }
  Result<void> start(const schedulers::ClusterView& view, schedulers::Scheduler* before) override {
    if (text_ == "refuse") return fail(Code::invalid_argument, "limits:3: no");
    if (text_ == "throw") throw std::runtime_error("oh");
    story_.push_back(
        fmt::format("{} sees {} jobs, {} before", text_, view.jobs().size(), before == nullptr ? "nobody" : before->name()));
    return {};
  }
  Result<void> admit(const schedulers::ClusterView&, const schedulers::JobInfo& job) const override {
    if (job.pool == "closed") return fail(Code::invalid_argument, "pool closed takes no jobs");
    if (job.pool == "odd") throw std::runtime_error("odd pool");
    return {};
  }
  void schedule(const schedulers::ClusterView& view, const schedulers::Trigger&, schedulers::Decisions& decisions) override {
    if (view.jobs().empty() || view.free_nodes().empty()) return;
    const auto& job = view.jobs().begin()->second;
    while (job.running < std::stoull(text_) && !job.runnable.empty()) {
      const auto task = job.stage(*job.runnable.begin())->pending.unconstrained().first();
      if (!task || !decisions.launch({job.id, *job.runnable.begin(), *task}, *view.free_nodes().begin(), text_)) return;
    }
  }
  std::vector<schedulers::GroupStatus> groups(const schedulers::ClusterView&) const override {
    if (text_ == "5") throw std::runtime_error("no groups");
    schedulers::GroupStatus group;
    group.name = text_;
    return {group};
  }

 private:
  std::string text_;
  std::vector<std::string>& story_;
};

class Configuration : public testing::Test {
 protected:
  SchedulerFactory factory() {
    return [this](const std::string& spec, const Files& files) -> Result<std::unique_ptr<schedulers::Scheduler>> {
      if (spec != "configured") return fail(Code::invalid_argument, "unknown scheduler '" + spec + "'");
      return std::make_unique<Configured>(files.at("limits"), story);
    };
  }
  Result<void> configure(const std::string& text, const std::string& spec = "configured") {
    return driver.apply(SchedulerConfigured{spec, {{"limits", text}}});
  }

  std::vector<std::string> story;
  Driver driver{schedulers::make_scheduler("fifo").value(), CoreOptions{}, factory()};
};

TEST_F(Configuration, ANewOneServesTheJobsThatAreThere) {
  driver.join(1, 10);
  driver.submit(1);
  ASSERT_TRUE(configure("2"));
  ASSERT_TRUE(driver.extend(1, part(0, {result(source(0, 8, 0))})));
  EXPECT_EQ(driver.running.size(), 2u);
  ASSERT_TRUE(configure("4"));
  EXPECT_EQ(driver.running.size(), 4u);  // at once
  EXPECT_EQ(story, (std::vector<std::string>{"2 sees 1 jobs, fifo before", "4 sees 1 jobs, configured before"}));
  EXPECT_EQ(driver.core.configuration().files.at("limits"), "4");
  EXPECT_EQ(driver.core.groups()->at(0).name, "4");
}

TEST_F(Configuration, AWrongOneIsRefusedAndTheOldOneStaysInForce) {
  driver.join(1, 10);
  driver.submit(1);
  ASSERT_TRUE(configure("1"));
  EXPECT_NE(configure("refuse").error().to_string().find("limits:3: no"), std::string::npos);
  EXPECT_NE(configure("throw").error().to_string().find("threw: oh"), std::string::npos);
  EXPECT_NE(configure("1", "nobody").error().to_string().find("unknown scheduler 'nobody'"), std::string::npos);
  EXPECT_EQ(driver.core.configuration().files.at("limits"), "1");
  ASSERT_TRUE(driver.extend(1, part(0, {result(source(0, 8, 0))})));
  EXPECT_EQ(driver.running.size(), 1u);
  Driver fixed;
  EXPECT_FALSE(fixed.apply(SchedulerConfigured{"fifo", {}}));  // no factory
}

TEST_F(Configuration, TheSchedulerLetsJobsInOrNot) {
  ASSERT_TRUE(configure("1"));
  JobSubmitted job;
  job.job = JobId(1);
  job.options.pool = "closed";
  EXPECT_NE(driver.apply(job).error().to_string().find("pool closed takes no jobs"), std::string::npos);
  job.options.pool = "odd";
  EXPECT_TRUE(driver.apply(job));  // it threw: recorded, and the job is let in
  EXPECT_EQ(driver.core.scheduler_faults().faults, 1u);
  ASSERT_TRUE(configure("5"));
  EXPECT_NE(driver.core.groups().error().to_string().find("no groups"), std::string::npos);
}

TEST_F(Configuration, ReplaysToTheSameCommands) {
  std::vector<AcceptedEvent> events;
  std::vector<Command> first;
  Core core(schedulers::make_scheduler("fifo").value(), CoreOptions{}, factory());
  const auto apply = [&](Event event) {
    events.push_back({Time(1), copy_of(event)});
    ASSERT_TRUE(core.apply(Time(1), std::move(event), first));
  };
  WorkerJoined node;
  node.node = NodeId(1);
  node.capacity.cpu = 10;
  JobSubmitted job;
  job.job = JobId(1);
  apply(node);
  apply(SchedulerConfigured{"configured", {{"limits", "3"}}});
  apply(job);
  apply(PlanExtended{JobId(1), part(0, {result(source(0, 8, 0))})});
  apply(SchedulerConfigured{"configured", {{"limits", "6"}}});

  std::vector<Command> second;
  Core again(schedulers::make_scheduler("fifo").value(), CoreOptions{}, factory());
  ASSERT_TRUE(replay(events, again, second));
  const auto launches = [](const std::vector<Command>& commands) {
    std::string text;
    for (const Command& command : commands)
      if (const auto* launch = std::get_if<LaunchTask>(&command))
        text += to_string(launch->attempt) + " because " + launch->reason + "\n";
    return text;
  };
  EXPECT_EQ(launches(first), launches(second));
  EXPECT_EQ(again.view().jobs().at(JobId(1)).running, 6u);
}

}  // namespace
}  // namespace weft::master::test
