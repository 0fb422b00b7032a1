// What goes wrong in jobs, and what is said about it.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "tests/support/process.hpp"

namespace weft::test {
namespace {

Error error_of(const std::function<void(Flow&)>& define, const LocalOptions& options = {.threads = 2}) {
  const auto report = run_locally(define, options);
  EXPECT_FALSE(report) << "the job succeeded";
  return report ? Error(Code::internal, "no error") : report.error();
}

bool mentions(const Error& error, const std::string& text) { return error.to_string().find(text) != std::string::npos; }

TEST(Failure, OfAUserFunctionNamesOperatorTaskPositionAndMessage) {
  const ScratchDirectory scratch;
  write_file(scratch / "in", "one\ntwo\nthree\n");
  const Error error = error_of([&](Flow& flow) {
    flow.read_text(scratch / "in")
        .map([](std::string_view line) {
          if (line == "three") throw std::runtime_error("three is too many");
          return line.size();
        })
        .write_text(scratch / "out");
  });
  EXPECT_EQ(error.code(), Code::user_code);
  for (const char* part : {"three is too many", "write_text (failure_test.cpp:", "/in at byte 8", "task 0"}) {
    EXPECT_TRUE(mentions(error, part)) << part << " is not in: " << error.to_string();
  }
  EXPECT_EQ(entries(scratch.path()), std::vector<std::string>{"in"}) << "output or a work directory was left behind";
}

TEST(Failure, IsRetriedAsOftenAsAsked) {
  auto tries = std::make_shared<std::atomic<int>>(0);
  const auto flaky = [&](int failures) {
    return [tries, failures](Flow& flow) {
      (void)flow
          .generate(1,
                    [tries, failures](std::uint64_t i) {
                      if (tries->fetch_add(1) < failures) throw 42;
                      return i;
                    })
          .count();
    };
  };
  EXPECT_TRUE(run_locally(flaky(3), {.threads = 1}));
  EXPECT_EQ(tries->load(), 4);
  *tries = 0;
  EXPECT_TRUE(mentions(error_of(flaky(1000), {.threads = 1, .job = {{"max-attempts", "2"}}}), "no std::exception"));
  EXPECT_EQ(tries->load(), 2);
}

TEST(Failure, OfInputThatNoTaskCanReadComesAtOnce) {
  const ScratchDirectory scratch;
  write_file(scratch / "in", std::string("PK\3\4\0\0\0\0", 8) + std::string(1000, 'z'));
  const Error error = error_of([&](Flow& flow) { (void)flow.read_text(scratch / "in").count(); });
  EXPECT_EQ(error.code(), Code::invalid_argument);
  EXPECT_TRUE(mentions(error, "is a zip archive, which cannot be read as lines of text")) << error.to_string();
  EXPECT_FALSE(mentions(error, " times")) << "it was tried again: " << error.to_string();
}

TEST(Failure, OfTooManyPartitionsComesBeforeAnythingRunsAndNamesTheOperator) {
  const Error error = error_of([](Flow& flow) {
    (void)flow.generate(10, [](std::uint64_t i) { return std::pair(i, 1); }).reduce_by_key(std::plus<>(), 1'000'000).count();
  });
  EXPECT_EQ(error.code(), Code::invalid_argument);
  for (const char* part : {"reduce_by_key (failure_test.cpp:", "1000000 partitions", "at most 100000"})
    EXPECT_TRUE(mentions(error, part)) << part << " is not in: " << error.to_string();
}

TEST(Failure, OfTooManyPartitionsOfASourceComesBeforeTheyTakeMemory) {
  const auto number = [](std::uint64_t i) { return i; };
  const Error error = error_of([&](Flow& flow) { (void)flow.generate(10, number, 150'000).count(); });
  EXPECT_EQ(error.code(), Code::invalid_argument);
  for (const char* part : {"generate (failure_test.cpp:", "150000 partitions", "at most 100000"})
    EXPECT_TRUE(mentions(error, part)) << part << " is not in: " << error.to_string();
  const std::vector<int> one{1};
  EXPECT_TRUE(mentions(error_of([&](Flow& flow) { (void)flow.from_vector(one, 150'000).count(); }), "from_vector ("));
}

TEST(Failure, OfAnExistingOutputComesBeforeAnythingRuns) {
  const ScratchDirectory scratch;
  write_file(scratch / "out", "precious");
  bool ran = false;
  const Error error = error_of([&](Flow& flow) {
    flow.from_vector(std::vector<int>{1}).write_text(scratch / "out");
    ran = true;
  });
  EXPECT_EQ(error.code(), Code::already_exists);
  EXPECT_FALSE(ran);
  EXPECT_EQ(read_file(scratch / "out"), "precious");
}

TEST(Failure, OfTheDefinitionLeavesNoOutput) {
  const ScratchDirectory scratch;
  const Error error = error_of([&](Flow& flow) {
    flow.from_vector(std::vector<int>{1}).write_text(scratch / "out");
    throw std::runtime_error("changed my mind");
  });
  EXPECT_TRUE(mentions(error, "changed my mind"));
  EXPECT_TRUE(entries(scratch.path()).empty());
}

TEST(Failure, OfMissingInputNamesIt) {
  EXPECT_EQ(error_of([](Flow& flow) { (void)flow.read_text("/no/such/file").count(); }).code(), Code::not_found);
}

TEST(Failure, OfAPartitionerThatLeavesTheRange) {
  const Error error = error_of([](Flow& flow) {
    (void)flow.from_vector(std::vector<std::pair<int, int>>{{1, 1}})
        .reduce_by_key(std::plus<>(), partition_by([](int, std::uint32_t count) { return count; }))
        .count();
  });
  EXPECT_TRUE(mentions(error, "partitioner")) << error.to_string();
}

TEST(Failure, OfTwoOutputsWithOnePath) {
  const ScratchDirectory scratch;
  const Error error = error_of([&](Flow& flow) {
    flow.from_vector(std::vector<int>{1}).write_text(scratch / "out");
    flow.from_vector(std::vector<int>{2}).write_text(scratch / "out");
  });
  EXPECT_EQ(error.code(), Code::already_exists);
}

TEST(Failure, OfAnOutputInsideOfAnother) {
  const ScratchDirectory scratch;
  const std::string outer = scratch / "out", inner = outer + "/rejected";
  for (const auto& [first, second] : {std::pair(outer, inner), std::pair(inner, outer)}) {
    if (first == inner) std::filesystem::create_directory(outer);
    const Error error = error_of([&](Flow& flow) {
      flow.from_vector(std::vector<int>{1}).write_text(first);
      flow.from_vector(std::vector<int>{2}).write_text(second);
    });
    EXPECT_TRUE(mentions(error, "output " + inner + " is inside of the output " + outer + "; write one of them somewhere else"))
        << error.to_string();
    EXPECT_EQ(entries(scratch.path()).size(), first == inner ? 1u : 0u);
  }
}

TEST(Failure, OfDatasetsOfTwoFlows) {
  using Pairs = Dataset<std::pair<std::uint64_t, int>>;
  const auto sums = [](Flow& flow, int value) {
    return Pairs(flow.generate(10, [value](std::uint64_t i) { return std::pair(i % 3, value); }).reduce_by_key(std::plus<>()));
  };
  std::optional<Pairs> kept;
  ASSERT_TRUE(run_locally([&](Flow& flow) { kept = sums(flow, 1); }, {.threads = 1}));
  const std::pair<const char*, std::function<void(const Pairs&)>> uses[] = {
      {"join (failure_test.cpp:", [&](const Pairs& now) { (void)now.join(*kept).count(); }},
      {"cogroup (failure_test.cpp:", [&](const Pairs& now) { (void)now.cogroup(*kept).count(); }},
      {"union_with (failure_test.cpp:", [&](const Pairs& now) { (void)now.union_with(*kept).count(); }}};
  for (const auto& [name, use] : uses) {
    const Error error = error_of([&](Flow& flow) { use(sums(flow, 2)); });
    EXPECT_TRUE(mentions(error, name) && mentions(error, ": the two datasets are of different flows")) << error.to_string();
  }
}

/// An attempt that lost a race may make its file while the directory is published.
TEST(Outputs, OfAttemptsHaveNamesThatReadersSkip) {
  const ScratchDirectory scratch;
  auto names = std::make_shared<std::set<std::string>>();
  const auto look = [names, root = scratch.path()](const std::string& text) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
      if (entry.is_regular_file()) names->insert(entry.path().filename());
    return text;
  };
  const auto ran = run_locally(
      [&](Flow& flow) {
        flow.from_vector(std::vector<std::string>(4, std::string(1 << 20, 'x'))).map(look).write_text(scratch / "out");
      },
      {.threads = 1});
  ASSERT_TRUE(ran) << ran.error().to_string();
  EXPECT_FALSE(names->empty());
  EXPECT_TRUE(std::all_of(names->begin(), names->end(), [](const std::string& name) {
    return name.starts_with('_') || name.starts_with('.');
  })) << *names->begin();
}

}  // namespace
}  // namespace weft::test
