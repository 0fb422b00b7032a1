#include "runtime/worker/departure.hpp"

#include <gtest/gtest.h>

#include "tests/storage/tables/fake_reactor.hpp"

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;

class DepartureTest : public testing::Test {
 protected:
  std::unique_ptr<Departure> begin(bool registered, Duration longest = 5min) {
    return std::make_unique<Departure>(reactor, longest, registered,
                                       Departure::Steps{[this] { ++announced; }, [this] { ++ended; }});
  }
  ManualClock clock;
  test::FakeReactor reactor{clock, [] { return false; }};
  int announced = 0, ended = 0;
};

TEST_F(DepartureTest, EndsWhenTheMasterSaysThatNothingIsLeft) {
  const auto departure = begin(true);
  EXPECT_EQ(announced, 1);
  departure->on_remains({2, 1, 0, 0});
  departure->on_remains({0, 1, 0, 0});
  departure->on_remains({0, 0, 0, 7});
  reactor.pass(4min);
  EXPECT_EQ(ended, 0);
  departure->on_remains({0, 0, 3, 0});  // what nobody can copy keeps nobody
  departure->on_remains({0, 0, 0, 0});
  reactor.pass(10min);
  EXPECT_EQ(ended, 1) << "once";
}

TEST_F(DepartureTest, EndsWhenItsTimeIsOver) {
  const auto departure = begin(true, 10s);
  departure->on_remains({1, 0, 0, 0});
  reactor.pass(9s);
  EXPECT_EQ(ended, 0);
  reactor.pass(1s);
  EXPECT_EQ(ended, 1);
}

TEST_F(DepartureTest, TellsEachMasterAndWaitsHalfAMinuteForOne) {
  const auto departure = begin(false);
  EXPECT_EQ(announced, 0);
  reactor.pass(29s);
  departure->registered();
  EXPECT_EQ(announced, 1);
  reactor.pass(1min);
  EXPECT_EQ(ended, 0) << "there is one";
  departure->lost();
  reactor.pass(20s);
  departure->lost();  // another attempt to reach it
  reactor.pass(9s);
  EXPECT_EQ(ended, 0);
  reactor.pass(1s);
  EXPECT_EQ(ended, 1) << "counted from the first";
}

TEST(Remains, AreSaidInWords) {
  EXPECT_EQ(to_text({}), "");
  EXPECT_EQ(to_text({0, 0, 4, 0}), "");
  EXPECT_EQ(to_text({2, 3, 4, 5}), "2 tasks run, 3 map outputs to copy, 5 chunks and partitions to copy");
}

}  // namespace
}  // namespace weft::runtime
