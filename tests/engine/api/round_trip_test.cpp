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
  struct Number {
    double wide = 0;
    float real = 0;
  };
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const std::vector<Number> rows{
      {kInfinite, -std::numeric_limits<float>::infinity()}, {-kInfinite, 1}, {std::nan(""), std::nanf("")}, {-std::nan(""), -0.0F}};
  const auto read = through_csv(rows, {.delimiter = 'n'});
  ASSERT_EQ(read.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(read[i].wide), std::bit_cast<std::uint64_t>(rows[i].wide)) << i;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(read[i].real), std::bit_cast<std::uint32_t>(rows[i].real)) << i;
  }
}

}  // namespace
}  // namespace weft::test
