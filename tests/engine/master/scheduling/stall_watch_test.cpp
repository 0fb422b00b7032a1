// Threads that make no progress are noticed, those that do are left alone.
#include "engine/master/scheduling/stall_watch.hpp"

#include <future>

#include <gtest/gtest.h>

namespace weft::scheduling {
namespace {

using namespace std::chrono_literals;

TEST(StallWatch, TellsOnceThatNothingHappens) {
  std::promise<void> told;
  StallWatch watch(10ms, [&] { told.set_value(); });
  EXPECT_EQ(told.get_future().wait_for(60s), std::future_status::ready);  // a second call would throw
}

TEST(StallWatch, IsQuietWhileSomethingHappensAndAtTheEnd) {
  std::atomic<int> stalls{0};
  {
    StallWatch watch(60s, [&] { ++stalls; });
    for (int i = 0; i < 1000; ++i) watch.alive();
  }
  EXPECT_EQ(stalls, 0);
}

}  // namespace
}  // namespace weft::scheduling
