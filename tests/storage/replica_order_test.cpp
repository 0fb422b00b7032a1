// Which replica of a chunk a reader asks first.
#include <gtest/gtest.h>

#include "storage/files/file_system_impl.hpp"

namespace weft::storage::files {
namespace {

const std::vector<NodeSite> kNodes{{NodeId(1), {"w1", "h1", "east", "a1"}},
                                   {NodeId(2), {"w2", "h2", "west", "a2"}},
                                   {NodeId(3), {"w3", "h3", "west", "a3"}},
                                   {NodeId(4), {"w4", "h4", "", "a4"}}};

std::vector<std::string> order(const std::string& host, const std::string& rack) {
  const ChunkPlace place{{}, 0, 4, {NodeId(1), NodeId(4), NodeId(2), NodeId(3)}, {NodeId(1), NodeId(3)}};
  const ChunkLocation location = location_of(place, kNodes, host, rack);
  EXPECT_EQ(location.damaged, rack == "west" ? (std::vector<std::string>{"a3", "a1"}) : (std::vector<std::string>{"a1", "a3"}));
  return location.replicas;
}

using Addresses = std::vector<std::string>;

TEST(ReplicaOrder, TheHostOfTheReaderThenItsRackThenTheOthers) {
  EXPECT_EQ(order("h3", "west"), (Addresses{"a3", "a2", "a1", "a4"}));
  EXPECT_EQ(order("h9", "west"), (Addresses{"a2", "a3", "a1", "a4"})) << "none is on the host";
  EXPECT_EQ(order("w1", "east"), (Addresses{"a1", "a4", "a2", "a3"})) << "a worker's name names its host, too";
}

TEST(ReplicaOrder, AReaderThatKnowsNoRackTakesThemAsTheyCome) { EXPECT_EQ(order("h9", ""), (Addresses{"a1", "a4", "a2", "a3"})); }

}  // namespace
}  // namespace weft::storage::files
