// ShuffleWatcher with mode=measured: which tasks pass on a node, and for how long.
#include "schedulers/parts/network_gains.hpp"

#include "tests/schedulers/network_cluster.hpp"

namespace weft::schedulers::network_aware_rules {
namespace {

inline const char* const kMeasured = "shufflewatcher(window=0s, users=fair)";

/// So many maps whose input lies in rack1, which is full. Of what one reads and writes nothing would cross there; on a node
/// elsewhere it takes six seconds of the node's part of the uplink. The tasks before a new one take a second for each two of them.
struct InputInOneRack : Cluster {
  explicit InputInOneRack(const std::string& spec = kMeasured, std::size_t count = 4, double used = 1,
                          const std::vector<std::string>& hosts = {"h1"})
      : Cluster(spec, false, {100, 100}) {
    maps(job(1, "a", 2), std::vector<std::vector<std::string>>(count, hosts));
    fill({1, 2});
    crossing(100 * used);
  }
};

TEST(NetworkGains, AMapPassesOnANodeElsewhereForAsLongAsItsBytesWouldTake) {
  InputInOneRack c;
  c.world.schedule();
  EXPECT_EQ(c.world.running(1), 0u);
  EXPECT_NE(c.world.holds[JobId(1)].find("racks of its data"), std::string::npos) << c.world.holds[JobId(1)];
  EXPECT_EQ(c.world.wakes.back(), std::chrono::seconds(6)) << "it asks to be called when the time has come";
  c.world.at(5.9);
  EXPECT_EQ(c.asks(3), "-");
  c.world.at(6);
  EXPECT_EQ(c.asks(3), "1.0");
  EXPECT_EQ(c.asks(4), "-") << "the next one waits again";
}

TEST(NetworkGains, NobodyPassesWhereUplinksHaveRoom) {
  InputInOneRack c(kMeasured, 4, 0.7);
  EXPECT_EQ(c.asks(3), "1.0");
}

TEST(NetworkGains, NoNodeIdlesWhereTheRacksOfTheDataAreBusyForLonger) {
  InputInOneRack c(kMeasured, 20);
  EXPECT_EQ(c.asks(3), "1.0");
}

TEST(NetworkGains, ButAnotherJobThatWantsTheNodeGetsIt) {
  InputInOneRack c(kMeasured, 20);
  c.maps(c.job(2, "b", 2, 1), {{"h3"}, {"h3"}});
  EXPECT_EQ(c.asks(3), "2.0");
  c.world.at(30);
  EXPECT_EQ(c.asks(4), "1.0") << "not for ever";
}

TEST(NetworkGains, AJobWhoseInputLiesInAllRacksIsAsUnderItsBase) {
  Cluster c(kMeasured, false, {100, 100});
  c.maps(c.job(1, "a", 1), {{"h1"}, {"h3"}});
  c.fill({1, 2});
  c.crossing(100);
  EXPECT_EQ(c.asks(3), "1.0");
}

TEST(NetworkGains, OfAnUnknownJobTheRatioOfThoseBeforeItIsTaken) {
  Cluster c(kMeasured, false, {100, 100});
  JobInfo& before = c.job(1, "a", 0);
  StageInfo& wrote = c.maps(before, {{"h1"}});
  wrote.output = ShuffleSizes(1, 1);
  ASSERT_TRUE(c.world.launch({before.id, StageId(0), 0}, NodeId(1), "test"));
  wrote.output.add(0, NodeId(1), std::vector<std::uint64_t>(1, 1000));
  wrote.input_bytes = 100;
  c.world.finish({before.id, StageId(0), 0});
  c.world.launched.clear();
  c.maps(c.job(2, "b", 0), std::vector<std::vector<std::string>>(2, {"h1"}));
  c.fill({1, 2});
  c.crossing(100);
  c.world.schedule();
  EXPECT_EQ(c.world.wakes.back(), std::chrono::seconds(22)) << "a chunk, and ten times as much, at 50 a second";
}

TEST(NetworkGains, AReducePassesOnARackWithLittleOfItsInput) {
  Cluster c(kMeasured, false, {100, 100});
  c.written(1, "a", 2, 1, 2);
  c.fill({1, 2});
  c.crossing(100);
  EXPECT_EQ(c.asks(3), "-");
  c.world.at(1.9);
  EXPECT_EQ(c.asks(3), "-");
  c.world.at(2);
  EXPECT_EQ(c.asks(3), "1.1") << "a hundred bytes at 50 a second";
}

TEST(NetworkGains, SarpAndSampAreLeftOutOnDemand) {
  InputInOneRack maps("shufflewatcher(window=0s, users=fair, samp=false)");
  EXPECT_EQ(maps.asks(3), "1.0");
  Cluster reduces("shufflewatcher(window=0s, users=fair, sarp=false)", false, {100, 100});
  reduces.written(1, "a", 2, 1, 2);
  reduces.fill({1, 2});
  reduces.crossing(100);
  EXPECT_EQ(reduces.asks(3), "1.1");
}

TEST(NetworkGains, OptionsOfThePublishedRulesNeedThem) {
  for (const char* option : {"jobs=arrival", "samp_wait=0", "relaxed=5s", "starvation=1min"}) {
    const auto made = make_scheduler(fmt::format("shufflewatcher({})", option));
    ASSERT_FALSE(made) << option;
    EXPECT_NE(made.error().to_string().find("mode=paper"), std::string::npos) << made.error().to_string();
    EXPECT_TRUE(make_scheduler(fmt::format("shufflewatcher(mode=paper, {})", option))) << option;
  }
}

}  // namespace
}  // namespace weft::schedulers::network_aware_rules
