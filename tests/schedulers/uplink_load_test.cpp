// NetSat: whether the uplink of a rack is saturated.
#include "schedulers/parts/uplink_load.hpp"

#include <cmath>

#include "tests/schedulers/world.hpp"

namespace weft::schedulers::uplink_load_rules {
namespace {

/// Two racks whose uplinks carry 100 each way, and one of which nothing is known.
struct Uplinks {
  ClusterState state;
  UplinkLoad load;

  explicit Uplinks(UplinkLoadOptions options) : load(options) {
    for (std::uint32_t i = 1; i <= 3; ++i) {
      NodeInfo node;
      node.id = NodeId(i);
      node.capacity.cpu = 1;
      state.add_node(std::move(node), fmt::format("h{}", i), fmt::format("r{}", i), i < 3 ? UplinkRate{100, 100} : UplinkRate{});
    }
  }
  RackId rack(std::uint32_t node) const { return state.node(NodeId(node))->rack; }
  bool at(double seconds) {
    state.set_now(Time(static_cast<std::int64_t>(seconds * 1e9)));
    return load.sample(state);
  }
};

UplinkLoadOptions at_once() {
  UplinkLoadOptions options;
  options.window = Time(0);
  return options;
}

TEST(UplinkLoad, IsOfTheBusierDirectionAndMoreThanTheThreshold) {
  Uplinks u(at_once());
  u.state.set_cross_rack(NodeId(1), {80, 10});
  EXPECT_FALSE(u.at(0));
  EXPECT_FALSE(u.load.saturated(u.rack(1))) << "80 % is not more than 80 %";
  u.state.set_cross_rack(NodeId(1), {10, 81});
  EXPECT_TRUE(u.at(1));
  EXPECT_TRUE(u.load.saturated(u.rack(1)));
  EXPECT_FALSE(u.load.saturated(u.rack(2)));
  EXPECT_FALSE(u.at(2)) << "nothing new";
  u.state.set_cross_rack(NodeId(1), {0, 0});
  EXPECT_TRUE(u.at(3));
}

TEST(UplinkLoad, ALookWeighsOneOverEAfterTheWindow) {
  UplinkLoadOptions options;
  options.window = std::chrono::seconds(5);
  Uplinks u(options);
  EXPECT_EQ(u.load.utilisation(u.rack(1)), 0);
  u.at(0);
  u.state.set_cross_rack(NodeId(1), {100, 0});
  for (int second = 1; second <= 5; ++second) u.at(second);
  EXPECT_NEAR(u.load.utilisation(u.rack(1)), 1 - std::exp(-1.0), 1e-9);
  EXPECT_FALSE(u.load.saturated(u.rack(1)));
  for (int second = 6; second <= 9; ++second) u.at(second);
  EXPECT_TRUE(u.load.saturated(u.rack(1)));
}

TEST(UplinkLoad, AnUplinkNobodyKnowsCarriesTheLargestRateSeen) {
  for (const bool guess : {true, false}) {
    UplinkLoadOptions options = at_once();
    options.guess = guess;
    Uplinks u(options);
    u.state.set_cross_rack(NodeId(3), {0, 40});
    u.at(0);
    EXPECT_EQ(u.load.saturated(u.rack(3)), guess);
    u.state.set_cross_rack(NodeId(3), {0, 20});
    u.at(1);
    EXPECT_NEAR(u.load.utilisation(u.rack(3)), guess ? 0.5 : 0, 1e-9);
  }
}

TEST(UplinkLoad, MayBeOfAllUplinksTogether) {
  for (const UplinksAsked asked : {UplinksAsked::own, UplinksAsked::mean, UplinksAsked::busiest}) {
    UplinkLoadOptions options = at_once();
    options.aggregation = asked;
    Uplinks u(options);
    u.state.set_cross_rack(NodeId(1), {90, 0});
    u.at(0);
    EXPECT_NEAR(u.load.utilisation(u.rack(2)), asked == UplinksAsked::own ? 0 : asked == UplinksAsked::mean ? 0.3 : 0.9, 1e-9);
  }
}

TEST(UplinkLoad, ARackThatIsGoneIsForgotten) {
  Uplinks u(at_once());
  u.state.set_cross_rack(NodeId(1), {100, 0});
  u.at(0);
  const RackId rack = u.rack(1);
  u.state.remove_node(NodeId(1));
  u.at(1);
  EXPECT_FALSE(u.load.saturated(rack));
  EXPECT_FALSE(u.load.saturated(RackId(99)));
}

}  // namespace
}  // namespace weft::schedulers::uplink_load_rules
