// Estimates: which source counts, and what hints are.
#include "schedulers/view/estimates.hpp"

#include <gmock/gmock.h>

#include "tests/schedulers/world.hpp"

namespace weft::schedulers::estimate_rules {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

StageProfile profile(double constant_seconds, double seconds_per_byte, double bytes) {
  StageProfile made;
  made.constant = Time(static_cast<std::int64_t>(constant_seconds * 1e9));
  made.per_byte = seconds_per_byte * 1e9;
  made.bytes = bytes;
  return made;
}

struct Stages : testing::Test {
  World world;
  JobInfo& job = world.job(1);
  StageInfo& maps = world.stage(job, 0, anywhere(4), {}, 0);
  StageInfo& reduces = world.stage(job, 1, anywhere(2), {}, 0, {0});
  Stages() { maps.writes_shuffle = true; }
};

TEST_F(Stages, TakeADurationFromTheProgramThenFromHistoryThenFromWhatWasSeenThenADefault) {
  const auto duration = [&] { return std::pair(task_duration(maps).value, task_duration(maps).source); };
  EXPECT_EQ(duration(), std::pair(Time(seconds(1)), EstimateSource::assumed));
  maps.observed_total = seconds(8);
  maps.observed_count = 2;
  EXPECT_EQ(duration(), std::pair(Time(seconds(4)), EstimateSource::observed));
  EXPECT_EQ(known_duration(maps), std::nullopt) << "nobody told it";
  maps.profile = profile(1, 0.5, 4);
  EXPECT_EQ(duration(), std::pair(Time(seconds(3)), EstimateSource::history));
  EXPECT_EQ(known_duration(maps), Time(seconds(3)));
  maps.estimated_duration = seconds(9);
  EXPECT_EQ(duration(), std::pair(Time(seconds(9)), EstimateSource::program));
  EXPECT_EQ(known_duration(maps), Time(seconds(9)));
}

TEST_F(Stages, AProfilesDurationFollowsTheBytesAndIsNeverNothing) {
  StageProfile line = profile(-1, 0.5, 6);
  EXPECT_EQ(line.duration(), Time(seconds(2)));
  line.bytes = 1;
  EXPECT_EQ(line.duration(), Time(std::chrono::microseconds(1)));
}

TEST_F(Stages, TakeRatiosInTheSameOrder) {
  EXPECT_EQ(shuffle_ratio(job).source, EstimateSource::assumed);
  EXPECT_EQ(shuffle_ratio(job).value, 1);
  maps.output = ShuffleSizes(4, 1);
  maps.output.add(0, NodeId(1), {50});
  maps.input_bytes = 200;
  maps.finished = 1;
  EXPECT_NEAR(shuffle_ratio(job).value, 0.25, 0.001);
  EXPECT_EQ(shuffle_ratio(job).source, EstimateSource::observed);
  EXPECT_NEAR(output_ratio(job, maps).value, 0.25, 0.001);
  maps.profile = profile(1, 0, 100);
  maps.profile->output_ratio = 0.5;
  EXPECT_EQ(shuffle_ratio(job).value, 0.5);
  EXPECT_EQ(shuffle_ratio(job).source, EstimateSource::history);
  EXPECT_EQ(output_ratio(job, maps).source, EstimateSource::history);
  job.hints.shuffle_ratio = 0;
  EXPECT_EQ(shuffle_ratio(job).value, 0) << "nothing is shuffled: that is something";
  EXPECT_EQ(shuffle_ratio(job).source, EstimateSource::program);
  maps.estimated_output_ratio = 2;
  EXPECT_EQ(output_ratio(job, maps).value, 2);
}

TEST_F(Stages, OfReducesOverMaps) {
  EXPECT_EQ(relative_reduce_cost(job).source, EstimateSource::assumed);
  maps.observed_total = seconds(2), maps.observed_count = 2;
  reduces.observed_total = seconds(12), reduces.observed_count = 4;
  EXPECT_EQ(relative_reduce_cost(job).value, 3);
  EXPECT_EQ(relative_reduce_cost(job).source, EstimateSource::observed);
  maps.profile = profile(2, 0, 0);
  EXPECT_EQ(relative_reduce_cost(job).source, EstimateSource::observed) << "history says nothing of reduces";
  reduces.profile = profile(10, 0, 0);
  EXPECT_EQ(relative_reduce_cost(job).value, 5);
  EXPECT_EQ(relative_reduce_cost(job).source, EstimateSource::history);
  job.hints.relative_reduce_cost = 7;
  EXPECT_EQ(relative_reduce_cost(job).value, 7);
}

TEST_F(Stages, UseOfAPhase) {
  maps.demand = {.cpu = 2};
  EXPECT_EQ(phase_use(job, maps, Phase::map).value, maps.demand);
  maps.profile = profile(1, 0, 0);
  EXPECT_EQ(phase_use(job, maps, Phase::map).source, EstimateSource::assumed) << "history measured nothing";
  maps.profile->use = {.cpu = 0.5};
  maps.profile->shuffle_use = {.network_in = 7};
  EXPECT_EQ(phase_use(job, maps, Phase::map).value, (Resources{.cpu = 0.5}));
  EXPECT_EQ(phase_use(job, maps, Phase::shuffle).value, (Resources{.network_in = 7}));
  EXPECT_EQ(phase_use(job, maps, Phase::shuffle).source, EstimateSource::history);
  job.hints.map_profile = Resources{.cpu = 1};
  EXPECT_EQ(phase_use(job, maps, Phase::map).source, EstimateSource::program);
  EXPECT_EQ(phase_use(job, maps, Phase::reduce).source, EstimateSource::history);
}

TEST(Hints, AreTextsAndBack) {
  JobHints hints;
  Time deadline{0};
  for (const char* text : {"weight=2.5", "deadline=10min", "relative_reduce_cost=3", "shuffle_ratio=0",
                           "map_profile=cpu=1,memory=1MiB", "shuffle_profile=network_in=5", "reduce_profile=cpu=2"}) {
    const auto hint = parse_hint(text);
    ASSERT_TRUE(hint) << hint.error().to_string();
    ASSERT_TRUE(set_hint(hint->first, hint->second, hints, deadline)) << text;
  }
  EXPECT_EQ(deadline, Time(std::chrono::minutes(10)));
  EXPECT_EQ(hints.weight, 2.5);
  EXPECT_EQ(hints.map_profile, (Resources{.cpu = 1, .memory = 1 << 20}));
  JobHints again;
  again.weight = 2.5;
  ASSERT_TRUE(set_hints(hint_texts(hints), again, deadline));
  EXPECT_EQ(again, hints);
  EXPECT_TRUE(hint_texts(JobHints()).empty()) << "what was not said";
}

TEST(Hints, ThatAreNoneAreNamed) {
  const auto why = [](const char* text) {
    const auto hint = parse_hint(text);
    return hint ? std::string() : hint.error().to_string();
  };
  EXPECT_THAT(why("shufle_ratio=1"), HasSubstr("there is no hint 'shufle_ratio', did you mean shuffle_ratio?"));
  EXPECT_THAT(why("colour=red"), HasSubstr("known are weight, deadline, relative_reduce_cost"));
  EXPECT_THAT(why("shuffle_ratio"), HasSubstr("write key=value"));
  EXPECT_THAT(why("=1"), HasSubstr("write key=value"));
  for (const char* text : {"shuffle_ratio=-1", "shuffle_ratio=nan", "weight=0", "deadline=0s", "deadline=soon",
                           "map_profile=gpus=1", "relative_reduce_cost="})
    EXPECT_THAT(why(text), HasSubstr("hint ")) << text;
}

}  // namespace
}  // namespace weft::schedulers::estimate_rules
