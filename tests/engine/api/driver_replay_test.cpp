// Drivers that end in the middle of a job, and others that run the definition again from what is recorded.
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "engine/api/driver.hpp"
#include "engine/api/recorded_part.hpp"
#include "engine/api/replay.hpp"
#include "tests/support/process.hpp"

namespace weft::test {
namespace {

using detail::DriverGraph;
using detail::DriverSettings;

std::vector<std::vector<Buffer>> copy_of(const std::vector<std::vector<Buffer>>& results) {
  std::vector<std::vector<Buffer>> copy;
  for (const auto& target : results) {
    copy.emplace_back();
    for (const Buffer& result : target) copy.back().push_back(Buffer::copy_of(result.view()));
  }
  return copy;
}

/// A job as its master and its executors have it, which outlives its drivers. Steps are what drivers ask and are answered.
struct KeptJob {
  explicit KeptJob(const std::function<void(Flow&)>& define) : executor(std::make_unique<detail::ReplayProgram>(define)) {
    client::RunOptions options;
    options.job_name = "kept";
    options.threads = 2;
    options.quiet = true;
    session = client::open_embedded(options, *executor).value();
  }
  ~KeptJob() { session.reset(); }

  struct Action {
    std::optional<Buffer> part, value;
    std::optional<std::vector<std::vector<Buffer>>> results;
  };
  std::unique_ptr<detail::ReplayProgram> executor;
  std::unique_ptr<client::Session> session;
  std::map<ActionId, Action> actions;
  std::size_t runs = 0;  // of parts of the plan
  int steps = 0, dies_at = INT_MAX;
  bool closed = false;
  std::uint32_t slots = 2;
  std::uint64_t task_memory = std::uint64_t{1} << 30;  // of its executor
};

const client::DriverKey kKey{JobId(3), 12345};

/// Of one driver.
class Driver final : public client::Session {
 public:
  explicit Driver(KeptJob& job) : job_(job) {}
  Result<std::vector<std::vector<Buffer>>> run(plan::PlanPart part) override {
    WEFT_TRY(step());
    KeptJob::Action& action = job_.actions[part.action];
    Buffer encoded = plan::encode(part);
    EXPECT_TRUE(!action.part || as_chars(action.part->view()) == as_chars(encoded.view())) << "not the part that the master has";
    EXPECT_FALSE(action.value) << "the master has forgotten the results of action " << part.action.value();
    action.part = std::move(encoded);
    WEFT_TRY(step());
    if (!action.results) {
      ++job_.runs;
      WEFT_ASSIGN(action.results, job_.session->run(std::move(part)));
    }
    WEFT_TRY(step());
    return copy_of(*action.results);
  }
  Result<void> record(ActionId id, ByteView value) override {
    WEFT_TRY(step());
    KeptJob::Action& action = job_.actions[id];
    EXPECT_FALSE(action.value) << "action " << id.value() << " has its value";
    job_.executor->provide(id, Buffer::copy_of(value));
    action.value = Buffer::copy_of(value);
    return step();
  }
  Result<std::optional<client::RecordedAction>> recorded(ActionId id) override {
    WEFT_TRY(step());
    const auto found = job_.actions.find(id);
    if (found == job_.actions.end()) return std::nullopt;
    client::RecordedAction before;
    if (found->second.value) before.value = Buffer::copy_of(found->second.value->view());
    if (found->second.part) before.part = plan::decode_part(found->second.part->view()).value();
    return before;
  }
  Result<void> close() override {
    WEFT_TRY(step());
    job_.closed = true;
    return step();
  }
  master::JobStatus status() override { return job_.session->status(); }
  std::uint32_t parallelism() override { return job_.slots; }
  client::Executors executors() override { return {1, job_.task_memory}; }
  std::optional<client::DriverKey> driver_key() const override { return kKey; }
  bool job_goes_on() const override { return dead_; }

 private:
  Result<void> step() {
    dead_ = dead_ || job_.steps++ == job_.dies_at;
    return dead_ ? Result<void>(fail(Code::unavailable, "killed")) : Result<void>();
  }

  KeptJob& job_;
  bool dead_ = false;
};

/// One that was started for the job, or else the one that began it, which others may follow.
Result<void> drive(KeptJob& job, const std::function<void(Flow&)>& define, std::uint32_t partitions = 0, bool begins = false) {
  DriverSettings settings;
  settings.partitions = partitions;
  settings.succeeded = begins;
  if (!begins) settings.driver_of = kKey;
  settings.open_session = [&](runtime::JobProgram&) -> Result<std::unique_ptr<client::Session>> {
    return std::make_unique<Driver>(job);
  };
  auto graph = std::make_shared<DriverGraph>(std::move(settings));
  try {
    Flow flow(graph);
    define(flow);
    graph->finish();
    return {};
  } catch (const JobFailure& failure) {
    graph->abandon();
    return fail(failure.error());
  }
}

class DriverReplayTest : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return scratch / name; }
  ScratchDirectory scratch;
};

TEST_F(DriverReplayTest, AJobWhoseDriverDiesAtAnyStepGoesOnWithTheNextOne) {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "word" + std::to_string(i % 50) + "\n";
  std::vector<std::string> words, doubled;
  int round = 0;
  for (int dies_at = 0; dies_at < 1000; ++dies_at) {
    SCOPED_TRACE(testing::Message() << "the driver dies at step " << dies_at);
    const std::string input = at("in" + std::to_string(round)), one = at("one" + std::to_string(round)),
                      two = at("two" + std::to_string(round++));
    write_file(input, text);
    int drawn = 0, values = 0;
    const auto define = [&, input, one, two](Flow& flow) {
      // A value that is another one each time.
      const auto factor = flow.broadcast([&] { return std::uint64_t(1) << ++drawn; });
      const auto lines = flow.read_text(input);
      lines.map([](std::string_view line) { return std::pair(line, std::uint64_t{1}); })
          .reduce_by_key(std::plus<>())
          .map([](const auto& count) { return std::string(count.first) + " " + std::to_string(count.second); })
          .sort_by(std::identity{})
          .write_text(one);
      Dataset<std::uint64_t> numbers = flow.generate(100, [factor](std::uint64_t i) { return i * *factor; });
      while (numbers.reduce(std::uint64_t{0}, std::plus<>()) < 30'000)
        numbers = numbers.map([](std::uint64_t n) { return n * 2; }).repartition(3).cache();
      flow.on_driver([&] { ++values; });
      if (lines.count() != 500) throw std::runtime_error("a line was lost");
      numbers.sort_by(std::identity{}).write_text(two);
    };
    KeptJob job(define);
    job.dies_at = dies_at;
    const auto first = drive(job, define);
    if (first) {
      EXPECT_GE(dies_at, job.steps - 2) << "only the answer to the last request may be missed";
    } else {
      EXPECT_EQ(first.error().message(), "killed");
      EXPECT_FALSE(std::filesystem::exists(two + "/_SUCCESS") && !std::filesystem::exists(one + "/_SUCCESS"));
      // What was read is gone, and the next driver would plan everything for a larger cluster.
      const auto read = [&](const KeptJob::Action& action) {
        if (!action.results || !action.part) return false;
        const plan::PlanPart part = plan::decode_part(action.part->view()).value();
        for (const plan::Stage& stage : part.stages)
          if (!stage.branches[0].splits.empty() && !stage.branches[0].splits[0].empty() &&
              stage.branches[0].splits[0][0].path == input)
            return true;
        return false;
      };
      int reads = 0;
      for (const auto& [id, action] : job.actions) reads += read(action) ? 1 : 0;
      if (reads == 2) std::filesystem::remove(input);
      job.slots = 5;
      job.dies_at = INT_MAX;
      const auto second = drive(job, define);
      ASSERT_TRUE(second) << second.error().to_string();
    }
    EXPECT_TRUE(job.closed || dies_at == job.steps - 1);
    std::size_t parts = 0;
    for (const auto& [id, action] : job.actions) parts += action.part ? 1 : 0;
    EXPECT_EQ(job.runs, parts) << "nothing runs twice";
    const std::vector<std::string> words_now = part_lines(one), doubled_now = part_lines(two);
    if (dies_at == 0) {
      words = words_now;
      doubled = doubled_now;
      ASSERT_EQ(words.size(), 50u);
      EXPECT_EQ(words[0], "word0 10");
      ASSERT_EQ(doubled.size(), 100u);
    }
    EXPECT_EQ(words_now, words);
    EXPECT_EQ(doubled_now.size(), doubled.size());
    EXPECT_TRUE(drawn != 1 || doubled_now == doubled);
    EXPECT_LE(drawn, 2);
    EXPECT_GE(values, 1);
    if (first) break;
  }
  EXPECT_GT(round, 20) << "steps";
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path()))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
}

TEST_F(DriverReplayTest, TheOutputsOfTheDriverThatBeganTheJobAreTakenOverAtAnyStep) {
  bool ended = false;
  int dies_at = 0;
  for (; !ended && dies_at < 100; ++dies_at) {
    SCOPED_TRACE(testing::Message() << "it dies at step " << dies_at);
    const auto define = [path = at("out" + std::to_string(dies_at))](Flow& flow) {
      (void)flow.broadcast([] { return 1; });
      flow.generate(3, [](std::uint64_t i) { return i; }).write_text(path);
    };
    KeptJob job(define);
    job.dies_at = dies_at;
    ended = drive(job, define, 0, true).has_value();
    job.dies_at = INT_MAX;
    if (!ended) {
      const auto second = drive(job, define);
      ASSERT_TRUE(second) << second.error().to_string();
    }
    EXPECT_EQ(part_lines(at("out" + std::to_string(dies_at))).size(), 3u);
    EXPECT_EQ(job.runs, 1u);
  }
  EXPECT_GT(dies_at, 5) << "steps";
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path()))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
}

TEST_F(DriverReplayTest, ADefinitionThatDoesSomethingElseIsRefusedAndNamesWhere) {
  const auto job_of = [](bool filtered, bool named, int actions, int broadcast_at) {
    return [=](Flow& flow) {
      Dataset<std::uint64_t> numbers = flow.generate(10, [](std::uint64_t i) { return i; });
      if (filtered) numbers = numbers.filter([](std::uint64_t) { return true; });
      if (named) numbers = numbers.repartition(2);
      for (int i = 0; i < actions; ++i) {
        if (i == broadcast_at)
          (void)flow.broadcast([] { return 1; });
        else
          (void)numbers.count();
      }
    };
  };
  const auto replayed = [&](const std::function<void(Flow&)>& first, const std::function<void(Flow&)>& second) {
    KeptJob job(first);
    EXPECT_TRUE(drive(job, first));
    job.closed = false;
    const auto again = drive(job, second);
    if (again) return std::string();
    EXPECT_EQ(again.error().code(), Code::plan_mismatch);
    EXPECT_NE(again.error().to_string().find("define() must do the same in every run"), std::string::npos);
    return again.error().to_string();
  };
  EXPECT_EQ(replayed(job_of(false, false, 2, -1), job_of(false, false, 2, -1)), "");
  const std::string operators = replayed(job_of(false, false, 1, -1), job_of(true, false, 1, -1));
  EXPECT_NE(operators.find("has the operator 'filter (driver_replay_test.cpp:"), std::string::npos) << operators;
  EXPECT_NE(operators.find("and had 'count"), std::string::npos) << operators;
  const std::string names = replayed(job_of(false, false, 1, -1), job_of(false, true, 1, -1));
  EXPECT_NE(names.find("stage 0 is 'repartition"), std::string::npos) << names;
  const std::string fewer = replayed(job_of(false, false, 2, -1), job_of(false, false, 1, -1));
  EXPECT_NE(fewer.find("it ends before action 1"), std::string::npos) << fewer;
  EXPECT_NE(replayed(job_of(false, false, 2, -1), job_of(false, false, 2, 1)).find("makes a value where stages were run"),
            std::string::npos);
  EXPECT_NE(replayed(job_of(false, false, 2, 1), job_of(false, false, 2, -1)).find("had a value of the driver's"),
            std::string::npos);
}

TEST_F(DriverReplayTest, StagesThatAreNewHaveAsManyPartitionsAsThoseThatRan) {
  const auto pairs = [](Flow& flow, std::uint64_t factor) {
    return flow.generate(100, [factor](std::uint64_t i) { return std::pair(i % 10, i * factor); }).reduce_by_key(std::plus<>());
  };
  std::uint64_t joined = 0;
  const auto define = [&](Flow& flow) {
    const auto first = pairs(flow, 1);
    (void)first.count();
    joined = first.join(pairs(flow, 2)).count();
  };
  KeptJob job(define);
  job.dies_at = 6;
  EXPECT_FALSE(drive(job, define));
  ASSERT_TRUE(job.actions.at(ActionId(0)).value && !job.actions.contains(ActionId(1))) << "dies between the actions";
  job.slots = 5;
  job.dies_at = INT_MAX;
  const auto second = drive(job, define);
  ASSERT_TRUE(second) << second.error().to_string();
  EXPECT_EQ(joined, 10u);
  std::set<std::uint32_t> partitions;
  for (const auto& [id, action] : job.actions)
    for (const plan::PlanPart part = plan::decode_part(action.part->view()).value(); const plan::Stage& made : part.stages)
      if (made.output == plan::OutputKind::shuffle) partitions.insert(made.partitions);
  EXPECT_EQ(partitions.size(), 1u);
}

TEST_F(DriverReplayTest, AJoinGoesTheWayThatTheFirstDriverHasChosen) {
  for (const std::uint64_t memory : {std::uint64_t{1} << 30, std::uint64_t{1} << 10}) {
    std::uint64_t joined = 0;
    const auto define = [&](Flow& flow) {
      const auto left = flow.generate(1000, [](std::uint64_t i) { return std::pair(i % 100, i); });
      const auto right = flow.generate(50, [](std::uint64_t i) { return std::pair(i, i); });
      joined = left.join(right).map([](std::uint64_t, std::uint64_t l, std::uint64_t) { return l; }).count();
    };
    KeptJob job(define);
    job.task_memory = memory;
    job.dies_at = 3;
    EXPECT_FALSE(drive(job, define, 0, true));
    ASSERT_TRUE(job.actions.at(ActionId(0)).part) << "dies when the part has been submitted";
    const plan::PlanPart part = plan::decode_part(job.actions.at(ActionId(0)).part->view()).value();
    EXPECT_EQ(part.stages.back().branches[0].broadcast.size(), memory > 4096 ? 1u : 0u);
    job.task_memory = std::uint64_t{1} << 30 >> (memory > 4096 ? 20 : 0);
    job.dies_at = INT_MAX;
    const auto second = drive(job, define);
    ASSERT_TRUE(second) << second.error().to_string();
    EXPECT_EQ(joined, 500u);
  }
}

TEST_F(DriverReplayTest, AnOutputOfAnotherPathIsRefused) {
  const auto writes = [this](const std::string& name) {
    return [path = at(name)](Flow& flow) { flow.generate(3, [](std::uint64_t i) { return i; }).write_text(path); };
  };
  KeptJob job(writes("a"));
  job.dies_at = 4;
  EXPECT_FALSE(drive(job, writes("a")));
  job.dies_at = INT_MAX;
  const auto other = drive(job, writes("b"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), Code::plan_mismatch);
  EXPECT_NE(other.error().to_string().find("the output " + at("b") + " is opened"), std::string::npos) << other.error().to_string();
}

TEST_F(DriverReplayTest, AJobWithoutAnythingToDoIsClosedAllTheSame) {
  const auto nothing = [](Flow&) {};
  KeptJob job(nothing);
  EXPECT_TRUE(drive(job, nothing));
  EXPECT_TRUE(job.closed);
}

TEST_F(DriverReplayTest, AnInputThatIsMissingForTheFirstDriverIsAnErrorAtOnce) {
  const auto reads = [this](Flow& flow) { (void)flow.read_text(at("missing")).count(); };
  KeptJob job(reads);
  const auto result = drive(job, reads);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::not_found) << result.error().to_string();
  EXPECT_EQ(job.runs, 0u);
}

plan::Stage stage(std::uint32_t id, const std::string& name, std::vector<std::string> operators, std::uint64_t fingerprint) {
  plan::Stage made;
  made.id = StageId(id);
  made.name = name;
  made.operators = std::move(operators);
  made.fingerprint = fingerprint;
  return made;
}

TEST(RecordedPart, IsTheSameOrNamesTheFirstDifference) {
  plan::PlanPart before;
  before.action = ActionId(2);
  before.stages = {stage(1, "map", {"read", "map"}, 10), stage(3, "count", {"count"}, 11)};
  before.targets = {StageId(3)};
  const auto difference = [&](std::vector<plan::Stage> now, std::vector<StageId> targets = {StageId(3)}) {
    const auto same = detail::check_same_part(now, targets, before);
    return same ? std::string() : same.error().to_string();
  };
  const auto [first, second] = std::pair(before.stages[0], before.stages[1]);
  EXPECT_EQ(difference({first, second}), "");
  EXPECT_NE(difference({second}).find("stage 1 'map' was needed here, and is not"), std::string::npos);
  EXPECT_NE(difference({first, stage(2, "sort", {}, 1), second}).find("stage 2 'sort' is needed here, and was not"),
            std::string::npos);
  EXPECT_NE(difference({first, second, stage(4, "sort", {}, 1)}).find("stage 4 'sort' is needed here"), std::string::npos);
  EXPECT_NE(difference({first}).find("stage 3 'count' was needed"), std::string::npos);
  EXPECT_NE(difference({stage(1, "map", {"read"}, 10), second}).find("the operator nothing, and had 'map'"), std::string::npos);
  EXPECT_NE(difference({stage(1, "map", {"read", "map"}, 12), second}).find("but other types"), std::string::npos);
  EXPECT_NE(difference({first, second}, {StageId(1)}).find("action 2 has the results of other stages"), std::string::npos);
}

}  // namespace
}  // namespace weft::test
