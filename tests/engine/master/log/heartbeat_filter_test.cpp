// Which heartbeats the event log has.
#include "engine/master/log/heartbeat_filter.hpp"

#include <gtest/gtest.h>

namespace weft::master {
namespace {

using namespace std::chrono_literals;

WorkerHeartbeat heartbeat(double cpu, std::uint32_t node = 1) { return {.node = NodeId(node), .used = {.cpu = cpu}}; }

TEST(HeartbeatFilter, NothingIsNoNews) {
  HeartbeatFilter filter;
  EXPECT_FALSE(filter.admits(heartbeat(0), 0s));
  EXPECT_FALSE(filter.admits(heartbeat(0.005), 5s)) << "noise";
  EXPECT_TRUE(filter.admits(heartbeat(1), 5s));
}

TEST(HeartbeatFilter, OneASecondAndFivePercent) {
  HeartbeatFilter filter;
  EXPECT_TRUE(filter.admits(heartbeat(1), 1s));
  EXPECT_FALSE(filter.admits(heartbeat(2), 1999ms));
  EXPECT_TRUE(filter.admits(heartbeat(2), 2s));
  EXPECT_FALSE(filter.admits(heartbeat(2.09), 4s));
  EXPECT_FALSE(filter.admits(heartbeat(1.91), 5s));
  EXPECT_TRUE(filter.admits(heartbeat(2.11), 6s)) << "compared with what the log has, so that slow changes are seen";
  EXPECT_TRUE(filter.admits(heartbeat(0), 7s));
}

TEST(HeartbeatFilter, EachNodeAlone) {
  HeartbeatFilter filter;
  EXPECT_TRUE(filter.admits(heartbeat(1, 1), 1s));
  EXPECT_TRUE(filter.admits(heartbeat(1, 2), 1s));
  filter.forget(NodeId(1));
  EXPECT_TRUE(filter.admits(heartbeat(1, 1), 1s));
  EXPECT_FALSE(filter.admits(heartbeat(1, 2), 3s));
}

TEST(HeartbeatFilter, AnyMeasurementCounts) {
  HeartbeatFilter filter;
  EXPECT_FALSE(filter.admits({.node = NodeId(1), .machine = {.memory = 1e6}}, 0s));
  EXPECT_TRUE(filter.admits({.node = NodeId(1), .machine = {.memory = 2e6}}, 0s));
  EXPECT_TRUE(filter.admits({.node = NodeId(1), .cross_rack = {0, 11e3}, .machine = {.memory = 2e6}}, 1s));
  EXPECT_TRUE(filter.admits({.node = NodeId(1), .cross_rack = {11e3, 11e3}, .machine = {.memory = 2e6}}, 2s));
  EXPECT_FALSE(filter.admits({.node = NodeId(1), .cross_rack = {11e3, 11e3}, .machine = {.memory = 2e6}}, 3s));
}

TEST(HeartbeatFilter, CapacityAndForecastsAlways) {
  HeartbeatFilter filter;
  EXPECT_TRUE(filter.admits(heartbeat(1), 1s));
  WorkerHeartbeat less = heartbeat(1);
  less.capacity = schedulers::Resources{};
  EXPECT_TRUE(filter.admits(less, 1s));
  WorkerHeartbeat foresees = heartbeat(1);
  foresees.forecast = {{1s, {}}};
  EXPECT_TRUE(filter.admits(foresees, 1s));
}

}  // namespace
}  // namespace weft::master
