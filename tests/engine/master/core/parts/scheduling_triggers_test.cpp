#include "engine/master/core/scheduling_triggers.hpp"

#include <gtest/gtest.h>

namespace weft::master {
namespace {

using Kind = schedulers::Trigger::Kind;

TEST(SchedulingTriggers, OneNodeIsThatNodeAndTwoAreWork) {
  SchedulingTriggers triggers(schedulers::Time(0), false);
  EXPECT_FALSE(triggers.pending());
  triggers.note_node(NodeId(1));
  triggers.note_node(NodeId(1));
  ASSERT_TRUE(triggers.pending());
  auto calls = triggers.take();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].kind, Kind::node);
  EXPECT_EQ(calls[0].node, NodeId(1));
  EXPECT_FALSE(triggers.pending());
  triggers.note_node(NodeId(1));
  triggers.note_node(NodeId(2));
  calls = triggers.take();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].kind, Kind::work);
}

TEST(SchedulingTriggers, ATimerIsACallOfItsOwnBeforeTheOthers) {
  SchedulingTriggers triggers(schedulers::Time(0), false);
  triggers.note_work();
  triggers.note_timer();
  const auto calls = triggers.take();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].kind, Kind::timer);
  EXPECT_EQ(calls[1].kind, Kind::work);
}

TEST(SchedulingTriggers, WithStepsCallsWaitForTheNextMultipleWhichIsRequestedOnce) {
  SchedulingTriggers triggers(schedulers::Time(10), false);
  triggers.note_work();
  EXPECT_TRUE(triggers.waits_for_step());
  EXPECT_EQ(triggers.request_step(schedulers::Time(11)), schedulers::Time(20));
  EXPECT_FALSE(triggers.request_step(schedulers::Time(12)));
  triggers.note_step();
  EXPECT_FALSE(triggers.waits_for_step());
  EXPECT_EQ(triggers.take().size(), 1u);
  triggers.begin_event();
  EXPECT_TRUE(triggers.waits_for_step());
  EXPECT_EQ(triggers.request_step(schedulers::Time(20)), schedulers::Time(20));
}

TEST(SchedulingTriggers, OnHeartbeatsTheSchedulerIsCalledForTheirNodeOnly) {
  SchedulingTriggers triggers(schedulers::Time(0), true);
  triggers.note_work();
  EXPECT_TRUE(triggers.take().empty()) << "no heartbeat";
  triggers.begin_event();
  triggers.note_heartbeat(NodeId(4));
  const auto calls = triggers.take();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].node, NodeId(4));
}

TEST(SchedulingTriggers, EveryFreeNodeIsExpectedToAskAgainAfterAChange) {
  SchedulingTriggers triggers(schedulers::Time(0), true);
  const std::set<NodeId> free{NodeId(1), NodeId(2)};
  triggers.note_change();
  EXPECT_TRUE(triggers.expects_heartbeats(free));
  triggers.answered(NodeId(1), triggers.changes());
  EXPECT_TRUE(triggers.expects_heartbeats(free)) << "node 2 was not asked for";
  triggers.answered(NodeId(2), triggers.changes());
  EXPECT_FALSE(triggers.expects_heartbeats(free));
  triggers.note_change();
  EXPECT_TRUE(triggers.expects_heartbeats(free));
  const std::uint64_t before = triggers.changes();
  triggers.note_change();  // it was given something
  triggers.answered(NodeId(1), before);
  triggers.answered(NodeId(2), triggers.changes());
  EXPECT_TRUE(triggers.expects_heartbeats(free)) << "node 1 may be given more";
}

}  // namespace
}  // namespace weft::master
