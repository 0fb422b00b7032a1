// Outputs with a directory for each name that a function gives.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "tests/support/checks.hpp"
#include "tests/support/process.hpp"

namespace weft::test {
namespace {

struct Place {
  std::int32_t x = 0;
  double y = 0;
};

void run_by_name(const std::function<void(Flow&)>& define, std::uint64_t memory) {
  const auto report = run_locally(define, {.threads = 2, .memory_bytes = memory, .job = {{"max-bad-records", "100%"}}});
  EXPECT_TRUE(report) << report.error().to_string();
}

TEST(WriteTextBy, KeepsOtherDirectoriesWhenItIsAskedTo) {
  const ScratchDirectory scratch;
  const auto write = [&](std::vector<int> days, const LocalOptions& options) {
    const auto define = [&](Flow& flow) {
      flow.from_vector(days).write_text_by(scratch / "out", [](int day) { return "day=" + std::to_string(day); });
    };
    const auto report = run_locally(define, options);
    ASSERT_TRUE(report.has_value()) << report.error().to_string();
  };
  const auto there = [&](const char* day) { return std::filesystem::exists(scratch / (std::string("out/") + day)); };
  write({1, 2}, {.threads = 1});
  write({2, 3}, {.threads = 1, .overwrite_directories = true});
  EXPECT_TRUE(there("day=1") && there("day=2") && there("day=3"));
  write({3}, {.threads = 1, .overwrite = true});
  EXPECT_FALSE(there("day=1"));
}

TEST(WriteTextBy, MakesADirectoryForEachName) {
  const ScratchDirectory scratch;
  constexpr std::uint64_t kRecords = 20'000, kNames = 70;  // more names than files that are open at once
  for (const std::uint64_t memory : {64u << 20, 2u << 20}) {
    const std::string out = scratch / ("out" + std::to_string(memory));
    run_by_name(
        [&](Flow& flow) {
          flow.generate(
                  kRecords, [](std::uint64_t i) { return std::pair(i % kNames, i); }, 3)
              .write_text_by(out, [](std::uint64_t name, std::uint64_t) { return "by/" + std::to_string(name); });
          flow.generate(
                  5, [](std::uint64_t i) { return i; }, 2)
              .filter([](std::uint64_t) { return false; })
              .write_text_by(out + "-none", std::identity());
        },
        memory);
    std::map<std::string, std::vector<std::string>> lines;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(out)) {
      if (!entry.is_regular_file() || entry.path().filename() == "_SUCCESS") continue;
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) lines[entry.path().parent_path().filename()].push_back(line);
    }
    ASSERT_EQ(lines.size(), kNames);
    std::size_t all = 0;
    for (const auto& [name, some] : lines) {
      all += some.size();
      for (const std::string& line : some) EXPECT_EQ(line.substr(0, line.find('\t')), name);
    }
    EXPECT_EQ(all, kRecords);
    EXPECT_TRUE(std::filesystem::exists(out + "/_SUCCESS"));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(out), {}), 2) << "by, _SUCCESS, and nothing of attempts";
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(out + "-none"), {}), 1);
  }
  for (const std::string name : {"", "..", "a/../b", "/a", "_x", "a\nb", ".hidden"}) {
    const auto define = [&](Flow& flow) {
      flow.from_vector(std::vector<std::string>{name}).write_text_by(scratch / "refused", [](const std::string& text) {
        return text;
      });
    };
    const auto refused = run_locally(define, {.threads = 2});
    ASSERT_FALSE(refused) << name;
    const std::string error = refused.error().to_string();
    EXPECT_NE(error.find("is no name of a directory"), std::string::npos) << name << ": " << error;
  }
}

/// All lines of the files below a directory, by the path of the file without its task's number.
std::map<std::string, std::vector<std::string>> lines_below(const std::string& root, const std::string& unpack = "cat") {
  std::map<std::string, std::vector<std::string>> lines;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file() || entry.path().filename() == "_SUCCESS") continue;
    const std::string plain = root + ".plain";
    EXPECT_EQ(std::system((unpack + " < '" + entry.path().string() + "' > '" + plain + "'").c_str()), 0);
    std::ifstream file(plain);
    auto& some = lines[std::filesystem::relative(entry.path().parent_path(), root)];
    for (std::string line; std::getline(file, line);) some.push_back(line);
  }
  return lines;
}

TEST(WriteRowsBy, MakesADirectoryForEachNameWhoseFilesAreWhole) {
  const ScratchDirectory scratch;
  constexpr std::uint64_t kRows = 9'000, kNames = 40;  // more names than files that are open at once
  run_by_name(
      [&](Flow& flow) {
        const auto points = flow.generate(
            kRows,
            [](std::uint64_t i) {
              return Place{static_cast<std::int32_t>(i % kNames), static_cast<double>(i)};
            },
            2);
        const auto day = [](const Place& point) { return "x=" + std::to_string(point.x) + "/all"; };
        points.write_csv_by(scratch / "csv", day, {.delimiter = ';', .names = {{"y", "why"}}});
        points.write_json_by(scratch / "json", day, {.names = {{"y", "why"}}}, Compression::gzip);
      },
      2u << 20);
  const auto csv = lines_below(scratch / "csv"), json = lines_below(scratch / "json", "gzip -dc");
  ASSERT_EQ(csv.size(), kNames);
  ASSERT_EQ(json.size(), kNames);
  std::size_t rows = 0, headers = 0;
  for (const auto& [name, lines] : csv) {
    EXPECT_EQ(lines.front(), "x;why");
    for (const std::string& line : lines) {
      if (line == "x;why") {
        ++headers;
        continue;
      }
      ++rows;
      EXPECT_EQ("x=" + line.substr(0, line.find(';')) + "/all", name);
    }
  }
  EXPECT_EQ(rows, kRows);
  EXPECT_EQ(headers, 2 * kNames) << "one in each file of both tasks";
  for (const auto& [name, lines] : json) {
    EXPECT_EQ(lines.size(), kRows / kNames);
    for (const std::string& line : lines)
      EXPECT_TRUE(line.starts_with("{\"x\":" + name.substr(2, name.find('/') - 2) + ",\"why\":")) << name << ": " << line;
  }
}

}  // namespace
}  // namespace weft::test
