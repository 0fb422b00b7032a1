// ShuffleWatcher: how long maps wait for the racks that were chosen for their job.
#include "schedulers/parts/network_aware.hpp"
#include "tests/schedulers/network_cluster.hpp"

namespace weft::schedulers::network_aware_rules {
namespace {

/// Rack1 is chosen for maps of job 1, and full. What one of its maps writes takes four seconds on a node's part of an uplink, half
/// of which is in use.
struct AwayFromItsRacks : Cluster {
  explicit AwayFromItsRacks(const std::string& spec = kAtOnce, double uplink = 100, double used = 0.5)
      : Cluster(spec, false, {uplink, uplink}) {
    maps(job(1, "a", 2), std::vector<std::vector<std::string>>(4, {"h1", "h3"}));
    fill({1, 2});
    for (const std::uint32_t node : {1u, 3u}) world.state.set_cross_rack(NodeId(node), {used * uplink, 0});
  }
};

TEST(NetworkAwareMaps, WaitForTheirRacksForThreeTimesAsLongAsWhatTheyWriteWouldTakeOnTheUplink) {
  AwayFromItsRacks c;
  c.world.schedule();
  EXPECT_EQ(c.world.running(1), 0u);
  EXPECT_NE(c.world.holds[JobId(1)].find("racks that were chosen"), std::string::npos) << c.world.holds[JobId(1)];
  EXPECT_EQ(c.world.wakes.back(), std::chrono::seconds(6)) << "it asks to be called when the time has come";
  c.world.at(5.9);
  EXPECT_EQ(c.asks(3), "-");
  c.world.at(6);
  c.world.schedule({Trigger::Kind::timer});
  EXPECT_EQ(c.world.running(1), 2u) << "on both nodes, though none of them asked";
}

TEST(NetworkAwareMaps, WaitLessWhereTheUplinkCarriesMoreAndNotWhereThatIsNotKnownOrNothingCrosses) {
  AwayFromItsRacks wide(kAtOnce, 400), unknown(kAtOnce, 0), quiet(kAtOnce, 100, 0);
  EXPECT_EQ(unknown.asks(3), "1.0");
  EXPECT_EQ(quiet.asks(3), "1.0");
  EXPECT_EQ(wide.asks(3), "-");
  wide.world.at(1.4);
  EXPECT_EQ(wide.asks(3), "-");
  wide.world.at(1.5);
  EXPECT_EQ(wide.asks(3), "1.0");
}

TEST(NetworkAwareMaps, HowLongTheyWaitIsAnOption) {
  AwayFromItsRacks none("shufflewatcher(mode=paper, window=0s, samp_wait=0)"),
      half("shufflewatcher(mode=paper, window=0s, samp_wait=0.5)"), without("shufflewatcher(mode=paper, window=0s, samp=false)");
  EXPECT_EQ(none.asks(3), "1.0");
  EXPECT_EQ(without.asks(3), "1.0");
  EXPECT_EQ(half.asks(3), "-");
  half.world.at(1);
  EXPECT_EQ(half.asks(3), "1.0");
}

TEST(NetworkAwareMaps, NeverWaitForLongerThanTenSeconds) {
  AwayFromItsRacks c(kAtOnce, 0.1);
  EXPECT_EQ(c.asks(3), "-");
  c.world.at(9.9);
  EXPECT_EQ(c.asks(3), "-");
  c.world.at(10);
  EXPECT_EQ(c.asks(3), "1.0");
}

TEST(NetworkAwareMaps, WhileTheyWaitAnotherUserTakesTheNode) {
  AwayFromItsRacks c;
  c.maps(c.job(2, "b", 2), std::vector<std::vector<std::string>>(1, {"h3"}));
  EXPECT_EQ(c.asks(3), "2.0");
}

TEST(NetworkAwareMaps, InARackThatWasChosenNobodyWaits) {
  AwayFromItsRacks c;
  c.world.finish({JobId(99), StageId(0), 0});
  EXPECT_EQ(c.asks(1), "1.0");
}

}  // namespace
}  // namespace weft::schedulers::network_aware_rules
