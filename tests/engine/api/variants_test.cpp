// Operators with a second function for nodes with an attribute: what the plan says, what runs, and the comparison of both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/weft.h>

#include "engine/api/driver.hpp"
#include "engine/client/session.hpp"
#include "weft/detail/stage.hpp"

namespace weft::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Numbers = std::vector<std::uint64_t>;

constexpr auto twice = [](std::uint64_t n) { return 2 * n; };
constexpr auto added = [](std::uint64_t n) { return n + n; };
constexpr auto thrice = [](std::uint64_t n) { return 3 * n; };

auto some_numbers(Flow& flow) {
  return flow.generate(100, [](std::uint64_t i) { return i; });
}

std::shared_ptr<detail::DriverGraph> graph_that_runs_nothing() {
  detail::DriverSettings settings;
  settings.explain_with = 2;
  return std::make_shared<detail::DriverGraph>(settings);
}

/// The stages of a definition, planned and not run.
std::vector<plan::Stage> planned_stages(const std::function<void(Flow&)>& define) {
  const auto graph = graph_that_runs_nothing();
  Flow flow(graph);
  EXPECT_THROW(define(flow), detail::PlanEndsHere);
  std::vector<plan::Stage> stages;
  for (const plan::Stage* stage : graph->planned()) stages.push_back(*stage);
  return stages;
}

TEST(Variants, AreInThePlanOfTheStageThatRunsThem) {
  const auto stages = planned_stages([](Flow& flow) {
    const auto keyed =
        some_numbers(flow).map(twice).on("accelerator", added).map([](std::uint64_t n) { return std::pair(n % 7, n); });
    (void)keyed.on("simd=wide", [](std::uint64_t n) { return std::pair(n % 7, n); }).reduce_by_key(std::plus<>()).count();
  });
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_THAT(stages[0].variants, ElementsAre("accelerator", "simd=wide"));
  EXPECT_THAT(stages[0].operators, testing::Contains(HasSubstr("on accelerator (variants_test.cpp")));
  EXPECT_THAT(stages[1].variants, IsEmpty());
}

TEST(Variants, OfBothSidesOfAUnionBelongToItsStage) {
  const auto stages = planned_stages([](Flow& flow) {
    const Dataset<std::uint64_t> one = some_numbers(flow).map(twice).on("gpu", added),
                                 two = some_numbers(flow).map(twice).on("fpga", added);
    (void)one.union_with(two).count();
  });
  ASSERT_EQ(stages.size(), 1u);
  EXPECT_THAT(stages[0].variants, ElementsAre("fpga", "gpu"));
}

TEST(Variants, KeepThePartitioningOfKeys) {
  const auto stages = planned_stages([](Flow& flow) {
    const auto sums = some_numbers(flow).map([](std::uint64_t n) { return std::pair(n % 7, n); }).reduce_by_key(std::plus<>());
    (void)sums.map_values(twice).on("accelerator", added).reduce_by_key(std::plus<>()).count();
  });
  EXPECT_EQ(stages.size(), 2u) << "the second reduce works where the records are";
}

TEST(Variants, NeedAnAttributeWithAName) {
  Flow flow(graph_that_runs_nothing());
  for (const char* wrong : {"", "=gpu"}) EXPECT_THROW((void)some_numbers(flow).map(twice).on(wrong, added), std::invalid_argument);
}

/// What a task of the stage gives on a node: the driver's own code, called by hand.
Numbers run_task(const std::vector<std::string>& variants) {
  Numbers given;
  runtime::TaskContext context;
  context.variants = variants;
  const std::atomic<bool> stop{false};
  context.operators.stop = &stop;
  const storage::SplitGroup splits{{"", 0, 3, {}}};
  context.splits = &splits;
  Flow flow(graph_that_runs_nothing());
  const auto data = some_numbers(flow).map(twice).on("accelerator", thrice);
  data.chain().run(context, [&](std::uint64_t n) { given.push_back(n); });
  return given;
}

TEST(Variants, AreWhatTasksRunThatAreToldTo) {
  EXPECT_THAT(run_task({}), ElementsAre(0, 2, 4));
  EXPECT_THAT(run_task({"accelerator"}), ElementsAre(0, 3, 6));
  EXPECT_THAT(run_task({"simd", "accelerator"}), ElementsAre(0, 3, 6));
  EXPECT_THAT(run_task({"simd"}), ElementsAre(0, 2, 4));
}

Result<Numbers> checked(const std::function<Numbers(Flow&)>& collect) {
  Numbers given;
  const auto report = run_locally([&](Flow& flow) { given = collect(flow); }, {.threads = 2, .check_variants = true});
  if (!report) return fail(report.error());
  return given;
}

TEST(Variants, OfEveryOperatorCanBeChecked) {
  const auto emit_twice = [](std::uint64_t n, auto&& emit) {
    emit(n);
    emit(n);
  };
  const auto in_order = [](auto&& records, auto&& emit) { records([&](std::uint64_t n) { emit(n); }); };
  const auto small = [](std::uint64_t n) { return n < 3; };
  const auto given = checked([&](Flow& flow) {
    return flow.generate(4, twice)
        .on("gpu", added)
        .filter(small)
        .on("gpu", [](std::uint64_t n) { return n <= 2; })
        .flat_map([](std::uint64_t n) {
          return Numbers{n, n + 1};
        })
        .on("gpu",
            [](std::uint64_t n) {
              return std::array<std::uint64_t, 2>{n, n + 1};
            })
        .flat_map<std::uint64_t>(emit_twice)
        .on("gpu", emit_twice)
        .map_partitions<std::uint64_t>(in_order)
        .on("gpu", in_order)
        .collect();
  });
  ASSERT_TRUE(given) << given.error().to_string();
  EXPECT_THAT(*given, ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
}

TEST(Variants, ThatDifferFailTheTaskWhenTheyAreChecked) {
  const auto other_values = [](Flow& flow) { return some_numbers(flow).map(twice).on("gpu", thrice).collect(); };
  const auto wrong = checked(other_values);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().to_string(), HasSubstr("the function for nodes with 'gpu' gives other records"));
  const auto fewer = checked([](Flow& flow) {
    return some_numbers(flow)
        .filter([](std::uint64_t) { return true; })
        .on("gpu", [](std::uint64_t n) { return n != 99; })
        .collect();
  });
  EXPECT_FALSE(fewer);
  Numbers unchecked;
  ASSERT_TRUE(run_locally([&](Flow& flow) { unchecked = other_values(flow); }));
  EXPECT_EQ(unchecked.at(99), 198u);
}

}  // namespace
}  // namespace weft::test
