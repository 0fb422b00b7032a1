// Racks of hosts, from files and programs. What the master makes of them: tests/cluster/locality_test.cpp.
#include "engine/master/nodes/topology.hpp"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/file.hpp"

namespace weft::master {
namespace {

using namespace std::chrono_literals;

class Topologies : public testing::Test {
 protected:
  std::string write(const std::string& text, bool program) {
    const auto path = directory->path() / "topology";
    std::ofstream(path) << text;
    std::filesystem::permissions(path, program ? std::filesystem::perms::owner_all : std::filesystem::perms::owner_read);
    return path;
  }
  std::string rack(Topology& topology, const std::string& host) {
    auto answer = topology.rack_of(host);
    if (!answer) return answer.error().to_string();
    if (!*answer) return "(unknown)";
    const Rack& found = **answer;
    if (found.uplink == schedulers::UplinkRate{}) return found.name;
    return fmt::format("{} {:g}/{:g}", found.name, found.uplink.up, found.uplink.down);
  }

  Result<TempDir> directory = TempDir::create("weft-topology-");
};

TEST_F(Topologies, AFileKnowsItsHostsAndPerhapsTheOthers) {
  auto some = Topology::open(write("a r1\nb r2\n", false));
  ASSERT_TRUE(some);
  EXPECT_EQ(rack(**some, "b"), "r2");
  EXPECT_EQ(rack(**some, "c"), "(unknown)");
  auto all = Topology::open(directory->path() / "topology");
  std::filesystem::remove(directory->path() / "topology");
  write("a r1\n* r9\n", false);
  ASSERT_TRUE((*all)->reload());
  EXPECT_EQ(rack(**all, "a"), "r1");
  EXPECT_EQ(rack(**all, "c"), "r9");
}

TEST_F(Topologies, AWrongFileIsRefusedAndTheOldOneStays) {
  auto topology = Topology::open(write("a r1\n", false));
  ASSERT_TRUE(topology);
  std::filesystem::remove(directory->path() / "topology");
  write("a r1\nb\n", false);
  const auto reloaded = (*topology)->reload();
  ASSERT_FALSE(reloaded);
  EXPECT_NE(reloaded.error().to_string().find("topology:2: 'b' is not of the form HOST RACK"), std::string::npos)
      << reloaded.error().to_string();
  EXPECT_EQ(rack(**topology, "a"), "r1");
}

TEST_F(Topologies, ARackHasAnUplink) {
  auto topology = Topology::open(write("a r1 60MB/30MB\nb r1\nc r2   1KiB # slow\n* r3 5\n", false));
  ASSERT_TRUE(topology) << topology.error().to_string();
  EXPECT_EQ(rack(**topology, "a"), "r1 6e+07/3e+07");
  EXPECT_EQ(rack(**topology, "b"), "r1 6e+07/3e+07") << "what one line says holds for the rack";
  EXPECT_EQ(rack(**topology, "c"), "r2 1024/1024");
  EXPECT_EQ(rack(**topology, "d"), "r3 5/5");
}

TEST_F(Topologies, WrongUplinksAreRefused) {
  for (const std::string wrong : {"a r1 fast\n", "a r1 0\n", "a r1 1MB/0\n", "a r1 1MB/\n", "a r1 1MB 2MB\n", "a r1 -5\n"}) {
    std::filesystem::remove(directory->path() / "topology");
    const auto topology = Topology::open(write(wrong, false));
    ASSERT_FALSE(topology) << wrong;
    EXPECT_NE(topology.error().to_string().find("topology:1: "), std::string::npos) << topology.error().to_string();
  }
  std::filesystem::remove(directory->path() / "topology");
  const auto two = Topology::open(write("a r1 1MB\nb r1 2MB\n", false));
  ASSERT_FALSE(two);
  EXPECT_NE(two.error().to_string().find("rack r1 has two different uplinks"), std::string::npos) << two.error().to_string();
}

TEST_F(Topologies, AProgramSaysTheUplinkToo) {
  auto topology = Topology::open(write("#!/bin/sh\necho r-$1 2KiB/1KiB\n", true));
  ASSERT_TRUE(topology);
  EXPECT_EQ(rack(**topology, "a"), "r-a 2048/1024");
}

TEST_F(Topologies, AProgramIsAskedOncePerHostUntilReloaded) {
  auto topology = Topology::open(write("#!/bin/sh\necho x >> $0.asked\necho r-$1\n", true));
  ASSERT_TRUE(topology);
  EXPECT_EQ(rack(**topology, "a"), "r-a");
  EXPECT_EQ(rack(**topology, "a"), "r-a");
  EXPECT_EQ(read_file(directory->path() / "topology.asked").value(), "x\n");
  ASSERT_TRUE((*topology)->reload());
  EXPECT_EQ(rack(**topology, "a"), "r-a");
  EXPECT_EQ(read_file(directory->path() / "topology.asked").value(), "x\nx\n");
}

TEST_F(Topologies, AProgramThatDoesNotEndIsKilledAndReported) {
  auto topology = Topology::open(write("#!/bin/sh\nsleep 1000\n", true), 100ms);
  ASSERT_TRUE(topology);
  EXPECT_NE(rack(**topology, "a").find("asked for host a, took longer than 100ms"), std::string::npos) << rack(**topology, "a");
}

TEST_F(Topologies, AProgramThatPrintsWithoutEndIsKilledAndReported) {
  auto topology = Topology::open(write("#!/bin/sh\nyes\n", true), 200ms);
  ASSERT_TRUE(topology);
  EXPECT_NE(rack(**topology, "a").find("took longer"), std::string::npos);
}

TEST_F(Topologies, HostsCannotBeMistakenForOptions) {
  auto topology = Topology::open(write("#!/bin/sh\necho r\n", true));
  ASSERT_TRUE(topology);
  EXPECT_NE(rack(**topology, "-x").find("dash"), std::string::npos);
}

}  // namespace
}  // namespace weft::master
