// What write_csv and write_json wrote is what read_csv and read_json read, whatever the fields and the format.
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "tests/support/checks.hpp"
#include "tests/support/process.hpp"

namespace weft::test {
namespace {

struct RoundTrip : testing::Test {
  static void run(const std::function<void(Flow&)>& define) {
    const auto report = run_locally(define, {.threads = 1, .overwrite = true});
    ASSERT_TRUE(report) << report.error().to_string();
    EXPECT_EQ(report->bad_records, 0u);
  }
  template <class T>
  std::vector<T> through_csv(const std::vector<T>& rows, const CsvFormat& format = {}) const {
    std::vector<T> read;
    run([&](Flow& flow) { flow.from_vector(rows, 1).write_csv(scratch / "csv", format); });
    run([&](Flow& flow) { read = flow.read_csv<T>(scratch / "csv", format).collect(); });
    return read;
  }
  template <class T>
  std::vector<T> through_json(const std::vector<T>& rows) const {
    std::vector<T> read;
    run([&](Flow& flow) { flow.from_vector(rows, 1).write_json(scratch / "json"); });
    run([&](Flow& flow) { read = flow.read_json<T>(scratch / "json").collect(); });
    return read;
  }
  const ScratchDirectory scratch;
};

struct Small {
  char c = 0;
  std::optional<char> maybe;
  signed char s = 0;
  unsigned char u = 0;
  bool truth = false;
  friend bool operator==(const Small&, const Small&) = default;
};

TEST_F(RoundTrip, ACharIsANumberWhereverRowsAreWritten) {
  std::vector<Small> rows{{'7', std::nullopt, 1, 2, true}};
  for (int i = 0; i < 256; ++i) {
    const auto c = static_cast<char>(i);
    rows.push_back({c, c, static_cast<signed char>(i), static_cast<unsigned char>(i), i % 2 != 0});
  }
  EXPECT_EQ(through_csv(rows), rows);
  EXPECT_EQ(part_lines(scratch / "csv")[1], "55,,1,2,true");
  EXPECT_EQ(through_json(rows), rows);
  run([&](Flow& flow) {
    const auto pairs = flow.from_vector(std::vector<std::pair<char, std::optional<char>>>{{',', '"'}}, 1);
    const CsvFormat format{.columns = {"a", "b"}};
    pairs.write_csv(scratch / "pairs", format);
    pairs.write_csv_file(scratch / "file", format);
    pairs.write_csv_by(
        scratch / "by", [](const auto&) { return std::string("n=1"); }, format);
    pairs.write_text(scratch / "text");
  });
  for (const char* const made : {"pairs", "file", "by/n=1"})
    EXPECT_EQ(part_lines(scratch / made), (std::vector<std::string>{"a,b", "44,34"})) << made;
  EXPECT_EQ(part_lines(scratch / "text"), (std::vector<std::string>{",\t\""})) << "lines of text have the character";
}

struct Sparse {
  std::optional<std::string> text;
  std::optional<double> number;
  std::optional<Date> day;
  std::optional<char> c;
  std::optional<bool> truth;
  friend bool operator==(const Sparse&, const Sparse&) = default;
};

TEST_F(RoundTrip, AMissingValueIsWrittenAsTheFormatReadsIt) {
  const std::vector<Sparse> rows{{}, {"", 0, Date{0}, '\0', false}, {"x", std::nullopt, Date{1}, std::nullopt, true}, {}};
  EXPECT_EQ(through_csv(rows, {.missing = {"NA", "-"}}), rows);
  EXPECT_EQ(part_lines(scratch / "csv"),
            (std::vector<std::string>{"text,number,day,c,truth", "NA,NA,NA,NA,NA", ",0,1970-01-01,0,false",
                                      "x,NA,1970-01-02,NA,true", "NA,NA,NA,NA,NA"}));
  EXPECT_EQ(through_csv(rows, {.missing = {"n,\"a"}}), rows) << "a word that needs quotes";
  std::vector<Sparse> kept = rows;
  kept[1].text.reset();  // the empty text is one of those
  EXPECT_EQ(through_csv(rows, {.missing = {"NA", ""}}), kept);
  EXPECT_EQ(part_lines(scratch / "csv")[1], ",,,,");
  EXPECT_EQ(through_csv(rows), kept);
  run([&](Flow& flow) {
    const auto pairs = flow.from_vector(std::vector<std::pair<int, std::optional<int>>>{{1, 2}, {3, std::nullopt}}, 1);
    const CsvFormat format{.columns = {"a", "b"}, .missing = {"NA"}};
    pairs.write_csv_by(
        scratch / "by", [](const auto&) { return std::string("n=1"); }, format);
    pairs.write_csv(scratch / "none", {.header = false, .missing = {}});
  });
  EXPECT_EQ(part_lines(scratch / "by/n=1"), (std::vector<std::string>{"a,b", "1,2", "3,NA"}));
  EXPECT_EQ(part_lines(scratch / "none"), (std::vector<std::string>{"1,2", "3,"}));
}

struct Alone {
  std::optional<std::string> text;
  friend bool operator==(const Alone&, const Alone&) = default;
};

/// A line without a character is no row.
TEST_F(RoundTrip, ARowOfOneEmptyCellIsARow) {
  const std::vector<Alone> rows{{std::nullopt}, {"a"}, {"\r"}, {std::nullopt}};
  EXPECT_EQ(through_csv(rows), rows);
  EXPECT_EQ(through_csv(rows, {.header = false}), rows);
  const std::vector<Alone> present{{std::nullopt}, {""}, {"a"}};
  EXPECT_EQ(through_csv(present, {.missing = {"NA"}}), present);
}

}  // namespace
}  // namespace weft::test
