#include "engine/master/plan/plan.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/crc32c.hpp"
#include "base/random.hpp"

namespace weft::plan {
namespace {

Stage source(std::uint32_t id, std::uint32_t tasks, std::uint32_t partitions, std::string name = "") {
  Stage stage;
  stage.id = StageId(id);
  stage.name = name.empty() ? fmt::format("source (job.cpp:{})", id) : std::move(name);
  stage.operators = {"read_text", "map"};
  stage.branches.push_back({BranchKind::splits, tasks, {}, {}, {}});
  stage.partitions = partitions;
  stage.fingerprint = 0xfeed0000u + id;
  return stage;
}

Stage reader(std::uint32_t id, std::vector<std::uint32_t> inputs, std::uint32_t tasks, std::uint32_t partitions, std::string name) {
  Stage stage = source(id, tasks, partitions, std::move(name));
  stage.branches[0].kind = BranchKind::shuffles;
  for (std::uint32_t input : inputs) stage.branches[0].partitioned.emplace_back(input);
  return stage;
}

Stage target(Stage stage) {
  stage.output = OutputKind::result;
  stage.partitions = 0;
  return stage;
}

PlanPart part(std::vector<Stage> stages) {
  PlanPart made;
  for (const auto& stage : stages) {
    if (stage.output == OutputKind::result) made.targets.push_back(stage.id);
  }
  made.stages = std::move(stages);
  return made;
}

TEST(PlanValidation, AcceptsADiamondWithAUnionAndABroadcast) {
  Stage join = reader(3, {1, 2}, 4, 2, "join (job.cpp:9)");
  join.branches[0].broadcast.emplace_back(0);
  join.branches.push_back({BranchKind::splits, 3, {}, {}, {}});
  auto made = part({source(0, 3, 1), source(1, 3, 4), source(2, 5, 4), join, target(reader(4, {3}, 2, 0, "collect"))});
  made.released = {ShuffleId(0)};
  auto valid = validate(made, {});
  EXPECT_TRUE(valid) << valid.error().to_string();
}

TEST(PlanValidation, AcceptsInputsFromEarlierParts) {
  const Stage known = source(0, 3, 4);
  EXPECT_TRUE(validate(part({target(reader(1, {0}, 4, 0, "count"))}), {&known}));
  EXPECT_TRUE(validate(part({}), {&known}));
}

struct Refused {
  std::string name;
  PlanPart part;
  std::vector<std::string> mentions;
};

std::vector<Refused> refused_plans() {
  std::vector<Refused> cases;
  cases.push_back({"unknown input", part({target(reader(1, {7}, 2, 0, "count (job.cpp:3)"))}), {"count (job.cpp:3)", "shuffle 7"}});
  cases.push_back({"partition mismatch",
                   part({source(0, 1, 8, "group_by_key (a.cpp:1)"), target(reader(1, {0}, 4, 0, "join (a.cpp:2)"))}),
                   {"join (a.cpp:2)", "group_by_key (a.cpp:1)", "4 tasks", "8 partitions"}});
  cases.push_back({"cycle",
                   part({reader(0, {1}, 2, 2, "first"), reader(1, {0}, 2, 2, "second")}),
                   {"first", "second", "not defined before it"}});
  cases.push_back({"own input", part({reader(0, {0}, 2, 2, "selfish")}), {"selfish", "not defined before it"}});
  cases.push_back(
      {"input defined later", part({reader(0, {1}, 2, 2, "early"), source(1, 1, 2)}), {"early", "not defined before it"}});
  cases.push_back({"no input",
                   part({[] {
                     Stage stage = reader(0, {}, 2, 2, "orphan");
                     return stage;
                   }()}),
                   {"orphan", "no input"}});
  cases.push_back({"no branch",
                   part({[] {
                     Stage stage = source(0, 1, 1, "hollow");
                     stage.branches.clear();
                     return stage;
                   }()}),
                   {"hollow", "no input"}});
  cases.push_back({"result read as shuffle",
                   part({target(source(0, 2, 0, "collect (x.cpp:1)")), target(reader(1, {0}, 2, 0, "map (x.cpp:2)"))}),
                   {"map (x.cpp:2)", "collect (x.cpp:1)", "result"}});
  cases.push_back({"repeated id", part({source(0, 1, 1, "one"), source(0, 1, 1, "other")}), {"one", "other"}});
  cases.push_back({"no partitions", part({source(0, 1, 0, "group")}), {"group", "0 partitions"}});
  cases.push_back({"split count",
                   part({[] {
                     Stage stage = source(0, 3, 1, "read_text");
                     stage.branches[0].splits.resize(2);
                     return stage;
                   }()}),
                   {"read_text", "2 input splits", "3 tasks"}});
  cases.push_back({"wide broadcast",
                   part({source(0, 1, 4, "wide"),
                         [] {
                           Stage stage = source(1, 1, 1, "lookup");
                           stage.branches[0].broadcast.emplace_back(0);
                           return stage;
                         }()}),
                   {"lookup", "wide", "broadcast"}});
  cases.push_back({"too many tasks",
                   part({[] {
                     Stage stage = source(0, 0xffffffffu, 1, "huge");
                     stage.branches.push_back(stage.branches[0]);
                     return stage;
                   }()}),
                   {"huge", "tasks"}});
  cases.push_back({"unasked result",
                   [] {
                     PlanPart made = part({target(source(0, 1, 0, "collect"))});
                     made.targets.clear();
                     return made;
                   }(),
                   {"collect"}});
  cases.push_back({"unknown target",
                   [] {
                     PlanPart made;
                     made.targets.emplace_back(5);
                     return made;
                   }(),
                   {"stage 5"}});
  cases.push_back({"shuffle as target",
                   [] {
                     PlanPart made = part({source(0, 1, 1, "shuffling")});
                     made.targets.emplace_back(0);
                     return made;
                   }(),
                   {"shuffling", "no result"}});
  cases.push_back({"unknown release",
                   [] {
                     PlanPart made;
                     made.released.emplace_back(5);
                     return made;
                   }(),
                   {"shuffle 5"}});
  return cases;
}

TEST(PlanValidation, RefusesBrokenPlansNamingTheOperators) {
  for (const auto& refused : refused_plans()) {
    auto valid = validate(refused.part, {});
    ASSERT_FALSE(valid) << refused.name;
    EXPECT_EQ(valid.error().code(), Code::invalid_argument) << refused.name;
    for (const auto& mention : refused.mentions) {
      EXPECT_NE(valid.error().message().find(mention), std::string::npos) << refused.name << ": " << valid.error().message();
    }
  }
}

std::vector<Refused> oversize_plans() {
  std::vector<Refused> cases;
  const auto one = [&cases](std::string name, Stage stage, std::vector<std::string> mentions) {
    cases.push_back({std::move(name), part({source(0, 1, 2), std::move(stage)}), std::move(mentions)});
  };
  Stage twice = reader(1, {0, 0}, 2, 1, "join (a.cpp:2)");
  one("an input twice", twice, {"join (a.cpp:2)", "same shuffle twice"});
  twice.branches[0].partitioned.pop_back();
  twice.branches[0].splittable = {0, 0};
  one("a splittable input twice", twice, {"join (a.cpp:2)", "same input twice"});
  one("many inputs", reader(1, std::vector<std::uint32_t>(1025, 0), 2, 1, "wide"), {"wide", "1025 shuffles"});
  one("a long name", source(1, 1, 1, std::string((16u << 10) + 1, 'x')), {"stage 1", "16.0 KiB"});
  Stage wordy = source(1, 1, 1);
  wordy.operators.back().assign((16u << 10) + 1, 'x');
  one("a long operator", wordy, {"stage 1", "name"});
  Stage varied = source(1, 1, 1);
  varied.variants = {std::string((16u << 10) + 1, 'x')};
  one("a long variant", varied, {"stage 1", "name"});
  Stage files = source(1, 1, 1, "read_text");
  files.branches[0].splits = {{{std::string(17u << 20, 'x'), 0, 1, {std::string(15u << 20, 'h')}}}};
  one("many bytes of splits", files, {"read_text", "1 input files", "32.0 MiB"});

  std::vector<Stage> stages;
  for (std::uint32_t id = 0; id < 2; ++id) stages.push_back(source(id, 1u << 23, 1));
  stages.push_back(source(2, 1, 1));
  cases.push_back({"many tasks of a job", part(stages), {"16777217 tasks so far"}});
  stages.clear();
  for (std::uint32_t id = 0; id <= 1u << 16; ++id) stages.push_back(source(id, 1, 1));
  cases.push_back({"many stages", part(std::move(stages)), {"65537 stages so far"}});
  return cases;
}

TEST(PlanValidation, RefusesWhatTheMasterCouldNotHold) {
  for (const auto& refused : oversize_plans()) {
    auto valid = validate(refused.part, {});
    ASSERT_FALSE(valid) << refused.name;
    EXPECT_EQ(valid.error().code(), Code::invalid_argument) << refused.name;
    for (const auto& mention : refused.mentions) EXPECT_NE(valid.error().message().find(mention), std::string::npos) << mention;
    EXPECT_LT(valid.error().message().size(), 1000u) << refused.name;
  }
}

TEST(PlanValidation, CountsTheTasksOfEarlierParts) {
  const Stage known = source(0, 1u << 23, 1);
  EXPECT_TRUE(validate(part({source(1, 1u << 23, 1)}), {&known}));
  EXPECT_FALSE(validate(part({source(1, (1u << 23) + 1, 1)}), {&known}));
}

/// A reader's inputs are looked up, not followed: this takes milliseconds.
TEST(PlanValidation, RefusesALongCycleAtOnce) {
  constexpr std::uint32_t kStages = 20000;
  std::vector<Stage> stages;
  for (std::uint32_t id = 0; id < kStages; ++id) stages.push_back(reader(id, {(id + kStages - 1) % kStages}, 1, 1, "turn"));
  const auto valid = validate(part(std::move(stages)), {});
  ASSERT_FALSE(valid);
  EXPECT_LT(valid.error().message().size(), 1000u);
}

TEST(TaskSpecs, NumberTasksBranchAfterBranch) {
  Stage stage = source(0, 2, 5);
  stage.branches[0].splits = {{{"a", 0, 1, {}}}, {{"b", 0, 1, {}}}};
  stage.branches.push_back({BranchKind::splits, 0, {}, {}, {}});
  stage.branches.push_back({BranchKind::shuffles, 3, {}, {ShuffleId(9)}, {}});
  EXPECT_EQ(stage.task_count(), 5u);
  EXPECT_EQ(task_spec(stage, 1).splits[0].path, "b");
  const TaskSpec spec = task_spec(stage, 3);
  EXPECT_EQ(spec.branch, 2u);
  EXPECT_EQ(spec.partition, 1u);
  EXPECT_EQ(spec.output_partitions, 5u);
  EXPECT_TRUE(spec.splits.empty());
}

TEST(Explain, ShowsStagesAndEdges) {
  Stage group = reader(1, {0}, 4, 0, "count \"quoted\"");
  group.branches[0].broadcast.emplace_back(0);
  const Stage first = source(0, 3, 4), last = target(group);
  const std::string text = explain_text({&first, &last});
  EXPECT_NE(text.find("stage 0: source (job.cpp:0) (3 tasks)"), std::string::npos) << text;
  EXPECT_NE(text.find("read_text | map"), std::string::npos);
  EXPECT_NE(text.find("shuffle 0 (4 partitions)"), std::string::npos);
  const std::string dot = explain_dot({&first, &last});
  EXPECT_NE(dot.find("s0 -> s1;"), std::string::npos) << dot;
  EXPECT_NE(dot.find("style=dashed"), std::string::npos);
  EXPECT_NE(dot.find("\\\"quoted\\\""), std::string::npos);
}

PlanPart rich_part() {
  Stage stage = source(3, 2, 7);
  stage.branches[0].splits = {{{"a/b", 1, 2, {"h1", "h2"}}, {"c", 3, 4, {}}}, {{"ü\xff", 5, 6, {}}}};
  stage.branches[0].splits[0][1].version = {7, -8, 9, UINT64_MAX, "\"tag\"", true};
  stage.branches[0].broadcast = {ShuffleId(1)};
  stage.demand = {2, 3e9, 4, 5, 6, 7, 8, 9};
  stage.estimated_task_duration = std::chrono::seconds(3);
  stage.estimated_output_ratio = 0.25;
  stage.variants = {"accelerator", "simd=wide"};
  PlanPart made = part({stage, target(reader(4, {3}, 7, 0, "collect"))});
  made.stages[1].branches[0].splittable = {0};
  made.stages[1].branches[0].mergeable = true;
  made.action = ActionId(11);
  made.released = {ShuffleId(3)};
  return made;
}

std::string bytes_of(const Buffer& buffer) { return std::string(as_chars(buffer.view())); }

TEST(PlanCodec, RoundTripsEveryField) {
  const PlanPart made = rich_part();
  auto read = decode_part(encode(made).view());
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(read->action, made.action);
  EXPECT_EQ(read->targets, made.targets);
  EXPECT_EQ(read->released, made.released);
  ASSERT_EQ(read->stages.size(), 2u);
  const Stage &a = made.stages[0], &b = read->stages[0];
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.operators, b.operators);
  EXPECT_EQ(a.partitions, b.partitions);
  EXPECT_EQ(a.fingerprint, b.fingerprint);
  EXPECT_EQ(a.demand, b.demand);
  EXPECT_EQ(a.estimated_task_duration, b.estimated_task_duration);
  EXPECT_EQ(a.estimated_output_ratio, b.estimated_output_ratio);
  EXPECT_EQ(a.variants, b.variants);
  ASSERT_EQ(b.branches.size(), 1u);
  EXPECT_EQ(b.branches[0].broadcast, a.branches[0].broadcast);
  ASSERT_EQ(b.branches[0].splits.size(), 2u);
  const storage::FileVersion& version = b.branches[0].splits[0][1].version;
  EXPECT_EQ(version.bytes, 7u);
  EXPECT_EQ(version.modified_ns, -8);
  EXPECT_EQ(version.id, 9u);
  EXPECT_EQ(version.machine, UINT64_MAX);
  EXPECT_EQ(version.tag, "\"tag\"");
  EXPECT_TRUE(version.may_grow);
  EXPECT_FALSE(b.branches[0].splits[0][0].version.known());
  EXPECT_EQ(b.branches[0].splits[0][0].hosts, (std::vector<std::string>{"h1", "h2"}));
  EXPECT_EQ(b.branches[0].splits[0][1].length, 4u);
  EXPECT_EQ(b.branches[0].splits[1][0].path, "ü\xff");
  EXPECT_EQ(read->stages[1].output, OutputKind::result);
  EXPECT_EQ(read->stages[1].branches[0].partitioned, made.stages[1].branches[0].partitioned);
  EXPECT_EQ(read->stages[1].branches[0].splittable, made.stages[1].branches[0].splittable);
  EXPECT_TRUE(read->stages[1].branches[0].mergeable);
  EXPECT_EQ(bytes_of(encode(*read)), bytes_of(encode(made)));
}

/// Length and CRC32C of a part with every text and list filled. A new field at the end of a schema makes it longer; whatever else
/// changes it breaks compatibility.
TEST(PlanCodec, BytesAreThoseOfEarlierReleases) {
  Stage stage;
  stage.id = StageId(1), stage.name = "reduce", stage.operators = {"read", "", "map"}, stage.output = OutputKind::result;
  stage.partitions = 2, stage.fingerprint = 3, stage.estimated_task_duration = std::chrono::nanoseconds(4);
  stage.variants = {"gpu"};
  stage.demand = {.cpu = 1,
                  .memory = 2,
                  .disk_read = 3,
                  .network_in = 5,
                  .disk_write = 4,
                  .network_out = 6,
                  .map_slots = 7,
                  .reduce_slots = 8,
                  .accelerator = 9};
  Branch& branch = stage.branches.emplace_back();
  branch.kind = BranchKind::shuffles, branch.tasks = 9, branch.mergeable = true;
  branch.splits = {{{"a/b", 1, 2, {"h1", "h2"}}, {"c", 3, 4, {"h3"}}}, {{"d", 5, 6, {""}}}};
  branch.splits[1][0].version = {1, 2, 3, 4, "tag", true};
  branch.partitioned = {ShuffleId(1), ShuffleId(2)}, branch.broadcast = {ShuffleId(3)}, branch.splittable = {4, 5};
  PlanPart made;
  made.action = ActionId(6), made.stages = {stage, stage}, made.targets = {StageId(7)}, made.released = {ShuffleId(8)};
  const Buffer bytes = encode(made);
  EXPECT_EQ(std::to_string(bytes.size()) + " " + std::to_string(crc32c(bytes.view())), "1512 1152871993");
}

TEST(PlanCodec, SurvivesAnyDamage) {
  const std::string good = bytes_of(encode(rich_part()));
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 20000; ++seed) {
    Random random(seed);
    std::string bytes = good;
    for (std::uint64_t i = 0, count = 1 + random.below(4); i < count; ++i) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    }
    if (random.chance(0.2)) bytes.resize(random.below(bytes.size() + 1));
    auto read = decode_part(as_bytes(bytes));
    if (!read) {
      ++refused;
      ASSERT_EQ(read.error().code(), Code::corrupt) << "seed " << seed;
    } else {
      (void)validate(*read, {});
    }
  }
  EXPECT_GT(refused, 0u);
  EXPECT_FALSE(decode_part({}));
}

}  // namespace
}  // namespace weft::plan
