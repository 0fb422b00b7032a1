// Inputs that change while a job runs, read in every way.
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "tests/support/process.hpp"

namespace weft::test {
namespace {

struct Pair {
  std::int64_t a = 0, b = 0;
};

/// Counts the records of an input that `change` makes another one when the job knows it.
using Count = std::function<std::int64_t(Flow&, const std::string& path, const std::function<void()>& change)>;

template <class Read>
Count counting(Read read) {
  return [read](Flow& flow, const std::string& path, const std::function<void()>& change) {
    const auto records = read(flow, path);
    change();
    return static_cast<std::int64_t>(records.count());
  };
}

struct Case {
  const char* name;
  Count count;
};
const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"lines", counting([](Flow& flow, const std::string& path) { return flow.read_text(path); })},
      {"raw", counting([](Flow& flow, const std::string& path) { return flow.read_text(path, InputFormat::raw); })},
      {"records", counting([](Flow& flow, const std::string& path) { return flow.read_records(path, 8); })},
      {"csv", counting([](Flow& flow, const std::string& path) { return flow.read_csv<Pair>(path, {.header = false}); })},
      {"multiline", counting([](Flow& flow, const std::string& path) {
         return flow.read_csv<Pair>(path, {.header = false, .multiline = true});
       })},
      {"sorted", counting([](Flow& flow, const std::string& path) {
         return flow.read_text(path).sort_by([](std::string_view line) { return std::string(line); });
       })}};
  return all;
}

void append(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::app) << bytes; }

TEST(ChangedInputs, FailTheJobHoweverTheyAreRead) {
  for (const Case& each : cases()) {
    const ScratchDirectory scratch;
    const std::string path = scratch / "in";
    std::string rows;
    for (int i = 0; i < 1000; ++i) rows += "123,123\n";
    for (const bool growing : {false, true}) {
      write_file(path, rows);
      std::int64_t count = 0;
      const auto report = run_locally([&](Flow& flow) { count = each.count(flow, path, [&] { append(path, "456,456\n"); }); },
                                      {.threads = 2, .growing_inputs = growing});
      if (growing) {
        ASSERT_TRUE(report) << each.name << ": " << report.error().to_string();
        EXPECT_EQ(count, 1000) << each.name;
        continue;
      }
      ASSERT_FALSE(report) << each.name;
      EXPECT_NE(report.error().to_string().find("input " + path + " changed since it was listed: it grew from 8000 to 8008 bytes"),
                std::string::npos)
          << each.name << ": " << report.error().to_string();
    }
  }
}

TEST(ChangedInputs, BetweenTwoActionsOfAJobFailIt) {
  const ScratchDirectory scratch;
  const std::string path = scratch / "in";
  for (const bool growing : {false, true}) {
    write_file(path, "a\nb\n");
    std::size_t first = 0, second = 0;
    const auto report = run_locally(
        [&](Flow& flow) {
          const auto lines = flow.read_text(path);
          first = lines.count();
          append(path, "c\n");
          second = lines.count();
        },
        {.threads = 1, .growing_inputs = growing});
    EXPECT_EQ(first, 2u);
    EXPECT_EQ(report.has_value(), growing);
    EXPECT_EQ(second, growing ? 2u : 0u) << "as it was listed";
  }
}

TEST(ChangedInputs, ThatAreReadAnewAreListedAnew) {
  const ScratchDirectory scratch;
  const std::string path = scratch / "in";
  write_file(path, "a\nb\n");
  std::size_t first = 0, second = 0;
  const auto report = run_locally([&](Flow& flow) {
    first = flow.read_text(path).count();
    append(path, "c\n");
    second = flow.read_text(path).count();
  });
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(first, 2u);
  EXPECT_EQ(second, 3u);
}

}  // namespace
}  // namespace weft::test
