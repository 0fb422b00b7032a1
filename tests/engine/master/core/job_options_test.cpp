#include "engine/master/core/job_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "engine/master/core/events.hpp"

namespace weft::master {
namespace {

using testing::HasSubstr;

const JobOption& named(const std::string& name) {
  for (const JobOption& option : job_options())
    if (option.name == name) return option;
  ADD_FAILURE() << "there is no option " << name;
  return job_options().front();
}

/// A text for each option that sets it to something else than its default.
const std::map<std::string, std::string> kTexts{{"name", "Umsätze 2026"},
                                                {"user", "ann"},
                                                {"pool", "etl"},
                                                {"priority", "-3"},
                                                {"weight", "2.5"},
                                                {"deadline", "10min"},
                                                {"demand", "cpu=2,memory=512MiB"},
                                                {"hint", "shuffle_ratio=0.4"},
                                                {"task-timeout", "30s"},
                                                {"max-bad-records", "0.1%"},
                                                {"max-attempts", "2"},
                                                {"shuffle-mode", "pull"},
                                                {"shuffle-replicas", "2"},
                                                {"slow-start", "0.25"},
                                                {"speculate", "off"},
                                                {"request-id", "nightly 2026-11-27"},
                                                {"on-disconnect", "continue"}};

TEST(JobOptions, AreReadAgainAsTheyWereWrittenAsTextAndAsJson) {
  for (const JobOption& option : job_options()) {
    ASSERT_TRUE(kTexts.contains(option.name)) << option.name;
    JobOptions options;
    EXPECT_EQ(option.text(options), std::nullopt) << option.name << " is unset";
    ASSERT_TRUE(option.set(kTexts.at(option.name), options)) << option.name;
    EXPECT_NE(options, JobOptions()) << option.name;
    JobOptions from_text;
    ASSERT_TRUE(option.set(option.text(options).value(), from_text)) << option.name;
    EXPECT_EQ(from_text, options) << option.name;
    JsonWriter json;
    option.write(json, options);
    JobOptions from_json;
    JsonReader reader(json.text(), "log", 1);
    const auto read = option.read(reader, from_json);
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(from_json, options) << option.name;
  }
}

TEST(JobOptions, OfTheCommandLineAreSetByName) {
  JobOptions options;
  ASSERT_TRUE(set_job_options(kTexts, options));
  EXPECT_EQ(options.priority, -3);
  EXPECT_EQ(options.shuffle_mode, shuffle::Mode::pull);
  EXPECT_EQ(options.max_bad_records->percent, 0.1);
  EXPECT_EQ(texts_of(options), kTexts) << "and the same texts come out";
  EXPECT_TRUE(texts_of({}).empty());
  EXPECT_THAT(set_job_options({{"max-atempts", "3"}}, options).error().to_string(),
              HasSubstr("no option 'max-atempts'; it has name, user, pool,"));
}

TEST(JobOptions, ValuesThatMakeNoSenseAreRefusedAndChangeNothing) {
  const std::vector<std::pair<std::string, std::string>> wrong{{"name", ""},
                                                               {"name", "two\nlines"},
                                                               {"name", std::string(129, 'n')},
                                                               {"priority", "high"},
                                                               {"priority", "1.5"},
                                                               {"weight", "0"},
                                                               {"weight", "2e6"},
                                                               {"weight", "nan"},
                                                               {"deadline", "0s"},
                                                               {"deadline", "tomorrow"},
                                                               {"demand", "gpu"},
                                                               {"hint", "ratio"},
                                                               {"task-timeout", "0s"},
                                                               {"max-attempts", "0"},
                                                               {"max-attempts", "1001"},
                                                               {"max-attempts", "-1"},
                                                               {"max-bad-records", ""},
                                                               {"max-bad-records", "-1"},
                                                               {"max-bad-records", "101%"},
                                                               {"max-bad-records", "%"},
                                                               {"shuffle-mode", "push"},
                                                               {"shuffle-replicas", "3"},
                                                               {"slow-start", "1.5"},
                                                               {"request-id", ""},
                                                               {"request-id", "a\nb"},
                                                               {"request-id", std::string(129, 'x')},
                                                               {"on-disconnect", "go_on"}};
  for (const auto& [name, text] : wrong) {
    JobOptions options;
    const auto set = named(name).set(text, options);
    EXPECT_FALSE(set) << name << " " << text;
    EXPECT_EQ(options, JobOptions()) << name << " " << text;
  }
  JobOptions options;
  EXPECT_EQ(set_job_options({{"max-attempts", "0"}}, options).error().to_string(),
            "max-attempts: '0' is not a number from 1 to 1000");
}

TEST(JobOptions, AreAllInTheDocuments) {
  const std::string api = read_file(WEFT_SOURCE_DIR "/docs/api.md").value();
  const std::string log = read_file(WEFT_SOURCE_DIR "/docs/formats/journal.md").value();
  for (const JobOption& option : job_options()) {
    EXPECT_THAT(api, HasSubstr("`--" + option.name + " ")) << "docs/api.md";
    EXPECT_THAT(log, HasSubstr("`" + option.key + "`?")) << "docs/formats/journal.md";
  }
}

TEST(JobOptions, RepeatedHintsAddUp) {
  JobOptions options;
  const JobOption& hint = named("hint");
  EXPECT_TRUE(hint.repeatable);
  ASSERT_TRUE(hint.set("shuffle_ratio=0.4", options));
  ASSERT_TRUE(hint.set("relative_reduce_cost=2", options));
  EXPECT_EQ(options.hints.size(), 2u);
}

TEST(JobOptions, ZeroOfSlowStartIsNotUnset) {
  JobOptions options;
  ASSERT_TRUE(named("slow-start").set("0", options));
  EXPECT_GT(options.slow_start.value(), 0) << "in messages 0 stands for an option that is unset";
  EXPECT_LT(options.slow_start.value(), 1e-6);
}

TEST(JobOptions, OfLogsOfEarlierReleasesMayHaveWhatIsUnset) {
  JobOptions options;
  JsonReader reader("0", "log", 1);
  EXPECT_TRUE(named("task-timeout").read(reader, options));
  JsonReader wrong("-5", "log", 1);
  EXPECT_FALSE(named("task-timeout").read(wrong, options));
}

TEST(JobOptions, OfASubmissionBecomeHintsAndAPointOfTime) {
  JobOptions options;
  ASSERT_TRUE(set_job_options({{"deadline", "10s"}, {"weight", "3"}, {"hint", "shuffle_ratio=0.4"}}, options));
  const auto submitted = submission(JobId(1), "j", options, std::chrono::seconds(5));
  ASSERT_TRUE(submitted);
  EXPECT_EQ(submitted->deadline, std::chrono::seconds(15));
  EXPECT_EQ(submitted->hints.weight, 3);
  EXPECT_EQ(submitted->hints.shuffle_ratio, 0.4);
  EXPECT_FALSE(submission(JobId(1), "j", {}, {})->deadline);
  options.hints = {{"no_such", "1"}};
  EXPECT_FALSE(submission(JobId(1), "j", options, {}));
}

}  // namespace
}  // namespace weft::master
