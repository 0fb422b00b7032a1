// Which links a move of bytes between simulated machines uses, for which part, and what it counts as.
#include "engine/simulator/machines.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weft::simulator {
namespace {

using std::chrono::seconds;

constexpr double kInBytes = 1e-3;  // how exactly a network counts what it carries: times are whole nanoseconds
constexpr double kNic = 100, kRead = 400, kWrite = 50, kUplinkOfRack = 25;  // bytes a second

/// Nodes of a NIC and a disk, in consecutive blocks over racks with uplinks.
ClusterModel model_of(std::uint32_t nodes, std::uint32_t racks) {
  ClusterModel model;
  model.groups.emplace_back().count = nodes;
  model.racks = racks;
  model.network.flows = true;
  model.network.nic = kNic;
  model.network.disk_read = kRead;
  model.network.disk_write = kWrite;
  model.network.uplink = kUplinkOfRack;
  return model;
}

struct World {
  explicit World(const ClusterModel& model) : machines(model, network) {}

  double rate(const Move& move) { return network.rate(start(move)); }  // beside what was started before
  FlowNetwork::Flow start(const Move& move) { return network.start(now, move.bytes, move.uses); }
  void run() {
    std::vector<FlowNetwork::Flow> ended;
    while (const auto next = network.next()) network.advance(now = *next, ended);
  }
  std::vector<RackTraffic> racks() { return machines.rack_traffic(network, now); }
  double metered(TrafficKind kind, int part) { return network.link_bytes(now, machines.meter(kind, part)); }

  FlowNetwork network;
  Machines machines;
  Time now{0};
};

void expect_traffic(const Traffic& traffic, double total, double remote, double cross_rack) {
  EXPECT_DOUBLE_EQ(traffic.total, total);
  EXPECT_DOUBLE_EQ(traffic.remote, remote);
  EXPECT_DOUBLE_EQ(traffic.cross_rack, cross_rack);
}

void expect_carried(const RackTraffic& rack, double up, double down) {
  EXPECT_NEAR(rack.up, up, kInBytes);
  EXPECT_NEAR(rack.down, down, kInBytes);
}

TEST(Machines, NodesLieEvenlyInRacksAndAreFoundByName) {
  World world(model_of(5, 2));
  EXPECT_EQ(world.machines.racks(), (std::vector<std::vector<std::uint32_t>>{{0, 1, 2}, {3, 4}}));
  EXPECT_EQ(world.machines.named("node-4"), 4u);
  EXPECT_EQ(world.machines[4].rack, 1u);
  EXPECT_FALSE(world.machines.named("node-5"));
  EXPECT_EQ(world.machines.rack_name(1), "rack-1");
}

TEST(Machines, HostsAndRacksThatAreGivenAreTaken) {
  ClusterModel model = model_of(2, 3);
  model.groups[0].hosts = {"north", "south"};
  model.groups[0].racks = {2, 0};
  model.groups.emplace_back().count = 1;
  World world(model);
  EXPECT_EQ(world.machines.named("south"), 1u);
  EXPECT_EQ(world.machines.named("node-2"), 2u);
  EXPECT_EQ(world.machines.racks(), (std::vector<std::vector<std::uint32_t>>{{1}, {}, {0, 2}}));
}

TEST(Machines, AReadUsesTheDiskTheNicsAndTheUplinksOnItsWay) {
  World world(model_of(4, 2));
  const Move local = world.machines.read(0, 0, 1000), near = world.machines.read(0, 1, 1000), far = world.machines.read(1, 2, 1000);
  expect_traffic(local.traffic, 1000, 0, 0);
  expect_traffic(near.traffic, 1000, 1000, 0);
  expect_traffic(far.traffic, 1000, 1000, 1000);
  EXPECT_DOUBLE_EQ(world.rate(local), kRead);
  EXPECT_DOUBLE_EQ(world.rate(near), kNic);
  EXPECT_DOUBLE_EQ(world.rate(far), kUplinkOfRack);
  world.run();
  expect_carried(world.racks()[0], 1000, 0);
  expect_carried(world.racks()[1], 0, 1000);
  EXPECT_NEAR(world.metered(TrafficKind::map_read, 0), 3000, kInBytes);
  EXPECT_NEAR(world.metered(TrafficKind::map_read, 1), 2000, kInBytes);
  EXPECT_NEAR(world.metered(TrafficKind::map_read, 2), 1000, kInBytes);
}

TEST(Machines, TheTwoDirectionsOfANicAndOfAnUplinkDoNotHinderEachOther) {
  World world(model_of(4, 2));
  EXPECT_DOUBLE_EQ(world.rate(world.machines.read(0, 1, 1000)), kNic);
  EXPECT_DOUBLE_EQ(world.rate(world.machines.read(1, 0, 1000)), kNic);
  EXPECT_DOUBLE_EQ(world.rate(world.machines.read(2, 0, 1000)), kUplinkOfRack);
  EXPECT_DOUBLE_EQ(world.rate(world.machines.read(1, 3, 1000)), kUplinkOfRack);
}

TEST(Machines, WhatComesFromOutsideUsesTheReadersSideOnly) {
  World world(model_of(2, 2));
  const Move move = world.machines.read(Machines::kOutside, 1, 500);
  expect_traffic(move.traffic, 500, 500, 500);
  EXPECT_DOUBLE_EQ(world.rate(move), kUplinkOfRack);
  world.run();
  expect_carried(world.racks()[0], 0, 0);
  expect_carried(world.racks()[1], 0, 500);
}

TEST(Machines, AFetchDrawsOnEachSourceByWhatLiesThere) {
  World world(model_of(4, 2));
  const Move move = world.machines.fetch({{0, 100}, {1, 500}, {2, 400}}, 0);
  EXPECT_DOUBLE_EQ(move.bytes, 1000);
  expect_traffic(move.traffic, 1000, 900, 400);
  EXPECT_DOUBLE_EQ(world.rate(move), kUplinkOfRack / 0.4);  // its own NIC would let pass 100 / 0.9
  world.run();
  expect_carried(world.racks()[0], 0, 400);
  expect_carried(world.racks()[1], 400, 0);
  EXPECT_NEAR(world.metered(TrafficKind::shuffle, 2), 400, kInBytes);
}

TEST(Machines, WhoGivesLittleOfAFetchIsNotLimitedByItsNic) {
  ClusterModel model = model_of(40, 1);
  const auto limit = [](const ClusterModel& of, double part) {  // of a fetch of which one source gives so much
    World world(of);
    world.start(world.machines.read(1, 2, 1e6));  // shares the source's NIC
    return world.rate(world.machines.fetch({{1, 1000 * part}, {0, 1000 * (1 - part)}}, 0));
  };
  EXPECT_DOUBLE_EQ(limit(model, 0.04), kNic / 0.04);  // two of forty parts may be left out: the receiver's NIC is what is left
  EXPECT_LT(limit(model, 0.06), kNic / 0.06);
  model.network.sender_parts = 0;
  EXPECT_LT(limit(model, 0.04), kNic / 0.04);
  model.network.sender_parts = 1000;  // but never an eighth
  EXPECT_DOUBLE_EQ(limit(model, 0.12), kNic / 0.12);
  EXPECT_LT(limit(model, 0.13), kNic / 0.13);
}

TEST(Machines, CopiesOfOutputGoFromEachHolderToTheNext) {
  World world(model_of(6, 3));
  const Move move = world.machines.write(0, 1000, 500, {2, 3});
  expect_traffic(move.traffic, 1000, 1000, 500);
  EXPECT_DOUBLE_EQ(world.rate(move), kWrite);
  world.run();
  expect_carried(world.racks()[0], 500, 0);
  expect_carried(world.racks()[1], 0, 500);
  expect_carried(world.racks()[2], 0, 0);
  World twice(model_of(6, 3));
  twice.start(twice.machines.write(2, 1e6, 0, {}));
  EXPECT_DOUBLE_EQ(twice.rate(twice.machines.write(0, 1000, 2000, {2})), kUplinkOfRack / 2);  // less than half of the second disk
}

TEST(Machines, ADiskMovesNothingOverTheNetwork) {
  World world(model_of(2, 2));
  const Move out = world.machines.disk(1, 100, true), in = world.machines.disk(1, 100, false);
  expect_traffic(out.traffic, 0, 0, 0);
  EXPECT_DOUBLE_EQ(world.rate(out), kWrite);
  EXPECT_DOUBLE_EQ(world.rate(in), kRead);
}

TEST(Machines, WithoutFlowsMovesCountWhenTheyAreMade) {
  ClusterModel model = model_of(4, 2);
  model.network.flows = false;
  World world(model);
  const Move move = world.machines.read(0, 3, 70);
  EXPECT_TRUE(move.uses.empty());
  expect_traffic(move.traffic, 70, 70, 70);
  world.machines.fetch({{0, 5}, {2, 6}}, 1);
  expect_carried(world.racks()[0], 70, 6);
  expect_carried(world.racks()[1], 6, 70);
}

TEST(Machines, ASingleRackHasNoTrafficBetweenRacks) {
  World world(model_of(4, 1));
  expect_traffic(world.machines.read(0, 3, 70).traffic, 70, 70, 0);
  EXPECT_TRUE(world.racks().empty());
}

TEST(Machines, UplinksFollowFromTheOversubscriptionWhereTheyAreNotGiven) {
  ClusterModel model = model_of(5, 2);
  model.network.uplink = 0;
  EXPECT_DOUBLE_EQ(World(model).machines.uplink_capacity(), 0);
  model.network.oversubscription = 10;
  World world(model);
  EXPECT_DOUBLE_EQ(world.machines.uplink_capacity(), 30);  // of the larger rack
  EXPECT_DOUBLE_EQ(world.rate(world.machines.read(3, 0, 1000)), 20);
}

TEST(Machines, ARackMayHaveItsOwnUplinkInEachDirection) {
  ClusterModel model = model_of(3, 3);
  model.network.rack_uplinks[1] = {7, 0};
  World world(model);
  EXPECT_DOUBLE_EQ(world.rate(world.machines.read(1, 0, 1000)), 7);
  EXPECT_DOUBLE_EQ(world.rate(world.machines.read(2, 1, 1000)), kUplinkOfRack);
}

TEST(Machines, AnUplinksRateIsTheMeanSinceItWasLastLookedAt) {
  World world(model_of(2, 2));
  UplinkMeter sent, received;
  world.start(world.machines.read(0, 1, 2 * kUplinkOfRack));  // two seconds
  world.run();
  const auto rates = [&](std::uint32_t rack, Time now, UplinkMeter& meter) {
    const schedulers::UplinkRate rate = world.machines.uplink_rate(world.network, now, rack, meter);
    return std::pair(rate.up, rate.down);
  };
  EXPECT_EQ(rates(0, seconds(4), sent), std::pair(kUplinkOfRack / 2, 0.0));
  EXPECT_EQ(rates(0, seconds(4), sent), std::pair(0.0, 0.0));
  EXPECT_EQ(rates(0, seconds(5), sent), std::pair(0.0, 0.0));
  EXPECT_EQ(rates(1, seconds(8), received), std::pair(0.0, kUplinkOfRack / 4));
}

TEST(Machines, WhereNoUplinkLimitsNoneHasARate) {
  ClusterModel model = model_of(2, 2);
  model.network.uplink = 0;
  World world(model);
  UplinkMeter meter;
  world.start(world.machines.read(0, 1, 100));
  world.run();
  const schedulers::UplinkRate rate = world.machines.uplink_rate(world.network, seconds(4), 0, meter);
  EXPECT_EQ(rate.up, 0);
  expect_carried(world.racks()[0], 100, 0);
}

TEST(Machines, ANicsRateIsThatOfTheMoment) {
  World world(model_of(3, 1));
  world.start(world.machines.read(0, 2, 1000));
  world.start(world.machines.read(1, 2, 1000));
  const schedulers::UplinkRate from = world.machines.nic_rate(world.network, 0), to = world.machines.nic_rate(world.network, 2);
  EXPECT_DOUBLE_EQ(from.up, kNic / 2);
  EXPECT_DOUBLE_EQ(from.down, 0);
  EXPECT_DOUBLE_EQ(to.down, kNic);
  EXPECT_DOUBLE_EQ(to.up, 0);
}

}  // namespace
}  // namespace weft::simulator
