// What write_csv and write_json wrote is what read_csv and read_json read, whatever the fields and the format.
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
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

struct SparseRow {
  std::optional<std::string> text;
  std::optional<double> number;
  std::optional<Date> day;
  std::optional<char> c;
  std::optional<bool> truth;
  friend bool operator==(const SparseRow&, const SparseRow&) = default;
};

TEST_F(RoundTrip, AMissingValueIsWrittenAsTheFormatReadsIt) {
  const std::vector<SparseRow> rows{{}, {"", 0, Date{0}, '\0', false}, {"x", std::nullopt, Date{1}, std::nullopt, true}, {}};
  EXPECT_EQ(through_csv(rows, {.missing = {"NA", "-"}}), rows);
  EXPECT_EQ(part_lines(scratch / "csv"),
            (std::vector<std::string>{"text,number,day,c,truth", "NA,NA,NA,NA,NA", ",0,1970-01-01,0,false",
                                      "x,NA,1970-01-02,NA,true", "NA,NA,NA,NA,NA"}));
  EXPECT_EQ(through_csv(rows, {.missing = {"n,\"a"}}), rows) << "a word that needs quotes";
  std::vector<SparseRow> kept = rows;
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

/// Every kind of cell.
struct Cells {
  std::string text;
  char c = 0;
  std::int8_t tiny = 0;
  std::uint8_t byte = 0;
  std::int16_t little = 0;
  std::uint32_t half = 0;
  std::int64_t whole = 0;
  std::uint64_t natural = 0;
  float real = 0;
  double wide = 0;
  bool truth = false;
  Date day;
  Timestamp at;
  std::optional<std::string> maybe_text;
  std::optional<char> maybe_c;
  std::optional<std::int32_t> maybe_whole;
  std::optional<double> maybe_wide;
  std::optional<float> maybe_real;
  std::optional<bool> maybe_truth;
  std::optional<Date> maybe_day;
  std::optional<Timestamp> maybe_at;
  friend bool operator==(const Cells&, const Cells&) = default;
};

/// Values of all kinds, with those at the ends among them.
struct Values {
  std::mt19937_64 random;
  std::vector<std::string> parts;  // of texts

  template <class T>
  T any() {
    const std::uint64_t bits = random();
    if constexpr (std::same_as<T, std::string>) {
      std::string text;
      for (std::uint64_t n = bits % 5; n > 0; --n) text += parts[random() % parts.size()];
      return text;
    } else if constexpr (std::same_as<T, bool>) {
      return bits % 2 != 0;
    } else if constexpr (std::same_as<T, Date>) {  // of years of four digits
      constexpr std::int64_t kFirst = -719'528, kLast = 2'932'896;
      return {static_cast<std::int32_t>(bits % 20 == 0   ? kFirst
                                        : bits % 20 == 1 ? kLast
                                                         : kFirst + static_cast<std::int64_t>(bits >> 8) % (kLast - kFirst))};
    } else if constexpr (std::same_as<T, Timestamp>) {
      const std::int64_t begin = any<Date>().days * Timestamp::kDay;
      constexpr std::int64_t kUnits[]{1, 1000, 1'000'000, 60'000'000, Timestamp::kDay};
      return {begin + static_cast<std::int64_t>(bits >> 8) % Timestamp::kDay / kUnits[bits % 5] * kUnits[bits % 5]};
    } else if constexpr (std::floating_point<T>) {
      using Limits = std::numeric_limits<T>;
      constexpr T kEnds[]{Limits::max(),
                          Limits::lowest(),
                          Limits::min(),
                          Limits::denorm_min(),
                          -Limits::denorm_min(),
                          T(0),
                          -T(0),
                          T(0.1),
                          T(1e10),
                          T(9007199254740993.0),
                          T(0x1p63),
                          T(-0x1p63),
                          T(0x1p64)};
      if (bits % 4 == 0) return kEnds[(bits >> 8) % std::size(kEnds)];
      T value = std::bit_cast<T>(static_cast<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>(random()));
      return std::isfinite(value) ? value : T(1);
    } else if constexpr (std::integral<T>) {
      using Limits = std::numeric_limits<T>;
      constexpr T kEnds[]{Limits::min(), Limits::max(), T(0), T(1), static_cast<T>(-1)};
      return bits % 4 == 0 ? kEnds[(bits >> 8) % std::size(kEnds)] : static_cast<T>(bits >> (bits % 32));
    } else {
      return bits % 3 == 0 ? T() : T(any<typename T::value_type>());
    }
  }
  template <class T>
  T row() {
    T made;
    std::apply([&](auto&... field) { ((field = any<std::remove_reference_t<decltype(field)>>()), ...); }, fields_of(made));
    return made;
  }
};

TEST_F(RoundTrip, RowsOfAllKindsOfCellsComeBackInAnyFormatOfCsv) {
  constexpr std::uint64_t kSeed = 20'261'130;
  Values values{std::mt19937_64(kSeed), {}};
  const auto one_of = [&](std::string_view among) { return among[values.random() % among.size()]; };
  for (int run = 0; run < 60; ++run) {
    CsvFormat format{
        .delimiter = one_of(",,;\t| :-.+05eTtnZ'"), .quote = one_of("\"\"\"'|7-a.:"), .header = run % 2 == 0, .multiline = true};
    format.escape = one_of(std::string{format.quote, format.quote, '\\', '^', 'e', '0'});
    if (format.delimiter == format.quote || format.delimiter == format.escape) continue;
    if (run % 3 == 0) format.missing = {"none", "NA"};
    if (run % 3 == 1) format.missing = {std::string("N") + format.quote + format.delimiter + "A"};
    if (run % 4 == 0)
      format.times = {{"day", "%d.%m.%Y"}, {"maybe_day", "%s"}, {"at", "%b %d, %Y %I:%M:%S.%f %p"}, {"maybe_at", "%F %T.%f"}};
    if (run % 5 == 0) format.names = {{"text", ""}, {"c", std::string("7,") + format.quote + format.delimiter}};
    values.parts = {"a",
                    "NA",
                    "0",
                    ",",
                    " ",
                    "\t",
                    "\n",
                    "\r",
                    "\r\n",
                    "\"",
                    "'",
                    "\\",
                    "\xef\xbb\xbf",
                    "\xff",
                    std::string(1, '\0'),
                    std::string(1, format.delimiter),
                    std::string(1, format.quote),
                    std::string(1, format.escape),
                    format.missing[0]};
    std::vector<Cells> rows(40), wanted;
    for (Cells& row : rows) row = values.row<Cells>();
    rows[0].text = "\xef\xbb\xbf" + rows[0].text;
    wanted = rows;
    for (Cells& row : wanted)
      if (row.maybe_text && detail::is_missing(*row.maybe_text, format.missing)) row.maybe_text.reset();
    const auto read = through_csv(rows, format);
    ASSERT_EQ(read.size(), wanted.size()) << "seed " << kSeed << ", run " << run << ", delimiter " << format.delimiter << ", quote "
                                          << format.quote << ", escape " << format.escape;
    for (std::size_t i = 0; i < read.size(); ++i)
      ASSERT_TRUE(read[i] == wanted[i]) << "seed " << kSeed << ", run " << run << ", row " << i << ", delimiter "
                                        << format.delimiter << ", quote " << format.quote << ", escape " << format.escape << ": "
                                        << to_json(read[i]) << "\n"
                                        << to_json(wanted[i]);
  }
}

TEST_F(RoundTrip, ANamelessColumnHasALineForItsName) {
  const std::vector<Alone> rows{{"a"}, {"b"}};
  EXPECT_EQ(through_csv(rows, {.names = {{"text", ""}}}), rows);
}

/// Readers skip a byte order mark at the beginning of a file.
TEST_F(RoundTrip, ATextThatBeginsWithAByteOrderMarkKeepsIt) {
  const std::vector<Alone> rows{{"\xef\xbb\xbf"}, {"\xef\xbb\xbfx"}};
  EXPECT_EQ(through_csv(rows, {.header = false}), rows);
  EXPECT_EQ(through_csv(rows, {.names = {{"text", "\xef\xbb\xbf"}}}), rows);
}

/// Infinities and NaN have no equal in JSON.
TEST_F(RoundTrip, NumbersThatAreNotFiniteComeBackFromCsv) {
  struct NumberRow {
    double wide = 0;
    float real = 0;
  };
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const std::vector<NumberRow> rows{
      {kInfinite, -std::numeric_limits<float>::infinity()}, {-kInfinite, 1}, {std::nan(""), std::nanf("")}, {-std::nan(""), -0.0F}};
  const auto read = through_csv(rows, {.delimiter = 'n'});
  ASSERT_EQ(read.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(read[i].wide), std::bit_cast<std::uint64_t>(rows[i].wide)) << i;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(read[i].real), std::bit_cast<std::uint32_t>(rows[i].real)) << i;
  }
}

struct RealRow {
  float f = 0;
  friend bool operator==(const RealRow&, const RealRow&) = default;
};
struct Reals {
  std::vector<float> f;
  double d = 0;
};

/// Where the double that is nearest to the text is between two floats.
TEST_F(RoundTrip, AFloatOfJsonIsTheOneNearestToItsDigits) {
  const std::string rest = std::string(200, '0') + "1";
  const std::vector<std::pair<std::string, float>> numbers{
      {"7.038531e-26", 7.038531e-26F},
      {"-7.038531e-26", -7.038531e-26F},
      {"1.00000017881393432617187499", 0x1.000002p0F},
      {"1.00000017881393432617187500", 0x1.000004p0F},
      {"1.00000017881393432617187501", 0x1.000004p0F},
      {"1.00000005960464477539062499", 1},
      {"1.00000005960464477539062500", 1},
      {"1.00000005960464477539062501", 0x1.000002p0F},
      {"1.000000059604644775390625" + rest, 0x1.000002p0F},
      {"16777217", 16'777'216},
      {"16777217.0", 16'777'216},
      {"1.6777217e7", 16'777'216},
      {"16777217." + rest, 16'777'218},
      {"16777219", 16'777'220},
      {"-16777219.0", -16'777'220},
      {"9007199791611905", 0x1.000002p53F},  // the double is 2^53 + 2^29, between two floats; the next of which is nearer
      {"-9007199791611905", -0x1.000002p53F},
      {"9223372586610589697", 0x1.000002p63F},   // 2^63 + 2^39 + 1, which only 64 bits without a sign hold
      {"18446745173221179393", 0x1.000002p64F},  // no 64 bits hold it
      {"3.4028235677973366163753939545814e38", std::numeric_limits<float>::max()},
      {"7.0064923216240853546186479164496e-46", std::numeric_limits<float>::denorm_min()},
      {"2.1019476964872256063855943749348e-45", std::numeric_limits<float>::denorm_min()},
      {"2.1019476964872256063855943749349e-45", 2 * std::numeric_limits<float>::denorm_min()},
  };
  detail::JsonLines lines;
  for (const auto& [digits, wanted] : numbers) {
    for (const std::string& before : {std::string(), std::string("\"a\":\"1\\\"" + digits + "\",\"n\":[1,-2e0,{}],")}) {
      RealRow read;
      const auto problem = lines.read("{" + before + "\"f\": " + digits + " }", &read,
                                      [](void* self, detail::JsonNode node, detail::JsonProblem& wrong) {
                                        return detail::read_json(node, *static_cast<RealRow*>(self), kFieldNames<RealRow>, wrong);
                                      });
      EXPECT_FALSE(problem) << digits << ": " << *problem;
      EXPECT_EQ(read.f, wanted) << digits;
    }
    RealRow cell;
    EXPECT_TRUE(detail::read_cell(digits, cell.f) && cell.f == wanted) << digits << ": CSV has the same";
  }
  for (const char* const digits : {"3.4028235677973366163753939545815e38", "-3.4028235677973366163753939545815e38",
                                   "7.0064923216240853546186479164495e-46", "1e39", "1e-46"}) {
    RealRow read;
    EXPECT_TRUE(lines.read(std::string("{\"f\":") + digits + "}", &read,
                           [](void* self, detail::JsonNode node, detail::JsonProblem& wrong) {
                             return detail::read_json(node, *static_cast<RealRow*>(self), kFieldNames<RealRow>, wrong);
                           }))
        << digits;
  }
  // Of several in a line, each has its own digits.
  Reals read;
  std::string line = "{\"f\":[";
  for (const auto& [digits, wanted] : numbers) line += digits + ",7.038531e-26,0.1,";
  const auto problem =
      lines.read(line + "1],\"d\":7.038531e-26}", &read, [](void* self, detail::JsonNode node, detail::JsonProblem& wrong) {
        return detail::read_json(node, *static_cast<Reals*>(self), kFieldNames<Reals>, wrong);
      });
  ASSERT_FALSE(problem) << *problem;
  ASSERT_EQ(read.f.size(), 3 * numbers.size() + 1);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(read.f[3 * i], numbers[i].second) << numbers[i].first;
    EXPECT_EQ(read.f[3 * i + 1], 7.038531e-26F) << i;
    EXPECT_EQ(read.f[3 * i + 2], 0.1F) << i;
  }
  EXPECT_EQ(read.d, 7.038531e-26);
}

TEST_F(RoundTrip, EveryFloatComesBackFromJson) {
  constexpr std::uint64_t kSeed = 7'038'531;
  std::mt19937_64 random(kSeed);
  std::vector<float> floats{7.038531e-26F, -7.038531e-26F};
  while (floats.size() < 300'000) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isfinite(value)) floats.push_back(value);
  }
  detail::JsonLines lines;
  std::vector<float> read;
  const auto problem = lines.read(to_json(floats), &read, [](void* self, detail::JsonNode node, detail::JsonProblem& wrong) {
    return detail::read_json_value(node, *static_cast<std::vector<float>*>(self), wrong);
  });
  ASSERT_FALSE(problem) << *problem;
  ASSERT_EQ(read.size(), floats.size());
  for (std::size_t i = 0; i < floats.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(read[i]), std::bit_cast<std::uint32_t>(floats[i]))
        << "seed " << kSeed << ", " << floats[i];
}

struct Inner {
  float real = 0;
  std::optional<std::string> text;
  std::vector<std::optional<Date>> days;
  friend bool operator==(const Inner&, const Inner&) = default;
};
struct Outer {
  Cells cells;
  std::optional<Cells> maybe;
  std::vector<Inner> inner;
  std::optional<std::vector<bool>> flags;
  std::vector<std::vector<char>> lists;
  std::vector<double> wide;
  friend bool operator==(const Outer&, const Outer&) = default;
};

TEST_F(RoundTrip, RowsOfAllKindsOfValuesComeBackFromJson) {
  constexpr std::uint64_t kSeed = 20'261'201;
  Values values{std::mt19937_64(kSeed),
                {"a", "\"", "\\", "/", "\n", "\r", "\t", "\x7f", "\x01", "\x1f", std::string(1, '\0'), "\xc3\xa9", "\xe2\x80\xa8",
                 "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf", "\xef\xbb\xbf", "\xef\xbf\xbd", "\\u0041", "null"}};
  std::vector<Outer> rows(600);
  for (Outer& row : rows) {
    row.cells = values.row<Cells>();
    if (values.any<bool>()) row.maybe = values.row<Cells>();
    row.inner.resize(values.random() % 4);
    for (Inner& inner : row.inner) {
      inner.real = values.any<float>();
      inner.text = values.any<std::optional<std::string>>();
      inner.days.resize(values.random() % 3);
      for (auto& day : inner.days) day = values.any<std::optional<Date>>();
    }
    if (values.any<bool>()) row.flags = std::vector<bool>{true, false, values.any<bool>()};
    row.lists = {{}, {values.any<char>(), values.any<char>()}};
    row.wide.resize(values.random() % 3);
    for (double& wide : row.wide) wide = values.any<double>();
  }
  const auto read = through_json(rows);
  ASSERT_EQ(read.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    ASSERT_TRUE(read[i] == rows[i]) << "seed " << kSeed << ", row " << i << "\n" << to_json(read[i]) << "\n" << to_json(rows[i]);
}

struct Stay {
  int id = 0;
  std::optional<std::string> city;
  friend auto operator<=>(const Stay&, const Stay&) = default;
};

TEST(HivePartitions, GiveBackEveryText) {
  const ScratchDirectory scratch;
  std::vector<Stay> stays{{0, std::nullopt}};
  for (const char* const city :
       {"Bern", "Biel/Bienne", "50%25", "a%20b", "a=b", "..", "_x", "__HIVE_DEFAULT_PARTITION__", "Zürich", "a\nb", "\"'[]{}*?"})
    stays.push_back({static_cast<int>(stays.size()), city});
  const auto written = run_locally([&](Flow& flow) {
    flow.from_vector(stays).write_csv_by(
        scratch / "out", [](const Stay& stay) { return hive_partition("year", 2026) + "/" + hive_partition("city", stay.city); });
  });
  ASSERT_TRUE(written) << written.error().to_string();
  std::vector<Stay> read;
  const auto ran = run_locally([&](Flow& flow) { read = flow.read_csv<Stay>(scratch / "out", {.multiline = true}).collect(); });
  ASSERT_TRUE(ran) << ran.error().to_string();
  std::sort(read.begin(), read.end());
  EXPECT_EQ(read, stays);
}

}  // namespace
}  // namespace weft::test
