// How fast nodes are, by what their tasks took.
#include "engine/master/core/node_speeds.hpp"

#include <gtest/gtest.h>

namespace weft::master {
namespace {

using namespace std::chrono_literals;

class NodeSpeedsTest : public testing::Test {
 protected:
  NodeSpeedsTest() {
    for (std::uint32_t id : {1u, 2u}) {
      schedulers::NodeInfo node;
      node.id = NodeId(id);
      node.capacity.cpu = 1;
      view_.add_node(node, "h" + std::to_string(id), "r", {});
    }
  }
  void ended(std::uint32_t node, schedulers::Time took, std::uint64_t bytes = 0) {
    ++stage_.observed_count;
    stage_.input_bytes += bytes;
    speeds_.note(stage_, recent_, NodeId(node), took, bytes);
  }
  double speed(std::uint32_t node) const { return view_.node(NodeId(node))->speed; }

  schedulers::ClusterState view_;
  schedulers::StageInfo stage_;
  RecentMedian recent_;
  NodeSpeeds speeds_{view_};
};

TEST_F(NodeSpeedsTest, FewTasksSayNothing) {
  for (int i = 0; i < 4; ++i) ended(1, 10s);
  for (int i = 0; i < 2; ++i) ended(2, 100s);
  EXPECT_EQ(speed(2), 1);
  ended(2, 100s);
  EXPECT_LT(speed(2), 1);
}

TEST_F(NodeSpeedsTest, SomeTasksThatTakeLongMakeNoSlowNode) {
  for (int i = 0; i < 30; ++i) {
    ended(1, 10s);
    ended(2, i % 3 == 0 ? 100s : 10s);
  }
  EXPECT_EQ(speed(2), 1);
}

TEST_F(NodeSpeedsTest, WhoReadsMoreMayTakeLonger) {
  for (int i = 0; i < 15; ++i) {
    for (int k = 0; k < 3; ++k) ended(1, 10s, 100);
    ended(2, 20s, 200);
  }
  EXPECT_NEAR(speed(2), 1, 0.1);
  EXPECT_NEAR(speed(1), 1, 0.1);
}

TEST_F(NodeSpeedsTest, ANodeThatRecoversIsFastAgain) {
  for (int i = 0; i < 20; ++i) {
    ended(1, 10s);
    ended(1, 10s);
    ended(2, 40s);
  }
  EXPECT_DOUBLE_EQ(speed(2), 0.25);
  for (int i = 0; i < 20; ++i) {
    ended(1, 10s);
    ended(2, 10s);
  }
  EXPECT_DOUBLE_EQ(speed(2), 1);
}

TEST(RecentMedians, AreOfTheLatest) {
  RecentMedian median;
  EXPECT_EQ(median.median(), 0);
  for (double amount : {5.0, 1.0, 9.0}) median.add(amount);
  EXPECT_EQ(median.median(), 5);
  for (int i = 0; i < 15; ++i) median.add(7);
  EXPECT_EQ(median.median(), 7);
}

}  // namespace
}  // namespace weft::master
