// Profiles of programs: which one is used for which plan, versions, forgetting, bounds.
#include "engine/master/profiles/history.hpp"

#include <gmock/gmock.h>

#include "base/clock.hpp"
#include "engine/master/profiles/record.hpp"
#include "tests/engine/master/profiles/samples.hpp"

namespace weft::profiles {
namespace {

using namespace test;
using testing::HasSubstr;

plan::PlanPart part(std::vector<plan::Stage> stages) {
  plan::PlanPart made;
  made.stages = std::move(stages);
  return made;
}

/// Maps of 100 bytes in a second that write half of that, reduces of 200 in two.
History learned(const std::string& program = "words") {
  History history;
  const plan::Stage map = maps(0, 8, 800), reduce = reduces(1, 2, 0);
  for (int i = 0; i < 8; ++i) history.learn({program, StageId(0)}, identity(map), JobId(1), task(1, 100, 50), {}, 100);
  for (int i = 0; i < 2; ++i) history.learn({program, StageId(1)}, identity(reduce), JobId(1), task(2, 200), {}, 100);
  return history;
}

TEST(Histories, PredictAPlanThroughItsShuffles) {
  const History history = learned();
  bool other = false;
  const auto same = history.predict(job_named("words"), part({reduces(1, 2, 0), maps(0, 8, 800)}), other);
  ASSERT_TRUE(same[0] && same[1]);
  EXPECT_NEAR(in_seconds(same[0]->duration()), 2, 1e-6) << "in the order of the part";
  EXPECT_NEAR(in_seconds(same[1]->duration()), 1, 1e-6);
  EXPECT_EQ(same[0]->bytes, 200);
  const auto twice = history.predict(job_named("words"), part({maps(0, 16, 1600), reduces(1, 2, 0)}), other);
  EXPECT_NEAR(in_seconds(twice[0]->duration()), 1, 1e-6) << "twice as many maps of the same size";
  EXPECT_EQ(twice[1]->bytes, 400);
  EXPECT_NEAR(in_seconds(twice[1]->duration()), 4, 0.2);
  EXPECT_FALSE(other);
  EXPECT_FALSE(history.predict(job_named("lines"), part({maps(0, 8, 800)}), other)[0]) << "another program";
}

TEST(Histories, UseWhatIsKnownOfThePlanSoFar) {
  History history = learned();
  schedulers::JobInfo job = job_named("words");
  schedulers::StageInfo& before = job.stages[StageId(0)];
  before.tasks.resize(1);
  before.finished = 1;
  before.output = schedulers::ShuffleSizes(1, 1);
  before.output.add(0, NodeId(1), {1000});
  bool other = false;
  EXPECT_NEAR(history.predict(job, part({reduces(1, 2, 0)}), other)[0]->bytes, 500, 1) << "what was really written";
}

TEST(Histories, TakeTheLastStageOfTheNameForOneThatIsNew) {
  History history = learned();
  bool other = false;
  EXPECT_TRUE(history.predict(job_named("words"), part({maps(7, 1, 100, 77)}), other)[0]) << "the next round of a loop";
  EXPECT_FALSE(other);
}

TEST(Histories, OfAnotherVersionAreNotUsedAndReplaced) {
  History history = learned();
  bool other = false;
  EXPECT_FALSE(history.predict(job_named("words"), part({maps(0, 8, 800, 99)}), other)[0]);
  EXPECT_TRUE(other);
  history.learn({"words", StageId(0)}, identity(maps(0, 8, 800, 99)), JobId(2), task(5, 100), {}, 101);
  other = false;
  const auto now = history.predict(job_named("words"), part({maps(0, 8, 800, 99)}), other);
  EXPECT_FALSE(other);
  EXPECT_NEAR(in_seconds(now[0]->duration()), 5, 1e-6) << "nothing of the old version is left";
}

TEST(Histories, ForgetAProgramOrAll) {
  History history = learned();
  const plan::Stage map = maps(0, 1, 1);
  history.learn({"lines", StageId(0)}, identity(map), JobId(2), task(1, 1), {}, 1);
  (void)history.take_changes();
  EXPECT_EQ(history.forget("nobody"), 0u);
  EXPECT_EQ(history.forget("words"), 2u);
  EXPECT_EQ(history.take_changes(), (std::set<StageKey>{{"words", StageId(0)}, {"words", StageId(1)}}));
  EXPECT_EQ(history.stages(), 1u);
  EXPECT_EQ(history.forget(""), 1u);
  EXPECT_TRUE(history.programs().empty());
}

TEST(Histories, KeepSoManyStagesOfThoseThatWereLearnedLast) {
  History history(10);
  const plan::Stage map = maps(0, 1, 1);
  for (std::uint32_t i = 0; i < 30; ++i)
    history.learn({"p" + std::to_string(i / 3), StageId(i % 3)}, identity(map), JobId(1), task(1, 1), {}, i / 3);
  EXPECT_LE(history.stages(), 10u);
  EXPECT_TRUE(history.programs().contains("p9"));
  EXPECT_FALSE(history.programs().contains("p0"));
  History one(10);
  for (std::uint32_t i = 0; i < 30; ++i) one.learn({"p", StageId(i)}, identity(map), JobId(1), task(1, 1), {}, 1);
  EXPECT_EQ(one.stages(), 10u);
  EXPECT_TRUE(one.find({"p", StageId(29)}));
}

TEST(Histories, ImportAllOrNothing) {
  const History from = learned();
  std::vector<Record> records;
  for (const auto& [id, stage] : from.programs().at("words")) records.emplace_back(StageKey{"words", id}, stage);
  History history;
  ASSERT_TRUE(history.import(records));
  EXPECT_EQ(history.stages(), 2u);
  records[1].second.runs = 5;
  ASSERT_TRUE(history.import(records)) << "again";
  EXPECT_EQ(history.find({"words", StageId(1)})->runs, 5u) << "in place of what was there";
  records[1].second.is.fingerprint = 0xabc;
  records[0].second.runs = 77;
  const auto refused = history.import(records);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().to_string(),
              HasSubstr("stage 1 of words is of another version of the program (fingerprint 0000000000000abc)"));
  EXPECT_THAT(refused.error().to_string(), HasSubstr("weft profile forget words"));
  EXPECT_EQ(history.find({"words", StageId(0)})->runs, 1u);
}

}  // namespace
}  // namespace weft::profiles
