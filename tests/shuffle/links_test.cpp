#include "shuffle/transfer/links.hpp"

#include <chrono>

#include <gtest/gtest.h>

namespace weft::shuffle {
namespace {

TEST(Links, GiveWhatCameItsTime) {
  Links links(1000);
  const TimePoint start(std::chrono::seconds(100));
  EXPECT_LE(links.free_at("a"), start);
  links.received("a", start, 500);
  EXPECT_EQ(links.free_at("a"), start + std::chrono::milliseconds(500));
  links.received("a", start, 1000);  // both requested at once
  EXPECT_EQ(links.free_at("a"), start + std::chrono::milliseconds(1500));
  EXPECT_LE(links.free_at("b"), start);
  links.received("a", start + std::chrono::seconds(10), 100);  // an idle link saves nothing up
  EXPECT_EQ(links.free_at("a"), start + std::chrono::milliseconds(10'100));
  links.forget("a");
  EXPECT_LE(links.free_at("a"), start);
}

TEST(Links, WithoutALimitAreAlwaysFree) {
  Links links;
  links.received("a", TimePoint(std::chrono::seconds(100)), 1u << 30);
  EXPECT_EQ(links.free_at("a"), TimePoint());
}

TEST(Links, CountBytesByPeerAndByRack) {
  Links links(1000);
  const TimePoint now(std::chrono::seconds(1));
  links.received("a", now, 10);
  links.set_rack("a", "east");
  links.set_rack("b", "east");
  links.received("b", now, 5);
  links.sent("b", 7);
  links.sent("c", 1);
  links.received("d", now, 3);
  links.received("a", now, 20);
  const LinkTraffic traffic = links.traffic();
  EXPECT_EQ(traffic.by_peer, (std::map<std::string, LinkBytes>{{"a", {30, 0}}, {"b", {5, 7}}, {"c", {0, 1}}, {"d", {3, 0}}}));
  EXPECT_EQ(traffic.by_rack, (std::map<std::string, LinkBytes>{{"", {3, 1}}, {"east", {35, 7}}}));
  links.forget("a");
  EXPECT_EQ(links.traffic(), traffic) << "what came from a worker that is gone did come";
}

TEST(Links, CountPeersBeyondTheirBoundTogether) {
  Links links;
  for (int peer = 0; peer < 10'000; ++peer) links.sent(std::to_string(peer), 1);
  const LinkTraffic traffic = links.traffic();
  EXPECT_LE(traffic.by_peer.size(), 4097u);
  EXPECT_EQ(traffic.by_rack.at("").sent, 10'000u);
  EXPECT_EQ(traffic.by_peer.at("1").sent, 1u);
}

}  // namespace
}  // namespace weft::shuffle
