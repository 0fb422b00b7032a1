#include "engine/master/core/timers.hpp"

#include <gtest/gtest.h>

namespace weft::master {
namespace {

using Purpose = Timers::Purpose;

class TimersTest : public testing::Test {
 protected:
  TimersTest() { sink_.open(commands_); }
  SetTimer last() const { return std::get<SetTimer>(commands_.back()); }

  std::vector<Command> commands_;
  CommandSink sink_;
  Timers timers_{sink_};
};

TEST_F(TimersTest, FireOnceWhenTheirTimeHasCome) {
  timers_.set({Purpose::exclusion, Time(10), NodeId(3)});
  EXPECT_EQ(last().at, Time(10));
  const std::uint64_t id = last().timer;
  const auto timer = timers_.fire(id, Time(10));
  ASSERT_TRUE(timer && *timer);
  EXPECT_EQ((*timer)->node, NodeId(3));
  EXPECT_EQ(timers_.fire(id, Time(10)).error().code(), Code::not_found);
  EXPECT_EQ(commands_.size(), 1u);
}

TEST_F(TimersTest, ThatFireEarlyAreRequestedAgainUnderTheSameId) {
  timers_.set({Purpose::step, Time(10)});
  const auto early = timers_.fire(last().timer, Time(9));
  ASSERT_TRUE(early);
  EXPECT_FALSE(*early);
  ASSERT_EQ(commands_.size(), 2u);
  EXPECT_EQ(std::get<SetTimer>(commands_[0]).timer, last().timer);
}

TEST_F(TimersTest, OfANodeThatIsGoneAreForgottenButNotThoseOfTheScheduler) {
  timers_.set({Purpose::heartbeat, Time(10), NodeId(1)});
  const std::uint64_t heartbeat = last().timer;
  timers_.set({Purpose::heartbeat, Time(10), NodeId(2)});
  const std::uint64_t other = last().timer;
  timers_.set({Purpose::scheduler, Time(10), NodeId(1)});
  timers_.forget(NodeId(1));
  EXPECT_FALSE(timers_.fire(heartbeat, Time(10)));
  EXPECT_TRUE(timers_.fire(other, Time(10)));
  EXPECT_TRUE(timers_.fire(last().timer, Time(10)));
}

TEST_F(TimersTest, SayWhenTheSchedulerIsToBeCalledNext) {
  EXPECT_FALSE(timers_.next_wake());
  timers_.set({Purpose::scheduler, Time(20)});
  timers_.set({Purpose::step, Time(5)});
  timers_.set({Purpose::scheduler, Time(10)});
  EXPECT_EQ(timers_.next_wake(), Time(10));
  ASSERT_TRUE(timers_.fire(last().timer, Time(10)));
  EXPECT_EQ(timers_.next_wake(), Time(20));
}

}  // namespace
}  // namespace weft::master
