// Records of the store and of exports: what is written is read again, what cannot have been written is refused.
#include "engine/master/profiles/record.hpp"

#include <gmock/gmock.h>

#include "base/random.hpp"
#include "tests/engine/master/profiles/samples.hpp"

namespace weft::profiles {
namespace {

using namespace test;
using testing::HasSubstr;

StageHistory some_stage(std::uint64_t seed, int tasks = 60) {
  Random random(seed);
  StageHistory stage;
  stage.is = {"reduce_by_key \"x\"\n", random.below(UINT64_MAX), true};
  stage.learned = 1764000000;
  for (int i = 0; i < tasks; ++i) {
    TaskSample one = task(0.1 + random.uniform(), 1e6 * (1 + random.uniform()), 1e5 * random.uniform());
    one.kind = i % 2 == 0 ? "" : "accelerator=gpu";
    one.placed = true;
    one.local = i % 3 == 0;
    one.cpu = seconds_of(random.uniform());
    stage.add(JobId(1 + static_cast<std::uint64_t>(i) / 20), one, seconds_of(random.uniform()));
  }
  return stage;
}

TEST(ProfileRecords, AreReadAsTheyWereWritten) {
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const StageHistory stage = some_stage(seed);
    const std::string text = to_json({"a b\xff", StageId(3)}, stage);
    const auto read = parse_record(text, "test");
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(read->first.stage, StageId(3));
    EXPECT_EQ(read->second.is.fingerprint, stage.is.fingerprint);
    EXPECT_EQ(to_json(read->first, read->second), to_json({read->first.program, StageId(3)}, stage));
    const auto before = stage.profile(2e6), after = read->second.profile(2e6);
    EXPECT_NEAR(static_cast<double>(after->duration().count()), static_cast<double>(before->duration().count()),
                1e-5 * static_cast<double>(before->duration().count()));
    EXPECT_NEAR(after->remote, before->remote, 1e-6);
    EXPECT_NEAR(after->kinds.at("accelerator=gpu"), before->kinds.at("accelerator=gpu"), 1e-6);
    EXPECT_EQ(read->second.quantile(0.9), stage.quantile(0.9));
  }
}

TEST(ProfileRecords, KnowWhatTasksTakeAlone) {
  StageHistory stage;
  for (const double bytes : {100.0, 1e6}) {
    TaskSample one = task(8, bytes, 50);
    one.cpu = seconds_of(1);
    one.alone = seconds_of(2);
    one.disk_written = 600;
    stage.add(JobId(1), one, {});
  }
  std::string text = to_json({"words", StageId(0)}, stage);
  const auto use = [&](double bytes) { return parse_record(text, "test").value().second.profile(bytes)->use; };
  EXPECT_NEAR(use(1e6).cpu, 0.5, 1e-9);
  EXPECT_NEAR(use(1e6).disk_write, 300, 1e-9);
  const auto at = text.find(",\"alone\"");
  ASSERT_NE(at, std::string::npos) << text;
  const std::string wrong = text.substr(0, at) + ",\"alone\":[1,2,3]}";
  EXPECT_THAT(parse_record(wrong, "test").error().to_string(), HasSubstr("this is not what the tasks of its classes take alone"));
  text = text.substr(0, at) + "}";  // of an earlier release
  EXPECT_NEAR(use(1e6).cpu, 1 / 8.0, 1e-9);
  EXPECT_NEAR(use(1e6).disk_write, 50 / 8.0, 1e-9);
}

TEST(ProfileRecords, OfAnyBytesAreReadOrRefused) {
  const std::string whole = to_json({"words", StageId(3)}, some_stage(4));
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Random random(seed);
    std::string text = whole;
    for (int i = 0; i < 3; ++i) text[random.below(text.size())] = static_cast<char>(32 + random.below(96));
    const auto read = parse_record(text, "test");
    if (!read) continue;
    for (const double bytes : {0.0, 1.0, 1e12}) {
      const auto profile = read->second.profile(bytes);
      EXPECT_TRUE(!profile || schedulers::valid(*profile)) << text;
    }
  }
  for (const char* text : {"", "{}", "[]", R"({"program":"a"})", R"({"program":"a","runs":1,"classes":[]})",
                           R"({"program":"a","runs":1,"classes":[[1,2]]})", R"({"program":"a","runs":1,"classes":[[3,1,1e999]]})"})
    EXPECT_FALSE(parse_record(text, "test")) << text;
}

TEST(ProfileRecords, ThatCannotHaveBeenWrittenAreRefusedWithTheReason) {
  const std::string whole = to_json({"words", StageId(3)}, some_stage(4));
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    const auto at = text.find(from);
    if (at == std::string::npos) return "no " + from + " in " + whole;
    text.replace(at, text.find_first_of(",]", at + from.size()) - at, from + to);
    const auto read = parse_record(text, "test");
    return read ? "taken" : read.error().to_string();
  };
  EXPECT_THAT(refused("\"error\":", "-1"), HasSubstr("an amount must be finite and not negative"));
  EXPECT_THAT(refused("\"predicted\":", "1e999"), HasSubstr("test"));
  EXPECT_THAT(refused("\"fingerprint\":", "\"xyz\""), HasSubstr("this is no fingerprint"));
  const std::string weightless = R"({"program":"a","stage":0,"name":"n","runs":1,"classes":[[10)" + [] {
    std::string zeros;
    for (int i = 0; i < 13; ++i) zeros += ",0";
    return zeros;
  }() + "]]}";
  EXPECT_THAT(parse_record(weightless, "test").error().to_string(), HasSubstr("a class without tasks"));
}

TEST(ProfileRecords, TakeLessThanTwoKilobytesAStage) {
  const std::string usual = to_json({"words", StageId(3)}, some_stage(4));
  EXPECT_LE(usual.size(), 1000u) << usual;
  StageHistory largest;
  Random random(3);
  for (int i = 0; i < 4000; ++i) {
    TaskSample one = task(0.1 + 3 * random.uniform(), std::exp2(20 + 8 * random.uniform()), 1e5 * random.uniform());
    one.kind = "kind=" + std::to_string(random.below(20));
    largest.add(JobId(1), one, seconds_of(random.uniform()));
  }
  EXPECT_LE(to_json({"words", StageId(3)}, largest).size(), 3000u) << "eight sizes on eight kinds of nodes";
}

TEST(ProfileExports, AreWholeOrRefused) {
  const std::string line = to_json({"words", StageId(3)}, some_stage(4));
  const auto read = parse_export(export_header() + "\n" + line + "\n" + line + "\n", "file");
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(read->size(), 2u);
  EXPECT_THAT(parse_export("", "file").error().to_string(), HasSubstr("file does not begin with"));
  EXPECT_EQ(parse_export("{\"weft_profiles\":2}\n", "file").error().code(), Code::version_mismatch);
  EXPECT_THAT(parse_export(export_header() + "\n" + line + "\n{\n", "file").error().to_string(), HasSubstr("file:3"));
}

}  // namespace
}  // namespace weft::profiles
