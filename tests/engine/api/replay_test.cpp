// A definition run twice, as by a driver and by an executor: the tasks run with the replay's code.
#include "engine/api/replay.hpp"

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "engine/api/driver.hpp"
#include "engine/client/session.hpp"
#include "runtime/operators/fault.hpp"
#include "tests/support/process.hpp"

namespace weft::test {
namespace {

using detail::DriverGraph;
using detail::DriverSettings;
using detail::ReplayProgram;

/// An embedded session whose tasks come from the replay, which gets the recorded values as an executor does.
class ReplayingSession final : public client::Session {
 public:
  ReplayingSession(std::unique_ptr<client::Session> inner, ReplayProgram& replay) : inner_(std::move(inner)), replay_(replay) {}
  Result<std::vector<std::vector<Buffer>>> run(plan::PlanPart part) override { return inner_->run(std::move(part)); }
  Result<void> record(ActionId action, ByteView value) override {
    replay_.provide(action, Buffer::copy_of(value));
    return {};
  }
  Result<void> close() override { return inner_->close(); }
  master::JobStatus status() override { return inner_->status(); }
  std::uint32_t parallelism() override { return inner_->parallelism(); }
  client::Executors executors() override { return inner_->executors(); }

 private:
  std::unique_ptr<client::Session> inner_;
  ReplayProgram& replay_;
};

void run_replayed(const std::function<void(Flow&)>& on_driver, const std::function<void(Flow&)>& on_executor) {
  ReplayProgram replay(on_executor);
  DriverSettings settings;
  settings.open_session = [&](runtime::JobProgram&) -> Result<std::unique_ptr<client::Session>> {
    client::RunOptions options;
    options.job_name = "replayed";
    options.threads = 2;
    options.quiet = true;
    WEFT_ASSIGN(auto inner, client::open_embedded(options, replay));
    return std::make_unique<ReplayingSession>(std::move(inner), replay);
  };
  auto graph = std::make_shared<DriverGraph>(settings);
  Flow flow(graph);
  on_driver(flow);
  graph->finish();
}

TEST(Replay, RunsTheTasksOfAnIterativeJob) {
  const ScratchDirectory scratch;
  const std::string output = scratch / "out";
  int on_driver = 0;
  const auto define = [&](Flow& flow) {
    const auto offset = flow.broadcast([] { return std::uint64_t{5}; });
    Dataset<std::uint64_t> numbers = flow.generate(100, [offset](std::uint64_t i) { return i + *offset; });
    // As many rounds as the data asks for.
    while (numbers.reduce(std::uint64_t{0}, std::plus<>()) < 20'000) {
      numbers = numbers.map([](std::uint64_t n) { return n * 2; }).repartition(3).cache();
    }
    flow.on_driver([&] { ++on_driver; });
    numbers.sort_by(std::identity{}).write_text(output);
  };
  run_replayed(define, define);
  EXPECT_EQ(on_driver, 1);
  std::vector<std::string> wanted;
  for (std::uint64_t i = 5; i < 105; ++i) wanted.push_back(std::to_string(i * 4));  // the sum of 5450 doubles twice
  EXPECT_EQ(part_lines(output), wanted);
}

TEST(Replay, RefusesTasksOfAnotherDefinition) {
  const auto driver = [](Flow& flow) { (void)flow.generate(10, [](std::uint64_t i) { return i; }).count(); };
  const auto other = [](Flow& flow) {
    (void)flow.generate(10, [](std::uint64_t i) { return i; }).filter([](std::uint64_t) { return true; }).count();
  };
  try {
    run_replayed(driver, other);
    FAIL() << "the plan mismatch went unnoticed";
  } catch (const JobFailure& failure) {
    EXPECT_EQ(failure.error().code(), Code::plan_mismatch) << failure.what();
  }
}

TEST(Replay, SaysWhenTheDefinitionEndsWithoutTheStage) {
  ReplayProgram replay([](Flow&) { throw std::runtime_error("no such luck"); });
  const auto stage = replay.stage(StageId(0), 1);
  ASSERT_FALSE(stage);
  EXPECT_EQ(stage.error().code(), Code::plan_mismatch);
  EXPECT_NE(stage.error().to_string().find("no such luck"), std::string::npos) << stage.error().to_string();
}

TEST(Replay, SaysWhyTheDefinitionEndsWithoutTheStage) {
  const auto why = [](const std::function<void()>& wrong) {
    try {
      run_replayed([](Flow& flow) { flow.generate(10, std::identity{}).count(); },
                   [&](Flow& flow) {
                     wrong();
                     flow.generate(10, std::identity{}).count();
                   });
    } catch (const JobFailure& failure) {
      return failure.error().to_string();
    }
    return std::string();
  };
  EXPECT_NE(why([] {
              throw runtime::TaskError{Error(Code::not_found, "there is no Arrow here")};
            }).find("has no stage 0 (it ends with the error 'there is no Arrow here')"),
            std::string::npos);
  EXPECT_NE(why([] { throw std::runtime_error("no luck"); }).find("(it ends with the error 'no luck')"), std::string::npos);
}

TEST(Replay, DoesNotWaitForAStageBehindAValueThatIsNotKnown) {
  ReplayProgram replay([](Flow& flow) {
    (void)flow.generate(10, [](std::uint64_t i) { return i; }).count();
    (void)flow.generate(20, [](std::uint64_t i) { return i; }).count();
  });
  const auto stage = replay.stage(StageId(1), 1);
  ASSERT_FALSE(stage);
  EXPECT_EQ(stage.error().code(), Code::plan_mismatch);
}

}  // namespace
}  // namespace weft::test
