// The place of the current record in the input, as user functions see it and messages name it.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/weft.h>

#include "tests/support/process.hpp"

namespace weft::test {
namespace {

/// Files of five lines each, "0 NAME" and so on: more than there are tasks.
class InputPathTest : public testing::Test {
 protected:
  static constexpr int kFiles = 40;
  void SetUp() override {
    std::filesystem::create_directory(scratch_ / "in");
    for (int i = 0; i < kFiles; ++i) {
      const std::string name = "in/" + std::to_string(i);
      std::string lines;
      for (int line = 0; line < 5; ++line) lines += std::to_string(line) + " " + (scratch_ / name) + "\n";
      write_file(scratch_ / name, lines);
    }
  }
  /// What the line says, and where it was: those of all lines.
  using Seen = std::vector<std::pair<std::string, std::string>>;
  void expect_own_places(const std::function<Seen(Flow&)>& define, const LocalOptions& options = {.threads = 1}) {
    Seen seen;
    const auto report = run_locally([&](Flow& flow) { seen = define(flow); }, options);
    ASSERT_TRUE(report) << report.error().to_string();
    EXPECT_EQ(seen.size(), kFiles * 5u);
    for (const auto& [said, place] : seen) EXPECT_EQ(said, place);
  }
  auto lines(Flow& flow) const { return flow.read_text(scratch_ / "in"); }
  const ScratchDirectory scratch_;
};

std::string path_in(std::string_view line) { return std::string(line.substr(2)); }
std::uint64_t number_in(std::string_view line) { return static_cast<std::uint64_t>(line[0] - '0'); }
auto ten(Flow& flow) {
  return flow.generate(10, [](std::uint64_t i) { return std::pair(i, i); });
}
constexpr auto kPlace = [](const auto&, const auto& left, const auto&) { return std::pair(left, std::string(input_path())); };

TEST_F(InputPathTest, IsThatOfTheRecord) {
  expect_own_places([&](Flow& flow) {
    return lines(flow).map([](std::string_view line) { return std::pair(path_in(line), std::string(input_path())); }).collect();
  });
}

TEST_F(InputPathTest, IsThatOfTheRecordBehindAStreamedJoin) {
  expect_own_places([&](Flow& flow) {
    return lines(flow)
        .map([](std::string_view line) { return std::pair(number_in(line), path_in(line)); })
        .join(ten(flow), JoinStrategy::broadcast)
        .map(kPlace)
        .collect();
  });
}

/// Plain values wait until their partners are in the cache: here the numbers of lines, for the paths to be compared with the
/// places.
TEST_F(InputPathTest, IsThatOfARecordThatWaitsInAJoin) {
  for (const JoinStrategy strategy : {JoinStrategy::broadcast, JoinStrategy::automatic}) {
    expect_own_places([&](Flow& flow) {
      return lines(flow)
          .map([](std::string_view line) {
            const std::string path = path_in(line);
            return std::pair(number_in(line), std::stoull(path.substr(path.rfind('/') + 1)));
          })
          .join(ten(flow), strategy)
          .map([root = scratch_ / "in/"](const auto&, std::uint64_t file, std::uint64_t) {
            return std::pair(root + std::to_string(file), std::string(input_path()));
          })
          .collect();
    });
  }
}

/// The function reads its records twice: those of the first time may still wait.
TEST_F(InputPathTest, IsThatOfTheRecordIfItsChainRunsTwice) {
  expect_own_places([&](Flow& flow) {
    const auto twice = lines(flow).map_partitions<std::pair<std::uint64_t, std::uint64_t>>([](auto&& records, auto&& emit) {
      const auto visit = [&](std::string_view line) {
        const std::string path = path_in(line);
        emit(std::pair(number_in(line), std::stoull(path.substr(path.rfind('/') + 1))));
      };
      records([&](std::string_view line) {
        if (number_in(line) < 3) visit(line);
      });
      records([&](std::string_view line) {
        if (number_in(line) >= 3) visit(line);
      });
    });
    return twice.join(ten(flow), JoinStrategy::broadcast)
        .map([root = scratch_ / "in/"](const auto&, std::uint64_t file, std::uint64_t) {
          return std::pair(root + std::to_string(file), std::string(input_path()));
        })
        .collect();
  });
}

TEST_F(InputPathTest, AndOffsetAreNamedForBadRecordsBehindAStreamedJoin) {
  write_file(scratch_ / "numbers", "10\n11\n12\n13\n14\n15\n");
  const auto report = run_locally(
      [&](Flow& flow) {
        (void)flow.read_text(scratch_ / "numbers")
            .map([](std::string_view line) { return std::pair(number_in(line.substr(1)), number_in(line.substr(1))); })
            .join(ten(flow), JoinStrategy::broadcast)
            .filter([](const auto& row) {
              if (row.first >= 4) bad_record("it is " + std::to_string(row.first));
              return true;
            })
            .count();
      },
      {.threads = 1});
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_THAT(report->bad_record_examples, testing::UnorderedElementsAre("it is 4 (" + (scratch_ / "numbers") + " at byte 12)",
                                                                         "it is 5 (" + (scratch_ / "numbers") + " at byte 15)"));
}

}  // namespace
}  // namespace weft::test
