#include "engine/master/core/output_replicas.hpp"

#include "tests/engine/master/core/parts/parts.hpp"

namespace weft::master {
namespace {

class OutputReplicasTest : public testing::Test {
 protected:
  OutputReplicasTest() {
    parts_.node(1, 2, "a");
    parts_.node(2, 2, "a");
    parts_.node(3, 2, "b");
    for (std::uint32_t i = 1; i <= 3; ++i) replicas_.node_joined(NodeId(i));
    job_ = &parts_.job(1, 2);
    stage_ = &parts_.stage(*job_, test::source(0, 2, 1));
    parts_.ready(*job_, *stage_);
    for (std::uint32_t map = 0; map < 2; ++map) parts_.finish(parts_.run(*job_, *stage_, map, 1), {10});
  }
  std::vector<ReplicateOutput> requests() const { return parts_.all<ReplicateOutput>(); }
  OutputReplica copy(std::uint32_t map, std::uint32_t node) const { return {NodeId(node), JobId(1), ShuffleId(0), map, 0}; }

  test::Parts parts_;
  OutputReplicas replicas_{parts_.context};
  JobRecord* job_ = nullptr;
  StageRecord* stage_ = nullptr;
};

TEST_F(OutputReplicasTest, GoToAnotherRackAndTakeTheOutputsPlace) {
  replicas_.replicate(*job_, *stage_, 0);
  ASSERT_EQ(requests().size(), 1u);
  EXPECT_EQ(requests()[0].node, NodeId(3));
  EXPECT_FALSE(replicas_.take_over(*stage_, 0)) << "it is being made";
  ASSERT_TRUE(replicas_.made(copy(0, 3)));
  EXPECT_EQ(stage_->replicas.made_count(), 1u);
  EXPECT_EQ(replicas_.take_over(*stage_, 0), NodeId(3));
  EXPECT_EQ(stage_->replicas.used, 1u);
  EXPECT_FALSE(replicas_.take_over(*stage_, 0)) << "it is the output now";
}

TEST_F(OutputReplicasTest, WhatNobodyWaitsForIsRefused) {
  EXPECT_EQ(replicas_.made(copy(0, 3)).error().code(), Code::cancelled);
  replicas_.replicate(*job_, *stage_, 0);
  EXPECT_FALSE(replicas_.made(copy(0, 2)));
  ASSERT_TRUE(replicas_.made(copy(0, 3)));
  EXPECT_FALSE(replicas_.made(copy(0, 3))) << "twice";
  EXPECT_EQ(replicas_.made(copy(0, 9)).error().code(), Code::not_found);
}

TEST_F(OutputReplicasTest, AreTriedOnAnotherNodeAndAbandonedAfterTheSecondFailure) {
  replicas_.replicate(*job_, *stage_, 0);
  ASSERT_TRUE(replicas_.failed(copy(0, 3), "disk full"));
  ASSERT_EQ(requests().size(), 2u);
  EXPECT_EQ(requests()[1].node, NodeId(2));
  ASSERT_TRUE(replicas_.failed(copy(0, 2), "disk full"));
  EXPECT_EQ(requests().size(), 2u);
  EXPECT_EQ(stage_->replicas.abandoned, 1u);
  EXPECT_NE(stage_->info->held->text.find("disk full"), std::string::npos);
}

TEST_F(OutputReplicasTest, WaitForANodeAndFollowOneThatIsLost) {
  replicas_.node_left(NodeId(2));
  replicas_.node_left(NodeId(3));
  replicas_.replicate(*job_, *stage_, 0);
  EXPECT_TRUE(requests().empty());
  replicas_.node_joined(NodeId(3));
  replicas_.replicate_waiting();
  ASSERT_EQ(requests().size(), 1u);
  replicas_.node_left(NodeId(3));
  replicas_.node_joined(NodeId(2));
  replicas_.lose_on(*job_, *stage_, NodeId(3));
  ASSERT_EQ(requests().size(), 2u);
  EXPECT_EQ(requests()[1].node, NodeId(2));
}

TEST_F(OutputReplicasTest, AreSpreadOverNodesAndNotMadeForJobsThatWantNone) {
  replicas_.node_left(NodeId(3));
  parts_.node(4, 2, "b");
  parts_.node(5, 2, "b");
  replicas_.node_joined(NodeId(4));
  replicas_.node_joined(NodeId(5));
  replicas_.replicate(*job_, *stage_, 0);
  replicas_.replicate(*job_, *stage_, 1);
  ASSERT_EQ(requests().size(), 2u);
  EXPECT_NE(requests()[0].node, requests()[1].node);
  replicas_.forget_all(*stage_);
  EXPECT_TRUE(stage_->replicas.empty());
  job_->spec.options.shuffle_replicas = 1;
  replicas_.replicate(*job_, *stage_, 0);
  EXPECT_EQ(requests().size(), 2u);
}

TEST_F(OutputReplicasTest, WhatIsForgottenIsNoLoadOfItsNode) {
  replicas_.node_left(NodeId(2));
  parts_.node(4, 2, "b");
  replicas_.node_joined(NodeId(4));
  replicas_.replicate(*job_, *stage_, 0);
  ASSERT_EQ(requests().back().node, NodeId(3)) << "of equal ones the first";
  replicas_.forget(*stage_, 0);
  replicas_.replicate(*job_, *stage_, 1);
  EXPECT_EQ(requests().back().node, NodeId(3));
}

}  // namespace
}  // namespace weft::master
