// Conditions on columns of Parquet files, compared with a loop over the values. tests/rows/conditions_test.py does it for the types
// that weft does not write, and for Bloom filters.
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "storage/parquet/module.hpp"
#include "tests/engine/api/condition_sweep.hpp"
#include "tests/support/process.hpp"
#include "tests/support/whole_file.hpp"

namespace weft::test {
namespace {

using Ids = std::vector<std::int64_t>;

struct ParquetConditions : testing::Test {
  void SetUp() override {
    if (const auto module = storage::parquet::load_module(); !module) GTEST_SKIP() << module.error().to_string();
  }
  std::string path(const std::string& name) const { return scratch.path() + "/" + name; }
  static void run(const std::function<void(Flow&)>& define) {
    const auto report = run_locally(define, {.threads = 2, .memory_bytes = 64u << 20});
    ASSERT_TRUE(report) << report.error().to_string();
  }

  /// A file, which is opened again for each condition.
  struct File {
    std::string path, bytes;
  };
  template <class Row>
  std::vector<File> write(const std::vector<Row>& rows, std::uint32_t files) const {
    run([&](Flow& flow) { flow.from_vector(rows, files).write_parquet(path("rows")); });
    std::vector<File> written;
    for (std::uint32_t i = 0; i < files; ++i) {
      const std::string file = path(fmt::format("rows/part-{:05}.parquet", i));
      written.push_back({file, read_file(file)});
    }
    return written;
  }
  /// By make_files.py.
  static File made(const std::string& name) {
    const std::string file = PARQUET_FILES "/" + name + ".parquet";
    return {file, read_file(file)};
  }
  static Result<std::unique_ptr<storage::parquet::Reader>> open(const File& file, const std::vector<Condition>& where) {
    storage::parquet::Shape row;
    row.children.push_back({"id", storage::parquet::Kind::signed_number});
    return storage::parquet::load_module().value()->open(std::make_unique<WholeFile>(file.bytes), file.path, row, where);
  }
  /// Of the rows that meet the conditions. Counts the row groups that were skipped.
  Ids ids(const std::vector<File>& files, const std::vector<Condition>& where) {
    Ids found;
    for (const File& file : files) {
      const auto reader = open(file, where);
      if (!reader) {
        ADD_FAILURE() << reader.error().to_string();
        return found;
      }
      for (std::size_t group = 0; group < (*reader)->row_groups().size(); ++group) {
        if (!(*reader)->may_have_wanted(group)) {
          ++skipped;
          continue;
        }
        EXPECT_TRUE((*reader)->read(group, [&](const storage::parquet::Batch& batch) -> Result<void> {
          for (std::size_t row = 0; row < batch.rows; ++row)
            if (batch.wanted.empty() || batch.wanted[row] != 0) found.push_back(batch.columns[0].signed_numbers[row]);
          return {};
        }));
      }
    }
    return found;
  }
  static std::string refused(const File& file, const Condition& condition) {
    const auto reader = open(file, {condition});
    if (reader) return "";
    EXPECT_EQ(reader.error().code(), Code::invalid_argument);
    return reader.error().to_string();
  }

  ScratchDirectory scratch;
  std::size_t skipped = 0;
};

struct Numbers {
  std::int64_t id = 0;
  std::optional<std::int8_t> i8;
  std::optional<std::int16_t> i16;
  std::optional<std::int32_t> i32;
  std::optional<std::int64_t> i64;
  std::optional<std::uint8_t> u8;
  std::optional<std::uint16_t> u16;
  std::optional<std::uint32_t> u32;
  std::optional<std::uint64_t> u64;
  std::optional<float> f32;
  std::optional<double> f64;
};

template <class T>
std::vector<T> edges() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values;
  if constexpr (std::floating_point<T>) {
    values = {-Limits::infinity(),
              Limits::lowest(),
              T(-0x1p63),
              T(-5.5),
              T(-1),
              T(-0.5),
              T(-0.0),
              T(0),
              Limits::denorm_min(),
              T(0.1),
              T(5),
              T(7),
              T(10),
              255,
              0x1p24f,
              0x1p53f,
              T(0x1p63f),
              T(0x1p64f),
              Limits::max(),
              Limits::infinity(),
              Limits::quiet_NaN()};
  } else {
    values = {Limits::min(), T(Limits::min() + 1), T(0), T(1), T(5), T(7), T(10), T(Limits::max() - 1), Limits::max()};
    if constexpr (std::signed_integral<T>) values.insert(values.begin() + 2, {T(-5), T(-1)});
    // So that all of a row group have the first bit.
    if constexpr (sizeof(T) == 4 && std::unsigned_integral<T>) values.insert(values.end() - 2, {T{1} << 31, (T{1} << 31) + 5});
    if constexpr (sizeof(T) == 8) {
      constexpr T kExact = T{1} << 53;
      values.insert(values.end() - 2, {kExact, kExact + 1, kExact + 2});
      if constexpr (std::unsigned_integral<T>) values.insert(values.end() - 2, {(T{1} << 63) - 1, T{1} << 63, (T{1} << 63) + 5});
    }
  }
  return values;
}

TEST_F(ParquetConditions, OnNumbersAreExactWhateverTheKindsOfBothSides) {
  std::vector<Numbers> rows(24);
  std::vector<std::pair<std::string, std::vector<std::optional<long double>>>> columns;
  const auto add = [&]<class T>(const std::string& name, std::optional<T> Numbers::*field) {
    const std::vector<T> values = edges<T>();
    auto& column = columns.emplace_back(name, decltype(columns)::value_type::second_type(rows.size())).second;
    ASSERT_LE(values.size(), rows.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      rows[i].*field = values[i];
      column[i] = values[i];
    }
  };
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].id = static_cast<std::int64_t>(i);
  add("i8", &Numbers::i8);
  add("i16", &Numbers::i16);
  add("i32", &Numbers::i32);
  add("i64", &Numbers::i64);
  add("u8", &Numbers::u8);
  add("u16", &Numbers::u16);
  add("u32", &Numbers::u32);
  add("u64", &Numbers::u64);
  add("f32", &Numbers::f32);
  add("f64", &Numbers::f64);
  const auto files = write(rows, 8);  // of three rows, with statistics of their own
  std::size_t conditions = 0;
  for (const auto& [name, values] : columns) {
    each_condition(name, [&, &values = values](const Condition& condition, const auto& should_hold, const std::string& words) {
      Ids expected;
      for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] && should_hold(*values[i])) expected.push_back(static_cast<std::int64_t>(i));
      EXPECT_EQ(ids(files, {condition}), expected) << words;
      ++conditions;
    });
  }
  EXPECT_GT(conditions, 3'000u);
  EXPECT_GT(skipped, conditions) << "row groups are excluded";
}

struct Hash {
  std::int64_t id = 0;
  std::uint64_t h = 0;
};

TEST_F(ParquetConditions, KeepNumbersWithoutSignThatAreBeyondThoseWithOne) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63, kMost = std::numeric_limits<std::uint64_t>::max();
  const std::vector<Hash> rows{{1, 5}, {2, kHalf + 5}, {3, kMost}};
  run([&](Flow& flow) { flow.from_vector(rows, 1).write_parquet(path("rows")); });
  const auto kept = [&](const Condition& condition) {
    Ids found;
    run([&](Flow& flow) {
      for (const Hash& row : flow.read_parquet<Hash>(path("rows"), {.where = {condition}}).collect()) found.push_back(row.id);
    });
    return found;
  };
  EXPECT_EQ(kept(column("h") > 10), (Ids{2, 3}));
  EXPECT_EQ(kept(column("h") != 7), (Ids{1, 2, 3}));
  EXPECT_EQ(kept(column("h") >= kHalf), (Ids{2, 3}));
  EXPECT_EQ(kept(column("h") == kMost), (Ids{3}));
  EXPECT_EQ(kept(column("h") < -1), Ids());
  EXPECT_EQ(kept(column("id") < kMost), (Ids{1, 2, 3}));
}

TEST_F(ParquetConditions, StatisticsOfAnotherOrderExcludeNothing) {
  const auto file = made("statistics_of_another_order");
  EXPECT_EQ(ids({file}, {column("h") > 10}), (Ids{1, 2}));
  EXPECT_EQ(ids({file}, {column("h") < 0x1234568}), (Ids{2}));
  EXPECT_EQ(ids({file}, {column("h") == (std::uint64_t{1} << 63) + 5}), (Ids{1}));
}

struct Times {
  std::int64_t id = 0;
  std::optional<Date> day;
  Timestamp at;
};

TEST_F(ParquetConditions, OnTimesTakeTextsOfEveryForm) {
  std::vector<Times> rows;
  const auto noon = [](int day) { return Timestamp::of(Date::of(2026, 11, static_cast<unsigned>(day)), 12 * 3600).microseconds; };
  for (int day = 26; day <= 29; ++day) rows.push_back({day, Date::of(2026, 11, static_cast<unsigned>(day)), {noon(day)}});
  rows.push_back({1, std::nullopt, {noon(28) + 500'000}});
  rows.push_back({2, Date::of(1969, 12, 31), {-1}});
  rows.push_back({3, Date::of(1, 1, 1), Timestamp::of(Date::of(9999, 12, 31))});
  const auto files = write(rows, 3);
  const auto expect = [&](const Condition& condition, Ids expected) {
    EXPECT_EQ(ids(files, {condition}), expected) << condition.text;
  };
  expect(column("day") < "2026-11-28", {26, 27, 2, 3});
  expect(column("day") < "2026-11-28T12:00:00", {26, 27, 28, 2, 3});
  expect(column("day") <= "2026-11-28T12:00:00", {26, 27, 28, 2, 3});
  expect(column("day") >= "2026-11-28T12:00:00", {29});
  expect(column("day") > "2026-11-28T00:00:00.000001", {29});
  expect(column("day") == "2026-11-28T12:00:00", {});
  expect(column("day") != "2026-11-28T12:00:00", {26, 27, 28, 29, 2, 3});
  expect(column("day") == "2026-11-28 00:00", {28});
  expect(column("day") == "2026-11-28T01:00+01:00", {28});
  expect(column("day") > "1969-12-30T23:59:59Z", {26, 27, 28, 29, 2});
  expect(column("day") > "1969-12-31T00:00:01Z", {26, 27, 28, 29});
  expect(column("day") <= Date::of(1969, 12, 31).days, {2, 3});
  expect(column("day") < 0.5, {2, 3});
  for (const std::string text : {"2026-11-28T12:00:00", "2026-11-28 12:00", "2026-11-28T12:00:00Z", "2026-11-28T12:00:00.000Z",
                                 "2026-11-28T12:00:00.000000999", "2026-11-28T14:30:00+02:30", "2026-11-28T07:00-0500"})
    expect(column("at") == text, {28});
  expect(column("at") > "2026-11-28T12:00:00.499999Z", {29, 1, 3});
  expect(column("at") <= "2026-11-28T12:00:00.5", {26, 27, 28, 1, 2});
  expect(column("at") < "1970-01-01", {2});
  expect(column("at") >= "1969-12-31T23:59:59.999999", {26, 27, 28, 29, 1, 2, 3});
  for (const std::string text :
       {"yesterday", "2026-11-8", "28.11.2026", "2026-02-29", "2026-11-28T25:00", "2026-11-28T12", "2026-11-28Z",
        "2026-11-28 12:00 +01:00", "2026-11-28T12:00:00.1234567890", " 2026-11-28", "2026-11-28\n", ""}) {
    for (const auto& [name, type] : {std::pair("day", "date32[day]"), std::pair("at", "timestamp[us, tz=UTC]")}) {
      const std::string said = refused(files[0], column(name) > text);
      EXPECT_EQ(said.substr(0, said.find('\'')), files[0].path + ": where compares column ") << said;
      EXPECT_NE(said.find(fmt::format("column '{}' of type {} with a text, '", name, type)), std::string::npos) << said;
      EXPECT_NE(said.find("', that is neither a date (2026-11-28) nor a time (2026-11-28T04:40:27Z)"), std::string::npos) << said;
      EXPECT_EQ(said.find('\n'), std::string::npos);
    }
  }
}

TEST_F(ParquetConditions, OnTimesOfOtherUnitsSeeMicrosecondsInRowsStatisticsAndFilters) {
  const auto file = made("times_of_other_units");
  const auto expect = [&](const Condition& condition, Ids expected) { EXPECT_EQ(ids({file}, {condition}), expected); };
  expect(column("duration") >= 1'000'000, {2});
  expect(column("duration") == 5'000'000, {2});
  expect(column("duration") < 0, {1});
  expect(column("duration") == -1'000, {1});
  expect(column("ns") == 0, {2});
  expect(column("ns") == -1, {1});
  expect(column("ns") == "2025-11-28T12:00:27.123456", {3});
  expect(column("ns") > "2025-11-28T12:00:27.123455999Z", {3});
  expect(column("ms") == -1'000, {1});
  expect(column("ms") == 5'000, {2});
  expect(column("ms") == 5, {});
  expect(column("ms") == "2025-11-28 12:00:27.123", {3});
  expect(column("clock") == 5'000'000, {2});
  expect(column("clock") > 5'000'000, {3});
  expect(column("day") == "2025-11-28", {3});
  expect(column("day") == 0u, {2});
  skipped = 0;
  expect(column("day") == 20'419, {});
  EXPECT_EQ(skipped, 3u);
}

TEST_F(ParquetConditions, OnDecimalsAreExact) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const std::string n15(15, '9'), n38(38, '9'), n66(66, '9'), n10(10, '9');
  for (const std::string name : {"decimals_as_bytes", "decimals_as_numbers"}) {
    const auto file = made(name);
    const auto expect = [&](const Condition& condition, Ids expected) {
      EXPECT_EQ(ids({file}, {condition}), expected) << name << " " << condition.column << " " << condition.text;
    };
    expect(column("price") >= "10", {2, 3});
    expect(column("price") == "9.5", {1});
    expect(column("price") == "+0.095e2", {1});
    expect(column("price") != "9.5", {2, 3, 4});
    expect(column("price") < "9.501", {1, 4});
    expect(column("price") > "9.499", {1, 2, 3});
    expect(column("price") == "9.501", {});
    expect(column("price") != "9.501", {1, 2, 3, 4});
    expect(column("price") < "0", {4});
    expect(column("price") <= "-.01", {4});
    expect(column("price") < "-0.01", {});
    expect(column("price") > "-0.011", {1, 2, 3, 4});
    expect(column("price") < "-1e-300", {4});
    expect(column("price") >= "-0.001", {1, 2, 3});
    expect(column("price") <= "1e400", {1, 2, 3, 4});
    expect(column("price") <= "-1e99999999999999999999", {});
    expect(column("price") == "1e2", {3});
    expect(column("price") == "0.00000", {});
    expect(column("price") >= 10, {2, 3});
    expect(column("price") == 100u, {3});
    expect(column("price") >= kMost, {});
    expect(column("price") == 9.5, {1});
    expect(column("price") < 9.51, {1, 4});
    expect(column("price") == -0.01, {4});
    expect(column("long") == n15 + ".125", {1});
    expect(column("long") > n15 + ".1249", {1});
    expect(column("long") < "-" + n15 + ".1249", {2});
    expect(column("long") == 0, {3});
    expect(column("wide") == n38, {1});
    expect(column("wide") > n38 + "e-1", {1, 2});
    expect(column("wide") < n38, {2, 3, 4, 5});
    expect(column("wide") == "-" + n38, {3});
    expect(column("wide") > kMost, {1, 2, 4});
    expect(column("wide") <= kMost, {3, 5});
    expect(column("wide") > "1" + std::string(38, '0'), {});
    expect(column("wider") == n66 + "." + n10, {1});
    expect(column("wider") >= n66 + "." + n10, {1});
    expect(column("wider") < n66 + "." + n10, {2, 3, 5});
    expect(column("wider") > n66 + "." + n10 + "1", {});
    expect(column("wider") == "-" + n66 + "." + n10, {2});
    expect(column("wider") < "-" + n66 + "." + n10 + "1", {});
    expect(column("wider") > "0.00000000009", {1, 3, 5});
    expect(column("wider") == "1e-10", {3});
    expect(column("wider") == kMost, {5});
    expect(column("wider") < "1" + std::string(66, '0'), {1, 2, 3, 5});
    skipped = 0;
    expect(column("wider") > 5, {1, 5});
    EXPECT_EQ(skipped, name == "decimals_as_bytes" ? 3u : 0u) << "by statistics of any length";
    for (const std::string text : {"", ".", "-", "ten", "9,5", "1e", "0x10", " 1", "1 ", "nan", "inf", "--1", "1.2.3"}) {
      const std::string said = refused(file, column("price") == text);
      EXPECT_NE(said.find(file.path + ": where compares column 'price' of type decimal128(9, 2) with a text, '" + text +
                          "', that is no number"),
                std::string::npos)
          << said;
    }
  }
}

struct Texts {
  std::int64_t id = 0;
  std::string name;
  bool flag = false;
  std::vector<int> list;
};

TEST_F(ParquetConditions, ThatCannotBeComparedAreRefused) {
  const auto file = write(std::vector<Texts>{{1, "a", true, {}}}, 1)[0];
  const auto expect = [&](const Condition& condition, const std::string& words) {
    const std::string said = refused(file, condition);
    EXPECT_TRUE(said.find(file.path + ": " + words) != std::string::npos) << said;
  };
  expect(column("name") > 3, "column 'name' is of type string, and where compares it with a number");
  expect(column("name") > 3u, "column 'name' is of type string, and where compares it with a number");
  expect(column("id") > "3", "column 'id' is of type int64, and where compares it with a text");
  expect(column("flag") == 1, "column 'flag' is of type bool, and where compares it with a number");
  expect(column("list") == 1, "column 'list' is of type list<element: int32 not null>, and where compares it with a number");
  expect(column("nothing") == 1, "there is no column 'nothing' among 'id', 'name'");
}

struct Payment {
  std::int64_t id = 0;
  std::optional<bool> paid;
  Date day;
  Timestamp at;
};

TEST_F(ParquetConditions, CompareTruthValuesDaysAndMoments) {
  const Date day = Date::of(2026, 11, 28);
  const auto payment = [&](std::int64_t id, std::optional<bool> paid) {
    return Payment{id, paid, Date{day.days + static_cast<std::int32_t>(id)}, Timestamp::of(day, 3600 * id)};
  };
  const auto files = write<Payment>({payment(1, true), payment(2, false), payment(3, std::nullopt), payment(4, false),
                                     payment(5, std::nullopt), payment(6, false)},
                                    2);
  EXPECT_EQ(ids(files, {column("paid") == true}), Ids{1});
  EXPECT_EQ(skipped, 1u) << "of the second file all that are there are false";
  EXPECT_EQ(ids(files, {column("paid") == false}), (Ids{2, 4, 6}));
  EXPECT_EQ(ids(files, {column("paid") != true}), (Ids{2, 4, 6}));
  EXPECT_EQ(ids(files, {column("paid") != false}), Ids{1});
  EXPECT_EQ(ids(files, {column("id") == true}), Ids{1}) << "of a column of numbers";
  EXPECT_NE(refused(files[0], column("paid") == 1).find("is of type bool, and where compares it with a number"), std::string::npos);
  EXPECT_EQ(ids(files, {column("day") >= Date{day.days + 5}}), (Ids{5, 6}));
  EXPECT_EQ(ids(files, {column("at") < Timestamp::of(day, 2 * 3600)}), Ids{1});
}

}  // namespace
}  // namespace weft::test
