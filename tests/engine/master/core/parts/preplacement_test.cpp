#include "engine/master/core/preplacement.hpp"

#include "tests/engine/master/core/parts/parts.hpp"

namespace weft::master {
namespace {

/// Places every task of the reader on one node.
struct Placing final : schedulers::Scheduler {
  std::string_view name() const override { return "placing"; }
  void schedule(const schedulers::ClusterView&, const schedulers::Trigger&, schedulers::Decisions&) override {}
  void preplace(const schedulers::ClusterView& view, const schedulers::Preplaceable& what,
                schedulers::Decisions& decisions) override {
    calls.push_back(what);
    for (std::uint32_t i = 0; i < view.stage(what.job, what.reader)->tasks.size(); ++i)
      (void)decisions.preplace({what.job, what.reader, i}, NodeId(2), "");
  }
  std::optional<std::uint32_t> far_prefetches(RackId) const override { return far; }
  std::vector<schedulers::Preplaceable> calls;
  std::optional<std::uint32_t> far;
};

struct Deciding final : schedulers::Decisions {
  explicit Deciding(CoreContext& of) : context(of) {}
  Result<void> launch(const TaskId&, NodeId, std::string_view) override { return {}; }
  Result<void> preempt(const AttemptId&, std::string_view) override { return {}; }
  Result<void> preplace(const TaskId& task, NodeId node, std::string_view) override {
    context.view.preplace(*context.jobs.at(task.job).stages.at(task.stage).info, task.index, node);
    return {};
  }
  void hold(JobId, std::optional<StageId>, std::string_view) override {}
  void wake_at(Time) override {}
  CoreContext& context;
};

class PreplacementPart : public testing::Test {
 protected:
  PreplacementPart() {
    auto placing = std::make_unique<Placing>();
    scheduler_ = placing.get();
    CoreOptions options;
    options.preplace_at = 0.5;
    parts_ = std::make_unique<test::Parts>(options, std::move(placing));
    parts_->node(1, 4);
    parts_->node(2, 4);
    rounds_ = std::make_unique<RoundEviction>(parts_->context);
    part_ = std::make_unique<Preplacement>(parts_->context, *rounds_);
    decisions_ = std::make_unique<Deciding>(parts_->context);
    job_ = &parts_->job(1);
    maps_ = &parts_->stage(*job_, test::source(0, 4, 2));
    readers_ = &parts_->stage(*job_, test::reader(1, {0}, 2, 1));
    readers_->active = true;
    parts_->ready(*job_, *maps_);
  }
  void finish(std::uint32_t map, const std::vector<std::uint64_t>& bytes) {
    parts_->finish(parts_->run(*job_, *maps_, map, 1), bytes);
    part_->map_finished(*job_, *maps_, map, *decisions_);
  }
  std::vector<PrefetchShuffle> notices() const { return parts_->all<PrefetchShuffle>(); }

  Placing* scheduler_ = nullptr;
  std::unique_ptr<test::Parts> parts_;
  std::unique_ptr<RoundEviction> rounds_;
  std::unique_ptr<Preplacement> part_;
  std::unique_ptr<Deciding> decisions_;
  JobRecord* job_ = nullptr;
  StageRecord* maps_ = nullptr;
  StageRecord* readers_ = nullptr;
};

TEST_F(PreplacementPart, CallsTheSchedulerOnceWhenEnoughMapsHaveEndedAndNotifiesTheNode) {
  finish(0, {10, 30});
  EXPECT_TRUE(scheduler_->calls.empty());
  finish(1, {10, 30});
  ASSERT_EQ(scheduler_->calls.size(), 1u);
  ASSERT_EQ(scheduler_->calls[0].fresh.size(), 1u);
  ASSERT_EQ(notices().size(), 1u);
  EXPECT_EQ(notices()[0].node, NodeId(2));
  EXPECT_EQ(notices()[0].partitions, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(notices()[0].outputs.size(), 2u);
  EXPECT_EQ(notices()[0].block_bytes, 20u);
  finish(2, {10, 30});
  EXPECT_EQ(scheduler_->calls.size(), 1u);
  ASSERT_EQ(notices().size(), 2u);
  ASSERT_EQ(notices()[1].outputs.size(), 1u) << "only what is new";
  EXPECT_EQ(notices()[1].outputs[0].map, 2u);
  EXPECT_FALSE(notices()[1].partitions);
}

TEST_F(PreplacementPart, MapsThatWriteForDifferentReducesPredictNothing) {
  finish(0, {100, 0});
  finish(1, {0, 100});
  finish(2, {100, 0});
  EXPECT_FALSE(maps_are_alike(*maps_->info));
  EXPECT_TRUE(scheduler_->calls.empty());
  finish(3, {0, 100});
  EXPECT_EQ(scheduler_->calls.size(), 1u) << "now all is known";
}

TEST_F(PreplacementPart, AnOutputThatIsElsewhereGoesWithTheNextNotice) {
  finish(0, {10, 30});
  finish(1, {10, 30});
  part_->output_moved(*maps_, 0);
  maps_->info->tasks[0].node = NodeId(2);
  part_->send_outputs(*job_, *maps_);
  ASSERT_EQ(notices().size(), 2u);
  ASSERT_EQ(notices()[1].outputs.size(), 1u);
  EXPECT_EQ(notices()[1].outputs[0].node, NodeId(2));
  part_->send_outputs(*job_, *maps_);
  EXPECT_EQ(notices().size(), 2u);
}

TEST_F(PreplacementPart, NodesThatPrefetchAreToldOnceHowManyFetchesFromOtherRacksTheyMayHave) {
  part_->limit_far();
  finish(0, {10, 30});
  finish(1, {10, 30});
  ASSERT_EQ(notices().size(), 1u);
  EXPECT_FALSE(notices()[0].far);
  const auto after = [&](int seconds) {
    parts_->context.view.set_now(std::chrono::seconds(seconds));
    part_->limit_far();
    return notices().size();
  };
  EXPECT_EQ(after(1), 1u) << "as many as they like";
  scheduler_->far = 1;
  EXPECT_EQ(after(2), 2u);
  EXPECT_EQ(notices()[1].node, NodeId(2)) << "the other one prefetches nothing";
  EXPECT_EQ(notices()[1].far, 1u);
  EXPECT_TRUE(notices()[1].outputs.empty());
  EXPECT_EQ(after(3), 2u) << "nothing new";
  finish(2, {10, 30});
  ASSERT_EQ(notices().size(), 3u);
  EXPECT_EQ(notices()[2].far, 1u) << "for who may not have heard of it";
  scheduler_->far = UINT32_MAX;
  EXPECT_EQ(after(4), 4u);
  EXPECT_EQ(notices()[3].far, UINT32_MAX);
}

TEST_F(PreplacementPart, ShufflesInPullModeAreLeftAlone) {
  job_->spec.options.shuffle_mode = shuffle::Mode::pull;
  finish(0, {10, 30});
  finish(1, {10, 30});
  EXPECT_TRUE(scheduler_->calls.empty());
}

TEST(FirstReader, IsTheFirstTaskOfTheBranchThatReadsTheShuffle) {
  plan::Stage stage = test::reader(5, {0}, 3, 1);
  stage.branches.push_back({plan::BranchKind::shuffles, 2, {}, {ShuffleId(1)}, {}});
  EXPECT_EQ(first_reader(stage, StageId(0)), 0u);
  EXPECT_EQ(first_reader(stage, StageId(1)), 3u);
  EXPECT_FALSE(first_reader(stage, StageId(2)));
  stage.branches.push_back({plan::BranchKind::splits, 1, {}, {}, {}});
  EXPECT_FALSE(first_reader(stage, StageId(0))) << "tasks that read files belong near these";
}

}  // namespace
}  // namespace weft::master
