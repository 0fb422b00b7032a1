// What a worker measures of itself between heartbeats.
#include "runtime/worker/measurements.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;

class MeasurementsTest : public testing::Test {
 protected:
  protocol::Measured measure(Duration at, std::map<std::string, shuffle::LinkBytes> racks,
                             const std::vector<storage::RackBytes>& chunks = {}) {
    const std::vector<pid_t> processes{getpid()};
    return measurements_.measure(processes, shuffle::LinkTraffic{{}, std::move(racks)}, chunks, TimePoint(1h) + at);
  }
  Measurements measurements_;
};

TEST_F(MeasurementsTest, RatesBeginWithTheSecondReading) {
  const protocol::Measured first = measure(0s, {{"west", {1000, 1000}}});
  EXPECT_GT(first.worker.memory, 1e6);
  EXPECT_GT(first.machine.memory, 1e6);
  EXPECT_EQ(first.worker.cpu, 0);
  EXPECT_EQ(first.cross_rack_in, 0);
  EXPECT_TRUE(first.racks.empty());
}

TEST_F(MeasurementsTest, WhatStaysInTheRackCrossesNoUplink) {
  measurements_.set_rack("east");
  measure(0s, {{"east", {0, 0}}, {"west", {100, 0}}});
  const protocol::Measured measured = measure(2s, {{"east", {5000, 5000}}, {"west", {300, 50}}, {"", {10, 0}}, {"north", {0, 0}}});
  EXPECT_DOUBLE_EQ(measured.cross_rack_in, 105) << "a rack that is not known is another one";
  EXPECT_DOUBLE_EQ(measured.cross_rack_out, 25);
  ASSERT_EQ(measured.racks.size(), 2u);
  EXPECT_EQ(measured.racks[0].rack, "west");
  EXPECT_DOUBLE_EQ(measured.racks[0].in, 100);
  EXPECT_DOUBLE_EQ(measured.racks[0].out, 25);
  EXPECT_EQ(measured.racks[1].rack, "");

  EXPECT_DOUBLE_EQ(measure(3s, {{"east", {5000, 5000}}, {"west", {300, 51}}, {"", {10, 0}}}).cross_rack_out, 1);
  EXPECT_TRUE(measure(3s, {{"west", {900, 900}}}).racks.empty()) << "no time has passed";
}

TEST_F(MeasurementsTest, ChunksOfFilesCountLikeMapOutputs) {
  measurements_.set_rack("east");
  measure(0s, {{"west", {100, 0}}}, {{"west", 1000, 0}, {"north", 5, 0}});
  const protocol::Measured measured = measure(1s, {{"west", {110, 0}}}, {{"west", 1200, 30}, {"north", 5, 4}, {"", 1, 0}});
  EXPECT_DOUBLE_EQ(measured.cross_rack_in, 211);
  EXPECT_DOUBLE_EQ(measured.cross_rack_out, 34);
  ASSERT_EQ(measured.racks.size(), 3u);
  EXPECT_EQ(measured.racks[0].rack, "west");
  EXPECT_DOUBLE_EQ(measured.racks[0].in, 210);
  EXPECT_DOUBLE_EQ(measured.racks[0].out, 30);
  EXPECT_TRUE(measure(2s, {{"west", {110, 0}}}, {{"west", 1200, 30}, {"north", 5, 4}, {"", 1, 0}}).racks.empty());
}

TEST_F(MeasurementsTest, NamesTheRacksWithTheMostTraffic) {
  std::map<std::string, shuffle::LinkBytes> racks;
  for (int i = 0; i < 20; ++i) racks["rack" + std::to_string(i)] = {static_cast<std::uint64_t>(i), 0};
  measure(0s, {});
  const protocol::Measured measured = measure(1s, racks);
  ASSERT_EQ(measured.racks.size(), protocol::kMostRacks);
  EXPECT_EQ(measured.racks.front().rack, "rack19");
  EXPECT_DOUBLE_EQ(measured.cross_rack_in, 190) << "the sum is of all of them";
  protocol::Heartbeat heartbeat;
  heartbeat.measured = measured;
  EXPECT_LE(protocol::encode(heartbeat).header.size(), 1024u);
}

TEST(HeartbeatTest, ImpossibleMeasurementsAreRefused) {
  protocol::Heartbeat heartbeat;
  heartbeat.clock = 1s;
  EXPECT_TRUE(protocol::check(heartbeat));
  heartbeat.measured.machine.disk_read = -1;
  EXPECT_FALSE(protocol::check(heartbeat));
  heartbeat.measured = {};
  heartbeat.measured.racks.resize(protocol::kMostRacks + 1);
  EXPECT_FALSE(protocol::check(heartbeat));
  heartbeat.measured = {};
  heartbeat.measured.racks.push_back({"west", 0, std::nan("")});
  EXPECT_FALSE(protocol::check(heartbeat));
}

}  // namespace
}  // namespace weft::runtime
