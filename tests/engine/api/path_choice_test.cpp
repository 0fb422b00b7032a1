// Directories "KEY=VALUE" as fields of rows. tests/rows/parquet_test.py reads those that DuckDB and pyarrow write.
#include "engine/api/path_choice.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "engine/api/path_columns.hpp"
#include "storage/partition_path.hpp"
#include "tests/engine/api/condition_sweep.hpp"
#include "tests/support/checks.hpp"
#include "tests/support/process.hpp"

namespace weft::test {
namespace {

struct Visit {
  std::int64_t id = 0;
  std::int16_t year = 0;
  std::optional<std::string> city;
  friend auto operator<=>(const Visit&, const Visit&) = default;
};
using Visits = std::vector<Visit>;

TEST(PartitionPath, SaysWhatDirectoriesMean) {
  const auto values =
      storage::partition_values("s3://bucket/a=b/year=20%326/=x/c/100%=%zz%4/d%3D=__HIVE_DEFAULT_PARTITION__/name=file");
  std::vector<std::pair<std::string, std::optional<std::string>>> found;
  for (const auto& [key, value] : values) found.emplace_back(key, value);
  EXPECT_EQ(found, (decltype(found){{"a", "b"}, {"year", "2026"}, {"100%", "%zz%4"}, {"d=", std::nullopt}}));
}

/// Of the directories VALUE, for a field of that type or none.
template <class T>
bool meets(const std::string& value, const Condition& condition) {
  const std::vector<std::string> names{"value"};
  const auto fields = detail::path_fields("read_csv", detail::kCellTypes<std::tuple<T&>>, names, {condition}, true, false);
  storage::InputFiles files;
  files.paths.push_back("s3://b/value=" + value + "/x");
  files.versions.emplace_back();
  const auto chosen = fields->choose(files);
  EXPECT_TRUE(chosen) << chosen.error().to_string();
  return !files.paths.empty();
}

TEST(PathChoice, ComparesNumbersExactlyWhateverTheirKinds) {
  struct Value {
    std::string text;
    long double number;
  };
  const std::vector<Value> signed_ones{
      {"-9223372036854775808", -0x1p63L},  {"-1", -1}, {"0", 0}, {"7", 7}, {"9007199254740993", 0x1p53L + 1},
      {"9223372036854775807", 0x1p63L - 1}};
  const std::vector<Value> unsigned_ones{
      {"5", 5}, {"9223372036854775808", 0x1p63L}, {"9223372036854775813", 0x1p63L + 5}, {"18446744073709551615", 0x1p64L - 1}};
  const std::vector<Value> reals{{"-0.5", -0.5}, {"5.5", 5.5}, {"1e300", 1e300}, {"0.1", 0.1}, {"nan", std::nan("")}};
  each_condition("value", [&](const Condition& condition, const auto& should_hold, const std::string& words) {
    for (const Value& value : signed_ones)
      EXPECT_EQ(meets<std::int64_t>(value.text, condition), should_hold(value.number)) << value.text << ": " << words;
    for (const Value& value : unsigned_ones)
      EXPECT_EQ(meets<std::uint64_t>(value.text, condition), should_hold(value.number)) << value.text << ": " << words;
    for (const Value& value : reals)
      EXPECT_EQ(meets<double>(value.text, condition), should_hold(value.number)) << value.text << ": " << words;
  });
}

TEST(PathChoice, ComparesTruthValuesDaysAndMoments) {
  EXPECT_TRUE(meets<bool>("True", column("value") == true));
  EXPECT_FALSE(meets<bool>("false", column("value") == true));
  EXPECT_TRUE(meets<bool>("false", column("value") != true));
  EXPECT_TRUE(meets<Date>("2026-11-28", column("value") >= Date::of(2026, 11, 28)));
  EXPECT_FALSE(meets<Date>("2026-11-28", column("value") > Date::of(2026, 11, 28)));
  EXPECT_TRUE(meets<Timestamp>("2026-11-28T04:40", column("value") == Timestamp::of(Date::of(2026, 11, 28), 4 * 3600 + 40 * 60)));
}

TEST(PathChoice, DropsFilesOfAnyStoreWithTheirVersions) {
  const std::vector<std::string> names{"year"};
  const auto fields =
      detail::path_fields("read_csv", detail::kCellTypes<std::tuple<std::int64_t&>>, names, {column("year") >= 2026}, true, false);
  storage::InputFiles files;
  for (const std::string path : {"s3://b/year=2025/x", "s3://b/year=2027/x", "hdfs://h/t/year=1/x", "weft://t/year=2026/x"}) {
    files.paths.push_back(path);
    files.versions.push_back({.bytes = path.size()});
  }
  ASSERT_TRUE(fields->choose(files));
  EXPECT_EQ(files.paths, (std::vector<std::string>{"s3://b/year=2027/x", "weft://t/year=2026/x"}));
  ASSERT_EQ(files.versions.size(), 2u);
  EXPECT_EQ(files.versions[1].bytes, files.paths[1].size());
}

struct Real {
  float f = 0;
  double d = 0;
  std::string s;
};

TEST(PathColumns, AFloatIsTheOneNearestToTheDigitsOfItsDirectory) {
  namespace pq = storage::parquet;
  const std::vector<std::string> names{"f", "d", "s"};
  const detail::ParquetInput input{detail::shape_of_row<Real>(names), {}};
  detail::PathColumns columns(input, "t/f=7.038531e-26/d=7.038531e-26/x.parquet");
  const std::vector<std::string_view> texts{"a", "b"};
  pq::Batch in_file{2, {}};
  in_file.columns.emplace_back().texts = texts;
  const pq::Batch batch = columns.with(in_file);
  Real row;
  detail::ParquetProblem problem;
  ASSERT_TRUE(detail::read_parquet_row(batch.columns, 1, row, problem, kFieldNames<Real>));
  EXPECT_EQ(row.f, 7.038531e-26F);
  EXPECT_EQ(row.d, 7.038531e-26);
  EXPECT_EQ(row.s, "b");
}

struct Partitions : testing::Test {
  /// A file below the input directory; its directories are made.
  void put(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = scratch / ("in/" + name);
    std::filesystem::create_directories(path.parent_path());
    write_file(path, text);
  }
  template <class T = Visit>
  static std::vector<T> sorted(std::vector<T> rows) {
    std::sort(rows.begin(), rows.end());
    return rows;
  }
  template <class T = Visit>
  std::vector<T> read_csv(const CsvFormat& format = {}) const {
    std::vector<T> rows;
    run([&](Flow& flow) { rows = flow.read_csv<T>(scratch / "in", format).collect(); });
    return sorted(rows);
  }
  Visits read_json(const JsonFormat& format = {}) const {
    Visits rows;
    run([&](Flow& flow) { rows = flow.read_json<Visit>(scratch / "in", format).collect(); });
    return sorted(rows);
  }
  static void run(const std::function<void(Flow&)>& define) {
    const auto report = run_locally(define, {.threads = 2});
    ASSERT_TRUE(report) << report.error().to_string();
    EXPECT_EQ(report->bad_records, 0u);
  }
  template <class T = Visit>
  std::string refused_csv(const CsvFormat& format = {}) const {
    const auto report = run_locally([&](Flow& flow) { flow.read_csv<T>(scratch / "in", format).collect(); }, {.threads = 2});
    const std::string text = report ? "" : report.error().to_string();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text;
  }
  const ScratchDirectory scratch;
};

TEST_F(Partitions, AreFieldsOfCsv) {
  put("year=2025/city=Bern/a.csv", "id\n1\n2\n");
  put("year=2026/city=K%C3%B6ln%2Fsouth/a.csv", "note,id\nx,3\n");
  put("year=2026/city=__HIVE_DEFAULT_PARTITION__/b.csv", "id,year,city\n4,1999,Rome\n");  // the directory counts
  put("year=2026/city=100%/b=c.csv", "id\n5\n");
  EXPECT_EQ(read_csv(),
            (Visits{{1, 2025, "Bern"}, {2, 2025, "Bern"}, {3, 2026, "Köln/south"}, {4, 2026, std::nullopt}, {5, 2026, "100%"}}));
}

TEST_F(Partitions, AreFieldsOfCsvWithoutHeaderAndOfViews) {
  put("year=7/a", "1,x\n2,\n");
  EXPECT_EQ(read_csv({.header = false}), (Visits{{1, 7, "x"}, {2, 7, std::nullopt}}));
  EXPECT_EQ(read_csv({.header = false, .columns = {"city", "id"}, .where = {column("year") != 7}}), Visits());
  struct View {
    std::string_view year, id;
  };
  run([&](Flow& flow) {
    const auto years = flow.read_csv<View>(scratch / "in", {.header = false, .columns = {"id", "-"}}).map([](const View& row) {
      return std::string(row.year) + std::string(row.id);
    });
    EXPECT_EQ(years.collect(), (std::vector<std::string>{"71", "72"}));
  });
}

TEST_F(Partitions, AreFieldsOfLaterSplitsOfAFile) {
  std::string text = "id\n";
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i) + "\n";
  put("year=1/city=a/f", text);
  put("year=2/city=b/f", text);
  std::int64_t sum = 0;
  const auto report = run_locally(
      [&](Flow& flow) {
        sum = flow.read_csv<Visit>(scratch / "in")
                  .map([](const Visit& visit) { return visit.id * visit.year + (*visit.city == "a" ? 1 : 0); })
                  .reduce([](std::int64_t a, std::int64_t b) { return a + b; })
                  .value();
      },
      {.threads = 3});
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(sum, 3 * 199'990'000LL + 20'000);
}

TEST_F(Partitions, AreFieldsOfJson) {
  put("year=2025/city=Bern/a.json", "{\"id\":1}\n{\"id\":2,\"year\":\"no number\",\"city\":5}\n");
  put("year=2026/city=__HIVE_DEFAULT_PARTITION__/a.json", "{\"city\":\"Rome\",\"id\":3}\n");
  EXPECT_EQ(read_json(), (Visits{{1, 2025, "Bern"}, {2, 2025, "Bern"}, {3, 2026, std::nullopt}}));
  EXPECT_EQ(read_json({.where = {column("year") > 2025}}), (Visits{{3, 2026, std::nullopt}}));
  EXPECT_EQ(read_json({.where = {column("city") == "Bern"}}), (Visits{{1, 2025, "Bern"}, {2, 2025, "Bern"}}));
}

TEST_F(Partitions, AreFieldsOfAnotherName) {
  put("Jahr=2025/Stadt=x/a.csv", "id\n1\n");
  EXPECT_EQ(read_csv({.names = {{"year", "Jahr"}, {"city", "Stadt"}}}), (Visits{{1, 2025, "x"}}));
}

struct Twice {
  std::string text;
  std::int16_t number = 0;
  std::int64_t id = 0;
  friend auto operator<=>(const Twice&, const Twice&) = default;
};
const std::map<std::string, std::string> kBothYear{{"text", "year"}, {"number", "year"}};

struct Sparse {
  std::optional<std::int16_t> year;
  std::int64_t id = 0;
  friend auto operator<=>(const Sparse&, const Sparse&) = default;
};

TEST_F(Partitions, OfAWordThatMeansAMissingValueHaveNone) {
  put("year=NA/a.csv", "id\n1\n");
  put("year=2025/a.csv", "id\n2\n");
  EXPECT_EQ(read_csv<Sparse>({.missing = {"", "NA"}}), (std::vector<Sparse>{{std::nullopt, 1}, {2025, 2}}));
  EXPECT_EQ(read_csv<Sparse>({.missing = {"NA"}, .where = {column("year") != 7}}), (std::vector<Sparse>{{2025, 2}}));
  EXPECT_TRUE(has(refused_csv<Sparse>(), "'year=NA'"));
  struct Dense {
    std::int16_t year = 0;
    std::int64_t id = 0;
  };
  EXPECT_TRUE(has(refused_csv<Dense>({.missing = {"NA"}}), "'year=NA'")) << "the field takes no missing value";
}

TEST_F(Partitions, MayBeSeveralFieldsAtOnce) {
  const std::string long_zeros(40, '0');  // a text that a move takes away
  put("year=" + long_zeros + "2025/a.csv", "id\n1\n2\n");
  EXPECT_EQ(read_csv<Twice>({.names = kBothYear}),
            (std::vector<Twice>{{long_zeros + "2025", 2025, 1}, {long_zeros + "2025", 2025, 2}}));
  const auto values = detail::path_values("year=" + long_zeros + "/x", std::vector<std::string>{"year", "id", "year"});
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0].text, long_zeros);
  EXPECT_EQ(values[1].text, long_zeros);
  EXPECT_EQ(values[1].field, 2u);
  put("year=soon/b.csv", "id\n3\n");
  EXPECT_TRUE(has(refused_csv<Twice>({.names = kBothYear}), "'year=soon'")) << "it fits one of the fields";
}

TEST_F(Partitions, AndMembersOfSeveralFieldsAreRefusedInJson) {
  put("a.json", "{\"year\":2025,\"id\":1}\n");
  const auto refused = [](const std::function<void(Flow&)>& define) {
    const auto report = run_locally(define, {.threads = 1});
    return report ? "" : report.error().to_string();
  };
  const std::string wanted = "JsonFormat::names: two fields have the member 'year'";
  EXPECT_TRUE(has(refused([&](Flow& flow) { flow.read_json<Twice>(scratch / "in", {.names = kBothYear}).count(); }), wanted));
  EXPECT_TRUE(has(refused([&](Flow& flow) {
                    flow.from_vector(std::vector<Twice>(1)).write_json(scratch / "out", {.names = {{"text", "number"}}});
                  }),
                  "have the member 'number'"));
}

TEST_F(Partitions, OfWhichConditionsRefuseAreNotListed) {
  put("year=2025/month=1/city=a/a.csv", "id\n1\n");
  put("year=2025/month=12/city=a/a.csv", "id\n2\n");
  put("year=2026/month=2/city=__HIVE_DEFAULT_PARTITION__/a.csv", "id\n3\n");
  put("year=2026/month=010/city=b/a.csv", "id\n4\n");
  const auto ids = [&](std::vector<ParquetColumn::Condition> where) {
    std::vector<std::int64_t> found;
    for (const Visit& visit : read_csv({.where = std::move(where)})) found.push_back(visit.id);
    return found;
  };
  using Ids = std::vector<std::int64_t>;
  EXPECT_EQ(ids({column("month") >= 10}), (Ids{2, 4})) << "as numbers, although no field says that they are";
  EXPECT_EQ(ids({column("year") == 2025, column("month") < 12}), (Ids{1}));
  EXPECT_EQ(ids({column("month") <= 2.5}), (Ids{1, 3}));
  EXPECT_EQ(ids({column("month") > "1"}), (Ids{2, 3})) << "as texts";
  EXPECT_EQ(ids({column("city") != "a"}), (Ids{4})) << "a missing value meets no condition";
  EXPECT_EQ(ids({column("year") == 1999}), Ids());
  std::filesystem::create_symlink("nowhere", scratch / "in/year=2025/broken");  // which fails whoever looks at it
  std::filesystem::create_symlink("nowhere", scratch / "in/year=2026/month=2/broken");
  EXPECT_EQ(ids({column("year") > 2025, column("month") == 10}), (Ids{4})) << "what is pruned is not looked into";
  EXPECT_TRUE(has(refused_csv({.where = {column("year") > 2025}}), "month=2/broken"));
}

struct Typed {
  std::int64_t id = 0;
  Date day;
  bool paid = false;
  std::optional<double> rate;
  friend auto operator<=>(const Typed&, const Typed&) = default;
};

TEST_F(Partitions, AreOfAnyTypeOfCells) {
  put("day=2026-02-28/paid=true/rate=0.5/a", "id\n1\n");
  put("day=2026-03-01/paid=false/rate=1e3/a", "id\n2\n");
  put("day=2026-03-01/paid=0/rate=__HIVE_DEFAULT_PARTITION__/a", "id\n3\n");
  const std::vector<Typed> all = {{1, Date::of(2026, 2, 28), true, 0.5},
                                  {2, Date::of(2026, 3, 1), false, 1000},
                                  {3, Date::of(2026, 3, 1), false, std::nullopt}};
  EXPECT_EQ(read_csv<Typed>(), all);
  EXPECT_EQ(read_csv<Typed>({.where = {column("day") >= "2026-03-01", column("paid") == false}}),
            (std::vector<Typed>{all[1], all[2]}));
  EXPECT_EQ(read_csv<Typed>({.where = {column("day") < Date::of(2026, 3, 1).days}}), (std::vector<Typed>{all[0]}));
  EXPECT_EQ(read_csv<Typed>({.where = {column("rate") > 1}}), (std::vector<Typed>{all[1]}));
  EXPECT_TRUE(has(refused_csv<Typed>({.where = {column("rate") > "1"}}), "where compares column 'rate' with a text"));
  EXPECT_TRUE(has(refused_csv<Typed>({.where = {column("day") > "yester\nday"}}),
                  "where compares column 'day' with a text, 'yester\\nday', that is neither a date (2026-11-28) nor a time "
                  "(2026-11-28T04:40:27Z)"));
}

TEST_F(Partitions, OfDaysAndMomentsCompareWithMoments) {
  const auto meeting = [&]<class T>(std::type_identity<T>, const std::vector<std::string>& values, const Condition& condition) {
    std::vector<std::string> met;
    for (const std::string& value : values)
      if (meets<T>(value, condition)) met.push_back(value);
    return met;
  };
  using Values = std::vector<std::string>;
  const Values days{"2026-11-27", "2026-11-28", "2026-11-29"};
  const auto of_days = [&](const Condition& condition) { return meeting(std::type_identity<Date>(), days, condition); };
  EXPECT_EQ(of_days(column("value") < "2026-11-28T12:00:00"), (Values{"2026-11-27", "2026-11-28"}));
  EXPECT_EQ(of_days(column("value") >= "2026-11-28T12:00:00"), (Values{"2026-11-29"}));
  EXPECT_EQ(of_days(column("value") == "2026-11-28T12:00:00"), Values());
  EXPECT_EQ(of_days(column("value") == "2026-11-28 00:00Z"), (Values{"2026-11-28"}));
  const Values moments{"2026-11-28T04:40:27Z", "2026-11-28 04:40:27.5", "2026-11-28T06:40:28+02:00"};
  const auto of_moments = [&](const Condition& condition) { return meeting(std::type_identity<Timestamp>(), moments, condition); };
  EXPECT_EQ(of_moments(column("value") < "2026-11-28 05:40:27.5+01:00"), (Values{moments[0]}));
  EXPECT_EQ(of_moments(column("value") > "2026-11-28"), moments);
  for (const std::string text : {"2026-11-8", "28.11.2026", "2026-02-29", "2026-11-28T24:00", "2026-11-28Z", ""}) {
    const std::vector<std::string> names{"day"};
    const auto fields =
        detail::path_fields("read_csv", detail::kCellTypes<std::tuple<Date&>>, names, {column("day") == text}, true, false);
    storage::InputFiles files;
    files.paths = {"s3://b/day=2026-11-28/x"};
    files.versions.resize(1);
    EXPECT_FALSE(fields->choose(files)) << text;
  }
}

TEST_F(Partitions, ThatFitNoFieldAreErrorsThatNameTheFile) {
  const auto refused_with = [&](const std::string& name, const std::string& why, const CsvFormat& format = {}) {
    std::filesystem::remove_all(scratch / "in");
    put(name, "id\n1\n");
    const std::string text = refused_csv(format);
    EXPECT_TRUE(has(text, why) && has(text, scratch / ("in/" + name))) << text;
  };
  refused_with("year=soon/city=a/f", "the directory 'year=soon' on the way to ");
  refused_with("year=70000/city=a/f", "is not a whole number that fits its field");
  refused_with("year=/city=a/f", "the directory 'year=' on the way to ");
  refused_with("year=__HIVE_DEFAULT_PARTITION__/city=a/f", "stands for a missing value, but its field is no std::optional");
  refused_with("year=1/year=2/city=a/f", "is the second one that gives this field a value");
  refused_with("city=a/f", "have no 'year'");
  refused_with("year=1/city=a/f", "there is no directory 'month=...' on the way to ", {.where = {column("month") == 1}});
  refused_with("year=1/city=a/f", "there is no directory 'year=...' on the way to ",
               {.hive_partitions = false, .where = {column("year") == 1}});
  refused_with("year=1/city=a/f", "where compares column 'city' with a number", {.where = {column("city") == 1}});
  refused_with("year=1/month=x/city=a/f", "a directory on the way to ", {.where = {column("month") == 1}});
  put("year=2/f", "id,city\n1,x\n");
  EXPECT_TRUE(has(refused_csv(), "there is no directory 'city=...' on the way to ")) << "directories of different depth";
  struct Listed {
    std::int64_t id;
    std::vector<int> year;
  };
  const auto report = run_locally([&](Flow& flow) { flow.read_json<Listed>(scratch / "in").count(); }, {});
  EXPECT_TRUE(!report && has(report.error().to_string(), "gives a value to a field that is a list or a struct"));
}

TEST_F(Partitions, AreOnlyNamesWhereTheProgramSaysSo) {
  put("year=soon/a.csv", "id,year,city\n1,2,x\n");
  EXPECT_EQ(read_csv({.hive_partitions = false}), (Visits{{1, 2, "x"}}));
  std::filesystem::remove_all(scratch / "in");
  put("year=soon/a.json", "{\"id\":1,\"year\":2}\n");
  EXPECT_EQ(read_json({.hive_partitions = false}), (Visits{{1, 2, std::nullopt}}));
}

TEST_F(Partitions, ThatWeftWritesAreReadAgain) {
  const Visits visits{{1, 2025, "Bern"}, {2, 2026, "Rome"}, {3, 2026, "Bern"}};
  run([&](Flow& flow) {
    flow.from_vector(visits).write_csv_by(
        scratch / "in", [](const Visit& visit) { return "year=" + std::to_string(visit.year) + "/city=" + *visit.city; });
  });
  EXPECT_EQ(read_csv(), visits);
  EXPECT_EQ(read_csv({.where = {column("city") == "Bern", column("year") > 2025}}), (Visits{visits[2]}));
}

}  // namespace
}  // namespace weft::test
