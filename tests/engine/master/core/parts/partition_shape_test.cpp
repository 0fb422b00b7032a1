#include "engine/master/core/partition_shape.hpp"

#include <gtest/gtest.h>

#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master {
namespace {

using Bounds = std::vector<std::uint32_t>;

/// Input stages whose maps have all ended, by id; sizes[map][partition].
class PartitionShape : public testing::Test {
 protected:
  void input(std::uint32_t id, const std::vector<std::vector<std::uint64_t>>& sizes, std::uint32_t maps = 0) {
    schedulers::StageInfo& stage = stages_[id];
    stage.output = schedulers::ShuffleSizes(std::max(maps, static_cast<std::uint32_t>(sizes.size())),
                                            static_cast<std::uint32_t>(sizes.front().size()));
    for (std::uint32_t map = 0; map < sizes.size(); ++map) stage.output.add(map, NodeId(1), sizes[map]);
  }
  InputInfos inputs() const {
    return [this](ShuffleId id) -> const schedulers::StageInfo& { return stages_.at(static_cast<std::uint32_t>(id.value())); };
  }
  static plan::Stage reader(std::vector<std::uint32_t> ids, std::uint32_t tasks) {
    return test::reader(9, std::move(ids), tasks, 0);
  }

  std::map<std::uint32_t, schedulers::StageInfo> stages_;
};

TEST_F(PartitionShape, APartitionOfMoreThanTwiceTheMedianIsSplitByMaps) {
  input(1, {{100, 10, 10}, {100, 10, 10}, {100, 10, 10}, {100, 10, 10}});
  plan::Stage stage = reader({1}, 3);
  const ShapeRules rules{50, 0, 100};
  EXPECT_TRUE(skew_splits(stage, inputs(), rules).empty()) << "the plan does not allow it";
  stage.branches[0].splittable = {0};
  const SkewSplits splits = skew_splits(stage, inputs(), rules);
  ASSERT_EQ(splits.size(), 4u) << "no part reads less than split_bytes, and each map wrote more";
  EXPECT_EQ(task_count(stage, splits), 6u);
  EXPECT_EQ(splits.at(0).maps.first, 0u) << "the first part is the plan's task";
  std::uint32_t next = 0;
  for (const auto& [task, split] : splits) {
    EXPECT_EQ(split.task, 0u);
    EXPECT_EQ(split.maps.first, next) << "task " << task;
    next = split.maps.end;
  }
  EXPECT_EQ(next, UINT32_MAX);
  EXPECT_TRUE(skew_splits(stage, inputs(), {0, 0, 100}).empty()) << "split_bytes=0 is never";
  EXPECT_TRUE(skew_splits(stage, inputs(), {400, 0, 100}).empty()) << "it is not larger than that";
}

TEST_F(PartitionShape, APartOfASplitReadsItsMapsOfOneInputAndAllOfTheOthers) {
  input(1, {{100, 1, 1}, {200, 1, 1}});
  input(2, {{7, 7, 7}});
  plan::Stage stage = reader({1, 2}, 3);
  stage.branches[0].splittable = {0};
  const SkewSplits splits = skew_splits(stage, inputs(), {50, 0, 100});
  ASSERT_EQ(splits.size(), 2u);
  const plan::TaskSpec first = shaped_task_spec(stage, {}, splits, inputs(), 0);
  const plan::TaskSpec second = shaped_task_spec(stage, {}, splits, inputs(), 3);
  EXPECT_EQ(first.inputs[0].bytes, 100u);
  EXPECT_EQ(second.inputs[0].bytes, 200u);
  EXPECT_EQ(second.partition, first.partition);
  EXPECT_EQ(first.inputs[1].bytes, 7u);
  EXPECT_EQ(second.inputs[1].bytes, 7u);
  EXPECT_EQ(shaped_task_spec(stage, {}, splits, inputs(), 1).inputs[0].bytes, 2u) << "a task of the plan";
}

TEST_F(PartitionShape, ATaskIsToldHowManyMapsWroteWhatItReadsWhole) {
  input(1, {{100, 1, 1}, {200, 1, 1}});
  input(2, {{7}, {8}, {9}});
  plan::Stage stage = reader({1}, 3);
  stage.branches[0].broadcast = {ShuffleId(2)};
  for (std::uint32_t task = 0; task < 3; ++task) {
    const plan::TaskSpec spec = shaped_task_spec(stage, {}, {}, inputs(), task);
    ASSERT_EQ(spec.inputs.size(), 2u);
    EXPECT_EQ(spec.inputs[1].shuffle, ShuffleId(2));
    EXPECT_EQ(spec.inputs[1].maps, (shuffle::MapRange{0, 3}));
    EXPECT_EQ(spec.inputs[1].bytes, 24u);
    EXPECT_EQ(spec.inputs[1].partitions, 1u);
  }
  EXPECT_EQ(shaped_task_spec(stage, {0, 3}, {}, inputs(), 0).inputs[1].partitions, 1u) << "though its own partitions are merged";
}

TEST_F(PartitionShape, AStageThatReadsFilesTooIsNotSplit) {
  input(1, {{100, 1}, {100, 1}});
  plan::Stage stage = reader({1}, 2);
  stage.branches[0].splittable = {0};
  stage.branches.push_back({plan::BranchKind::splits, 1, {}, {}, {}});
  EXPECT_TRUE(skew_splits(stage, inputs(), {1, 0, 100}).empty());
}

TEST_F(PartitionShape, AdjacentSmallPartitionsAreMergedButOneTaskIsLeftForEachSlot) {
  input(1, {{10, 10, 10, 10, 40, 0, 10, 10}});
  plan::Stage stage = reader({1}, 8);
  EXPECT_FALSE(may_merge(stage, inputs(), {0, 1000, 1})) << "the plan does not allow it";
  stage.branches[0].mergeable = true;
  EXPECT_FALSE(may_merge(stage, inputs(), {0, 0, 1}));
  EXPECT_FALSE(may_merge(stage, inputs(), {0, 1000, 8}));
  ASSERT_TRUE(may_merge(stage, inputs(), {0, 1000, 1}));
  EXPECT_EQ(merge_bounds(stage, inputs(), {0, 1000, 1}), (Bounds{0, 8}));
  EXPECT_EQ(merge_bounds(stage, inputs(), {0, 1000, 2}), (Bounds{0, 5, 8}));
  EXPECT_EQ(merge_bounds(stage, inputs(), {0, 50, 1}), (Bounds{0, 5, 8})) << "100 bytes";
  const plan::TaskSpec merged = shaped_task_spec(stage, {0, 5, 8}, {}, inputs(), 1);
  EXPECT_EQ(merged.partition, 5u);
  EXPECT_EQ(merged.inputs[0].partitions, 3u);
  EXPECT_EQ(merged.inputs[0].bytes, 20u);
}

TEST_F(PartitionShape, WhatMapsThatHaveNotEndedWillWriteIsPredictedFromTheOthers) {
  input(1, {{10, 10, 10, 10}}, 4);
  plan::Stage stage = reader({1}, 4);
  stage.branches[0].mergeable = true;
  EXPECT_TRUE(may_merge(stage, inputs(), {0, 80, 1}));
  EXPECT_FALSE(may_merge(stage, inputs(), {0, 40, 1})) << "160 bytes will fill four tasks";
}

TEST_F(PartitionShape, HotIsMoreThanTwiceTheMedian) {
  input(1, {{10, 5, 5}, {10, 5, 5}});
  plan::Stage stage = reader({1}, 3);
  stage.branches[0].splittable = {0};
  EXPECT_TRUE(skew_splits(stage, inputs(), {1, 0, 100}).empty()) << "exactly twice";
  input(1, {{13, 5, 5}, {12, 5, 5}});
  EXPECT_EQ(skew_splits(stage, inputs(), {1, 0, 100}).size(), 2u) << "two and a half times";
}

TEST_F(PartitionShape, APartIsNotSmallerThanWhatItReadsOfTheOtherInputs) {
  input(1, {{100, 1, 1}, {100, 1, 1}, {100, 1, 1}, {100, 1, 1}});
  input(2, {{200, 7, 7}});
  plan::Stage stage = reader({1, 2}, 3);
  stage.branches[0].splittable = {0};
  EXPECT_EQ(skew_splits(stage, inputs(), {50, 0, 100}).size(), 2u) << "each reads 200 bytes of either";
  input(2, {{7, 7, 7}});
  EXPECT_EQ(skew_splits(stage, inputs(), {50, 0, 100}).size(), 4u);
}

TEST_F(PartitionShape, AMapGoesToThePartThatItExceedsByLess) {
  input(1, {{60, 1, 1}, {60, 1, 1}, {60, 1, 1}, {60, 1, 1}});
  plan::Stage stage = reader({1}, 3);
  stage.branches[0].splittable = {0};
  const SkewSplits splits = skew_splits(stage, inputs(), {100, 0, 100});
  ASSERT_EQ(splits.size(), 2u) << "120 bytes are nearer to 100 than 60";
  EXPECT_EQ(splits.at(0).maps.end, 2u);
}

}  // namespace
}  // namespace weft::master
