// Functions that refer to local variables of the definition: the job says so. What they may refer to is left in peace.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <weft/chosen.hpp>
#include <weft/weft.h>

#include "base/sanitized.hpp"
#include "tests/support/checks.hpp"
#include "tests/support/process.hpp"

namespace weft::test {
namespace {

/// What the definition has the job say on standard error.
std::string said_by(const std::function<void(Flow&)>& define) {
  testing::internal::CaptureStderr();
  const auto report = run_locally(define, {.threads = 1});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(report) << report.error().to_string();
  return said;
}

std::uint64_t same(std::uint64_t i) { return i; }

TEST(Captures, ByReferenceAreNamedWithTheirOperator) {
  if (kSanitized) GTEST_SKIP() << "local variables are not on the stack";
  const auto expect_warning = [](const std::string& name, const std::function<void(Flow&)>& define) {
    const std::string said = said_by(define);
    EXPECT_TRUE(has(said, name + " (captures_test.cpp:")) << name << ": " << said;
    EXPECT_TRUE(has(said, "the function refers to a local variable of the definition")) << name << ": " << said;
    EXPECT_TRUE(has(said, "capture by value")) << name << ": " << said;
    EXPECT_TRUE(one_line(said)) << name << ": " << said;
  };
  expect_warning("generate", [](Flow& flow) {
    std::uint64_t factor = 2;
    EXPECT_EQ(flow.generate(3, [&factor](std::uint64_t i) { return factor * i; }).reduce(std::uint64_t{0}, std::plus<>()), 6u);
  });
  expect_warning("map", [](Flow& flow) {
    std::uint64_t factor = 2;
    std::uint64_t other = 1;
    (void)flow.generate(3, same).map([other, &factor](std::uint64_t i) { return factor * i + other; }).count();
  });
  expect_warning("filter", [](Flow& flow) {
    std::uint64_t limit = 2;
    EXPECT_EQ(flow.generate(3, same).filter([&limit](std::uint64_t i) { return i < limit; }).count(), 2u);
  });
  expect_warning("flat_map", [](Flow& flow) {
    int times = 2;
    const auto again = [&times](std::uint64_t i) { return std::vector<std::uint64_t>(static_cast<std::size_t>(times), i); };
    EXPECT_EQ(flow.generate(3, same).flat_map(again).count(), 6u);
  });
  expect_warning("map_partitions", [](Flow& flow) {
    int one = 1;
    (void)flow.generate(3, same).map_partitions<int>([&one](auto&&, auto&& emit) { emit(one); }).count();
  });
  expect_warning("map_values", [](Flow& flow) {
    std::uint64_t factor = 2;
    const auto pairs = flow.generate(3, [](std::uint64_t i) { return std::pair(i, i); });
    (void)pairs.map_values([&factor](std::uint64_t i) { return factor * i; }).count();
  });
  expect_warning("map", [](Flow& flow) {  // beside something that has more than bytes
    std::uint64_t factor = 2;
    const std::string name = "a";
    (void)flow.generate(3, same).map([name, &factor](std::uint64_t i) { return factor * i + name.size(); }).count();
  });
  expect_warning("sort_by", [](Flow& flow) {
    std::uint64_t factor = 2;
    (void)flow.generate(3, same).sort_by([&factor](std::uint64_t i) { return factor * i; }).count();
  });
  expect_warning("top", [](Flow& flow) {
    std::uint64_t factor = 2;
    (void)flow.generate(3, same).top(1, [&factor](std::uint64_t a, std::uint64_t b) { return factor * a < factor * b; }).count();
  });
  expect_warning("reduce", [](Flow& flow) {
    std::uint64_t factor = 2;
    (void)flow.generate(3, same).reduce([&factor](std::uint64_t a, std::uint64_t b) { return a + b * factor / 2; });
  });
  expect_warning("aggregate", [](Flow& flow) {
    std::uint64_t factor = 2;
    (void)flow.generate(3, same).aggregate(weft::sum([&factor](std::uint64_t i) { return factor * i; }));
  });
  expect_warning("aggregate_by_key", [](Flow& flow) {
    std::uint64_t more = 2;
    const auto pairs = flow.generate(3, [](std::uint64_t i) { return std::pair(i, i); });
    (void)pairs
        .aggregate_by_key(
            std::uint64_t{0}, [&more](std::uint64_t& acc, std::uint64_t x) { acc += x * more; },
            [](std::uint64_t& acc, std::uint64_t other) { acc += other; })
        .count();
  });
  expect_warning("reduce_by_key", [](Flow& flow) {
    std::uint64_t more = 2;
    const auto pairs = flow.generate(3, [](std::uint64_t i) { return std::pair(i, i); });
    (void)pairs.reduce_by_key([&more](std::uint64_t a, std::uint64_t b) { return a + b + more; }).count();
  });
  expect_warning("partition_by", [](Flow& flow) {
    std::uint32_t more = 2;
    const auto where = [&more](std::uint64_t key, std::uint32_t count) { return static_cast<std::uint32_t>(key + more) % count; };
    const auto pairs = flow.generate(3, [](std::uint64_t i) { return std::pair(i, i); });
    (void)pairs.reduce_by_key(std::plus<>(), partition_by(where, 2)).count();
  });
  expect_warning("aggregate", [](Flow& flow) {
    std::uint64_t factor = 2;
    (void)flow.generate(3, same).aggregate(weft::max_by(std::identity(), [&factor](std::uint64_t i) { return factor * i; }));
  });
  // Sinks run when the definition has returned: this function looks at what is gone for no record that there is.
  const ScratchDirectory scratch;
  expect_warning("write_text_by", [&scratch](Flow& flow) {
    std::uint64_t more = 2;
    flow.generate(3, same).write_text_by(scratch / "out", [&more](std::uint64_t i) { return i < 3 ? i : more; });
  });
}

TEST(Captures, OfTextThatADefinitionOwnsAreNamed) {
  if (kSanitized) GTEST_SKIP() << "local variables are not on the stack";
  const std::string said = said_by([](Flow& flow) {
    char text[] = "abc";
    (void)flow.generate(3, same).filter([view = std::string_view(text)](std::uint64_t i) { return i < view.size(); }).count();
  });
  EXPECT_TRUE(has(said, "filter (captures_test.cpp:")) << said;
}

TEST(Captures, ByValueAndOfWhatOutlivesTheJobAreNot) {
  static std::uint64_t kept = 3;
  std::uint64_t outside = 4;
  const auto owned = std::make_unique<std::uint64_t>(5);
  const std::string said = said_by([&](Flow& flow) {
    std::uint64_t factor = 2;
    const std::string name = "a name that is longer than what fits into a string", brief = "b";
    const auto table = flow.broadcast([] { return std::vector<int>{1, 2}; });
    EXPECT_EQ(flow.generate(3, same)
                  .map([factor](std::uint64_t i) { return factor * i; })
                  .map([name](std::uint64_t i) { return i + name.size(); })
                  .map([brief](std::uint64_t i) { return i + brief.size(); })
                  .map([table](std::uint64_t i) { return i + table->size(); })
                  .map([view = std::string_view("a literal")](std::uint64_t i) { return i + view.size(); })
                  .map([pointer = &kept](std::uint64_t i) { return i + *pointer; })
                  .map([&outside](std::uint64_t i) { return i + outside; })
                  .map([pointer = owned.get()](std::uint64_t i) { return i + *pointer; })
                  .count(),
              3u);
  });
  EXPECT_EQ(said, "");
}

TEST(Captures, ADatasetThatAFunctionOfTasksCountsFailsTheJobAtOnce) {
  const auto report = run_locally(
      [](Flow& flow) {
        const auto numbers = flow.generate(3, same);
        (void)numbers.map([numbers](std::uint64_t i) { return i + numbers.count(); }).count();
      },
      {.threads = 1});
  ASSERT_FALSE(report);
  const std::string error = report.error().to_string();
  EXPECT_TRUE(has(error, "count (captures_test.cpp:") && has(error, "is called by a function that runs in tasks")) << error;
  EXPECT_FALSE(has(error, "failed 4 times")) << error;
}

}  // namespace
}  // namespace weft::test
