// The embedded engine with hand-made stages: results, shuffles, failures, kills.
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>

#include "base/result.hpp"
#include "engine/client/session.hpp"

namespace weft::client {
namespace {

using runtime::TaskContext;

class Body final : public runtime::StageBody {
 public:
  explicit Body(std::function<Buffer(TaskContext&)> run) : run_(std::move(run)) {}
  Buffer run(TaskContext& context) const override { return run_(context); }

 private:
  std::function<Buffer(TaskContext&)> run_;
};

class Program final : public runtime::JobProgram {
 public:
  void add(StageId id, std::function<Buffer(TaskContext&)> run) { bodies_.emplace(id, Body(std::move(run))); }
  Result<const runtime::StageBody*> stage(StageId id, std::uint64_t) override {
    const auto found = bodies_.find(id);
    if (found == bodies_.end()) return fail(Code::plan_mismatch, "no such stage");
    return &found->second;
  }
  void provide(ActionId, Buffer) override {}

 private:
  std::map<StageId, Body> bodies_;
};

Buffer number(std::uint64_t value) { return Buffer::copy_of({reinterpret_cast<const std::byte*>(&value), sizeof value}); }
std::uint64_t number(const Buffer& buffer) {
  std::uint64_t value = 0;
  EXPECT_EQ(buffer.size(), sizeof value);
  std::memcpy(&value, buffer.data(), sizeof value);
  return value;
}

/// Stage 0: `maps` tasks; task i writes the number i * 100 + p to each of two partitions p. Stage 1: sums its partition.
plan::PlanPart map_and_sum(std::uint32_t maps) {
  plan::Stage map;
  map.id = StageId{0};
  map.name = "map";
  map.branches.resize(1);
  map.branches[0].tasks = maps;
  map.output = plan::OutputKind::shuffle;
  map.partitions = 2;
  plan::Stage sum;
  sum.id = StageId{1};
  sum.name = "sum";
  sum.branches.resize(1);
  sum.branches[0].kind = plan::BranchKind::shuffles;
  sum.branches[0].tasks = 2;
  sum.branches[0].partitioned = {ShuffleId{0}};
  sum.output = plan::OutputKind::result;
  plan::PlanPart part;
  part.stages = {map, sum};
  part.targets = {sum.id};
  return part;
}

Buffer write_numbers(TaskContext& context) {
  auto writer = runtime::value_or_throw(context.shuffle->create_segment(context.output_partitions));
  for (std::uint32_t p = 0; p < context.output_partitions; ++p)
    runtime::value_or_throw(writer->append(p, number(context.partition * 100 + p).view(), 1));
  runtime::value_or_throw(context.shuffle->commit(runtime::value_or_throw(writer->seal())));
  ++context.counters["written"];
  return {};
}

Buffer sum_numbers(TaskContext& context) {
  std::uint64_t sum = 0;
  runtime::value_or_throw(context.shuffle->read(ShuffleId{0}, {context.partition, context.partition + 1}, {},
                                                [&](const shuffle::Block& block) -> Result<void> {
                                                  sum += number(Buffer::copy_of(block.bytes));
                                                  return {};
                                                }));
  return number(sum);
}

RunOptions quiet(std::uint32_t threads = 3) {
  RunOptions options;
  options.job_name = "test";
  options.threads = threads;
  options.memory_bytes = 64U << 20;
  options.quiet = true;
  return options;
}

TEST(Embedded, ShufflesBetweenStagesAndReturnsResultsInTaskOrder) {
  Program program;
  program.add(StageId{0}, write_numbers);
  program.add(StageId{1}, sum_numbers);
  auto session = open_embedded(quiet(), program);
  ASSERT_TRUE(session) << session.error().to_string();
  auto results = (*session)->run(map_and_sum(50));
  ASSERT_TRUE(results) << results.error().to_string();
  ASSERT_EQ(results->size(), 1U);
  ASSERT_EQ((*results)[0].size(), 2U);
  EXPECT_EQ(number((*results)[0][0]), 122'500U);
  EXPECT_EQ(number((*results)[0][1]), 122'550U);
  EXPECT_EQ((*session)->status().counters.at("written"), 50);
  EXPECT_TRUE((*session)->close());
}

TEST(Embedded, UnderShuffleWatcherTasksGoInTheOrderOfFair) {
  std::vector<std::vector<std::uint32_t>> orders;
  for (const char* scheduler : {"fair", "shufflewatcher", "shufflewatcher(users=delay(inner=fair), shape=traffic)"}) {
    std::vector<std::uint32_t>& order = orders.emplace_back();
    Program program;
    program.add(StageId{0}, [&](TaskContext& context) {
      order.push_back(context.partition);
      return write_numbers(context);
    });
    program.add(StageId{1}, [&](TaskContext& context) {
      order.push_back(1000 + context.partition);
      return sum_numbers(context);
    });
    RunOptions options = quiet(1);
    options.scheduler = scheduler;
    auto session = open_embedded(options, program);
    ASSERT_TRUE(session) << session.error().to_string();
    ASSERT_TRUE((*session)->run(map_and_sum(20)));
    EXPECT_TRUE((*session)->close());
    EXPECT_EQ(order.size(), 22u);
  }
  EXPECT_EQ(orders[1], orders[0]);
  EXPECT_EQ(orders[2], orders[0]);
}

TEST(Embedded, NoMapsAtAllStillGiveResults) {
  Program program;
  program.add(StageId{0}, write_numbers);
  program.add(StageId{1}, sum_numbers);
  auto session = open_embedded(quiet(), program);
  ASSERT_TRUE(session);
  auto results = (*session)->run(map_and_sum(0));
  ASSERT_TRUE(results) << results.error().to_string();
  EXPECT_EQ(number((*results)[0][0]), 0U);
}

TEST(Embedded, WithSlowStartReadersReadWhatThereIsAndWaitForTheRest) {
  std::atomic<bool> reading{false};
  Program program;
  program.add(StageId{0}, [&](TaskContext& context) {
    while (context.partition == 49 && !reading) context.check_stop(), std::this_thread::yield();
    return write_numbers(context);
  });
  program.add(StageId{1}, [&](TaskContext& context) {
    std::uint64_t sum = 0, before = 0;
    runtime::value_or_throw(context.shuffle->read(ShuffleId{0}, {context.partition, context.partition + 1}, {},
                                                  [&](const shuffle::Block& block) -> Result<void> {
                                                    const std::uint64_t value = number(Buffer::copy_of(block.bytes));
                                                    EXPECT_TRUE(value == context.partition || value > before) << "in order";
                                                    sum += before = value;
                                                    reading = true;
                                                    return {};
                                                  }));
    return number(sum);
  });
  RunOptions options = quiet();
  options.job.slow_start = 0.05;
  auto session = open_embedded(options, program);
  ASSERT_TRUE(session);
  auto results = (*session)->run(map_and_sum(50));
  ASSERT_TRUE(results) << results.error().to_string();
  EXPECT_EQ(number((*results)[0][0]), 122'500U);
  EXPECT_EQ(number((*results)[0][1]), 122'550U);
}

TEST(Embedded, EarlyReadersMakeWayWhereThereIsNoOtherSlot) {
  for (const std::uint32_t threads : {1u, 2u}) {
    Program program;
    program.add(StageId{0}, write_numbers);
    program.add(StageId{1}, sum_numbers);
    RunOptions options = quiet(threads);
    options.job.slow_start = 0;
    auto session = open_embedded(options, program);
    ASSERT_TRUE(session);
    auto results = (*session)->run(map_and_sum(20));
    ASSERT_TRUE(results) << results.error().to_string();
    EXPECT_EQ(number((*results)[0][1]), 19'020U);
  }
}

TEST(Embedded, AFailingTaskIsRetriedAndItsCountersCountOnce) {
  Program program;
  program.add(StageId{0}, [](TaskContext& context) {
    if (context.attempt.attempt < 2 && context.partition % 7 == 0) throw std::runtime_error("not yet");
    return write_numbers(context);
  });
  program.add(StageId{1}, sum_numbers);
  auto session = open_embedded(quiet(), program);
  ASSERT_TRUE(session);
  auto results = (*session)->run(map_and_sum(50));
  ASSERT_TRUE(results) << results.error().to_string();
  EXPECT_EQ(number((*results)[0][0]), 122'500U);
  EXPECT_EQ((*session)->status().counters.at("written"), 50);
}

TEST(Embedded, ATaskThatAlwaysFailsEndsTheJobWithItsMessageAndPosition) {
  Program program;
  program.add(StageId{0}, [](TaskContext& context) -> Buffer {
    context.position_path = "input.txt";
    context.position_offset = 4711;
    throw std::runtime_error("bad record");
  });
  program.add(StageId{1}, sum_numbers);
  auto session = open_embedded(quiet(), program);
  ASSERT_TRUE(session);
  auto results = (*session)->run(map_and_sum(3));
  ASSERT_FALSE(results);
  const std::string text = results.error().to_string();
  for (const char* word : {"map", "bad record", "input.txt at byte 4711"}) EXPECT_NE(text.find(word), std::string::npos) << text;
}

TEST(Embedded, ATaskOverItsTimeLimitIsStoppedAndReported) {
  Program program;
  program.add(StageId{0}, [](TaskContext& context) -> Buffer {
    while (true) context.check_stop(), std::this_thread::yield();
  });
  program.add(StageId{1}, sum_numbers);
  RunOptions options = quiet();
  options.job.task_timeout = std::chrono::milliseconds(30);
  auto session = open_embedded(options, program);
  ASSERT_TRUE(session);
  auto results = (*session)->run(map_and_sum(1));
  ASSERT_FALSE(results);
  EXPECT_NE(results.error().to_string().find("--task-timeout"), std::string::npos) << results.error().to_string();
}

TEST(Embedded, AllocatingWithoutBoundIsAFailureOfTheTask) {
  Program program;
  program.add(StageId{0}, [](TaskContext&) -> Buffer { throw std::bad_alloc(); });
  program.add(StageId{1}, sum_numbers);
  auto session = open_embedded(quiet(), program);
  ASSERT_TRUE(session);
  auto results = (*session)->run(map_and_sum(1));
  ASSERT_FALSE(results);
  EXPECT_NE(results.error().to_string().find("out of memory"), std::string::npos) << results.error().to_string();
}

/// Runs a job whose tasks do `harm` in a child process; it must print the job's error in one line and exit with 3.
void run_harmful(const std::function<void(TaskContext&)>& harm, std::chrono::nanoseconds timeout) {
  Program program;
  program.add(StageId{0}, [&harm](TaskContext& context) -> Buffer {
    context.position_path = "input.txt";
    harm(context);
    return {};
  });
  program.add(StageId{1}, sum_numbers);
  RunOptions options = quiet();
  options.job.task_timeout = timeout;
  {
    auto session = open_embedded(options, program);
    if (!session) std::exit(4);
    auto results = (*session)->run(map_and_sum(2));
    if (results) std::exit(5);
    std::fprintf(stderr, "job: %s\n", results.error().to_string().c_str());
  }
  std::exit(1);
}

TEST(EmbeddedDeathTest, ACrashInAUserFunctionIsReportedWithStageTaskAndPosition) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(run_harmful([](TaskContext&) { ::raise(SIGSEGV); }, {}), testing::ExitedWithCode(1),
              "job: .*stage map task .*Segmentation fault.*input.txt");
  EXPECT_EXIT(run_harmful([](TaskContext&) { std::abort(); }, {}), testing::ExitedWithCode(1), "job: .*Aborted.*--workers 1");
}

TEST(EmbeddedDeathTest, ATaskThatNeverEndsIsReportedAndTheProcessEnds) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(run_harmful(
                  [](TaskContext&) {
                    volatile bool forever = true;
                    while (forever) std::this_thread::yield();
                  },
                  std::chrono::milliseconds(20)),
              testing::ExitedWithCode(1), "job: .*--task-timeout.*does not stop");
}

}  // namespace
}  // namespace weft::client
