// What `weft node list --racks` prints.
#include "engine/tools/display/rack_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

client::NodeStatus worker(const std::string& rack, double up, double down) {
  client::NodeStatus node;
  node.rack = rack;
  node.slots = 2;
  node.running = 1;
  node.measured.cross_rack = {up, down};
  return node;
}

TEST(RackText, AddsUpWhatItsWorkersMove) {
  std::vector<client::NodeStatus> nodes{worker("b", 10e6, 0), worker("a", 1e6, 2e6), worker("a", 3e6, 40e6)};
  for (client::NodeStatus& node : nodes) node.standing.uplink = {50e6, 84e6};
  nodes.push_back(worker("a", 1e9, 1e9));
  nodes.back().dead = true;
  nodes.push_back(worker("c", 1e9, 1e9));
  nodes.back().lost = true;
  const auto racks = racks_of(nodes);
  ASSERT_EQ(racks.size(), 3u);
  EXPECT_EQ(racks[0].lost, 1u);
  EXPECT_EQ(racks[2].name, "c") << "nobody is there any more";
  EXPECT_EQ(racks[2].nodes, 0u);
  EXPECT_EQ(racks[2].lost, 1u);
  EXPECT_EQ(racks[0].name, "a");
  EXPECT_EQ(racks[0].nodes, 2u);
  EXPECT_EQ(racks[0].crossing, (schedulers::UplinkRate{4e6, 42e6}));
  EXPECT_DOUBLE_EQ(racks[0].in_use(), 0.5) << "the busier direction";
  const std::string text = racks_text(racks);
  EXPECT_THAT(text, HasSubstr("50 %"));
  EXPECT_THAT(text, HasSubstr("2 of 4"));
  EXPECT_GT(text.find("not known"), text.find("\nc ")) << "of nobody else's";
  EXPECT_THAT(racks_json(racks), HasSubstr("\"in_use\":0.5"));
}

TEST(RackText, OfAnUplinkThatNobodyKnowsSaysWhatWasSeen) {
  std::vector<client::NodeStatus> nodes{worker("a", 10e6, 0)};
  EXPECT_THAT(racks_text(racks_of(nodes)), HasSubstr("not known"));
  EXPECT_EQ(racks_of(nodes)[0].in_use(), 0);
  nodes[0].standing.most_cross_rack = {40e6, 0};
  EXPECT_THAT(racks_text(racks_of(nodes)), HasSubstr("most seen"));
  EXPECT_DOUBLE_EQ(racks_of(nodes)[0].in_use(), 0.25);
}

}  // namespace
}  // namespace weft::tools
