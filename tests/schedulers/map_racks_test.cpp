// SAMP: which racks the maps of a job prefer (ShuffleWatcher, section 3.2, figures 4 and 5).
#include "schedulers/parts/map_racks.hpp"

#include <chrono>
#include <cmath>

#include "base/random.hpp"
#include "schedulers/view/estimates.hpp"
#include "tests/schedulers/world.hpp"

namespace weft::schedulers::map_rack_rules {
namespace {

std::vector<RackOption> racks_of(std::uint32_t count) {
  std::vector<RackOption> racks;
  for (std::uint32_t i = 0; i < count; ++i) racks.push_back({RackId(i), 0});
  return racks;
}

std::vector<std::uint32_t> preferred(const MapRacks& chosen) {
  std::vector<std::uint32_t> ids;
  for (const RackId id : chosen.preferred) ids.push_back(id.value());
  return ids;
}

double sum_of_parts(const MapRacks& chosen) {
  double sum = 0;
  for (const auto& [rack, part] : chosen.parts) sum += part;
  return sum;
}

using Racks = std::vector<std::uint32_t>;

TEST(MapRacksChoice, TakesOneRackThatHoldsEverything) {
  MapInput input;
  for (int i = 0; i < 10; ++i) input.add(100, Racks{0, 1});
  const MapRacks chosen = choose_map_racks(input, racks_of(3), 500);
  EXPECT_EQ(preferred(chosen), Racks{0});
  EXPECT_EQ(chosen.cross_bytes, 0);
}

/// Every chunk in two of ten racks, all pairs alike: reading from k racks leaves C(10 - k, 2) / C(10, 2) of the input remote, and
/// of the shuffle 1 - 1/k crosses.
double least_of_uniform(double ratio, std::uint32_t& racks) {
  MapInput input;
  for (std::uint32_t a = 0; a < 10; ++a)
    for (std::uint32_t b = a + 1; b < 10; ++b)
      for (int i = 0; i < 100; ++i) input.add(10, Racks{a, b});
  const double total = static_cast<double>(input.total());
  const MapRacks chosen = choose_map_racks(input, racks_of(10), ratio * total);
  racks = static_cast<std::uint32_t>(chosen.preferred.size());
  EXPECT_NEAR(sum_of_parts(chosen), 1, 1e-9);
  return chosen.cross_bytes / total;
}

TEST(MapRacksChoice, IsTheLeastOfAllBeginningsAndNotTheFirstThatIsFollowedByAWorseOne) {
  std::uint32_t racks = 0;
  EXPECT_NEAR(least_of_uniform(0.5, racks), 0.444, 0.003);
  EXPECT_EQ(racks, 9u) << "behind the hill at two racks";
  EXPECT_NEAR(least_of_uniform(1, racks), 0.8, 1e-9);
  EXPECT_EQ(racks, 1u);
  EXPECT_NEAR(least_of_uniform(2, racks), 0.8, 1e-9);
  EXPECT_EQ(racks, 1u);
}

TEST(MapRacksChoice, NeverCostsMoreThanAllRacks) {
  Random random(7, 1);
  for (int round = 0; round < 200; ++round) {
    const auto count = static_cast<std::uint32_t>(2 + random.below(8));
    MapInput input;
    for (std::uint64_t i = 0; i < 1 + random.below(60); ++i) {
      Racks replicas;
      for (std::uint32_t rack = 0; rack < count; ++rack)
        if (random.chance(0.3)) replicas.push_back(rack);
      input.add(random.below(100), replicas);
    }
    const double shuffle = random.uniform() * 2 * static_cast<double>(input.total());
    const MapRacks chosen = choose_map_racks(input, racks_of(count), shuffle);
    double homeless = 0;
    for (std::size_t i = 0; i < input.bytes.size(); ++i)
      if (input.first[i] == input.first[i + 1]) homeless += static_cast<double>(input.bytes[i]);
    EXPECT_LE(chosen.cross_bytes, homeless + shuffle * (1 - 1.0 / count) + 1 + 0.1 * shuffle);
    EXPECT_NEAR(sum_of_parts(chosen), 1, 1e-9);
    ASSERT_FALSE(chosen.preferred.empty());
  }
}

TEST(MapRacksChoice, MayReadALittleFromElsewhereToKeepTheShuffleTogether) {
  MapInput input;
  for (int i = 0; i < 9; ++i) input.add(100, Racks{1});
  input.add(100, Racks{0});
  EXPECT_EQ(preferred(choose_map_racks(input, racks_of(2), 1000)), Racks{1});      // 100 against 180
  EXPECT_EQ(preferred(choose_map_racks(input, racks_of(2), 100)), (Racks{1, 0}));  // 100 against 18
  EXPECT_DOUBLE_EQ(choose_map_racks(input, racks_of(2), 1000).cross_bytes, 100);
}

TEST(MapRacksChoice, CountsChunksOfUnknownSizeAlike) {
  MapInput input;
  for (int i = 0; i < 9; ++i) input.add(0, Racks{1});
  input.add(0, Racks{0});
  EXPECT_EQ(preferred(choose_map_racks(input, racks_of(2), 10)), Racks{1});
}

TEST(MapRacksChoice, OfRacksThatHoldTheSameTakesTheOneWithLessFromEarlierChoices) {
  MapInput input;
  input.add(100, Racks{0, 1});
  std::vector<RackOption> racks = racks_of(2);
  racks[0].load = 1;
  EXPECT_EQ(preferred(choose_map_racks(input, racks, 100)), Racks{1});
}

/// Two racks of two nodes, and jobs whose chunks all lie in both (figure 5).
struct Replicated {
  World world{"shufflewatcher"};
  MapRackChoices choices;
  Replicated() {
    for (std::uint32_t i = 1; i <= 4; ++i) world.node(i, fmt::format("h{}", i), i <= 2 ? "rack1" : "rack2", 1);
  }
  StageInfo& job(std::uint64_t id, std::vector<std::string> hosts = {"h1", "h3"}) {
    JobInfo& job = world.job(id);
    StageInfo& maps = world.stage(job, 0, std::vector<std::vector<std::string>>(4, hosts), {});
    maps.writes_shuffle = true;
    for (TaskInfo& task : maps.tasks) task.input_bytes = 100;
    choices.on_event(world.state, {.kind = Notice::Kind::stage_added, .job = job.id, .stage = StageId(0)});
    return maps;
  }
  std::string rack_of(std::uint64_t id) {
    choices.refresh(world.state, [](const JobInfo& job) { return shuffle_ratio(job).value; });
    const MapRacks* chosen = choices.of(JobId(id));
    if (chosen == nullptr) return "none";
    return chosen->preferred.size() == 1 ? world.state.rack(chosen->preferred[0])->name : "several";
  }
};

TEST(MapRacksOfJobs, TheSecondJobTakesTheOtherRack) {
  Replicated r;
  r.job(1);
  r.job(2);
  EXPECT_EQ(r.rack_of(1), "rack1");
  EXPECT_EQ(r.rack_of(2), "rack2");
}

TEST(MapRacksOfJobs, AJobThatHasEndedLeavesItsRack) {
  Replicated r;
  r.job(1);
  ASSERT_EQ(r.rack_of(1), "rack1");
  r.choices.on_event(r.world.state, {.kind = Notice::Kind::job_ended, .job = JobId(1)});
  EXPECT_EQ(r.rack_of(1), "none");
  r.job(2);
  EXPECT_EQ(r.rack_of(2), "rack1");
}

TEST(MapRacksOfJobs, WithoutAPlaceOrAShuffleThereIsNoChoice) {
  Replicated r;
  r.job(1, {"elsewhere"});
  r.job(2, {}).writes_shuffle = true;
  StageInfo& only_maps = r.job(3);
  EXPECT_EQ(r.rack_of(1), "none") << "no rack is known to hold any of it";
  EXPECT_EQ(r.rack_of(2), "none");
  only_maps.writes_shuffle = false;
  Replicated other;
  other.job(1).writes_shuffle = false;
  EXPECT_EQ(other.rack_of(1), "none");
}

TEST(MapRacksOfJobs, AreChosenAgainWhenThereIsAnotherRack) {
  Replicated r;
  r.job(1, {"h1", "h9"});
  ASSERT_EQ(r.rack_of(1), "rack1");
  r.choices.on_event(r.world.state, {.kind = Notice::Kind::node_left, .node = NodeId(4)});
  r.world.leave(1);
  r.world.leave(2);
  r.world.node(9, "h9", "rack3", 1);
  r.choices.on_event(r.world.state, {.kind = Notice::Kind::node_joined, .node = NodeId(9)});
  EXPECT_EQ(r.rack_of(1), "rack3");
}

TEST(MapRacksOfJobs, HowOftenTheyAreKeptIsLearned) {
  Replicated r;
  r.job(1);
  r.job(2, {});
  ASSERT_EQ(r.rack_of(1), "rack1");
  const auto launch = [&](std::uint64_t job, std::uint32_t node, int times) {
    for (int i = 0; i < times; ++i)
      r.choices.on_event(r.world.state, {Notice::Kind::task_launched, JobId(job), StageId(0), 0, NodeId(node)});
  };
  EXPECT_EQ(r.choices.kept(), 1) << "as long as nothing is known";
  launch(1, 4, 20);
  const double kept = r.choices.kept();
  EXPECT_GT(kept, 0.5);
  EXPECT_LT(kept, 0.9);
  launch(2, 4, 100);
  EXPECT_EQ(r.choices.kept(), kept) << "nothing was chosen for that job";
  launch(1, 4, 1000);
  EXPECT_NEAR(r.choices.kept(), 0, 0.01);
  launch(1, 2, 1000);
  EXPECT_NEAR(r.choices.kept(), 1, 0.01);
}

TEST(MapRacksCost, AHundredThousandChunksOnAHundredRacksAreQuick) {
  Random random(3, 1);
  MapInput input;
  for (int i = 0; i < 100'000; ++i) {
    const auto a = static_cast<std::uint32_t>(random.below(100)), b = static_cast<std::uint32_t>(random.below(100)),
               c = static_cast<std::uint32_t>(random.below(100));
    Racks replicas{a};
    if (b != a) replicas.push_back(b);
    if (c != a && c != b) replicas.push_back(c);
    input.add(64 << 20, replicas);
  }
  const MapRacks chosen = choose_map_racks(input, racks_of(100), static_cast<double>(input.total()) * 0.4);
  EXPECT_NEAR(sum_of_parts(chosen), 1, 1e-9);
  double most = 0, least = 1;
  for (const auto& [rack, part] : chosen.parts) most = std::max(most, part), least = std::min(least, part);
  EXPECT_LT(most, 2 * least) << "chunks with a choice are spread evenly";
}

}  // namespace
}  // namespace weft::schedulers::map_rack_rules
