// Parquet files that are empty or damaged, and values that no field holds.
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "storage/parquet/module.hpp"
#include "tests/support/process.hpp"

namespace weft::test {
namespace {

struct Row {
  std::int64_t id = 0;
  std::string text;
  friend bool operator==(const Row&, const Row&) = default;
};

struct ParquetFiles : testing::Test {
  void SetUp() override {
    if (const auto module = storage::parquet::load_module(); !module) GTEST_SKIP() << module.error().to_string();
  }
  std::string path(const std::string& name) const { return scratch.path() + "/" + name; }
  /// How the job fails; empty: it succeeds.
  static std::string failure_of(const std::function<void(Flow&)>& define) {
    const auto report = run_locally(define, {.threads = 2, .memory_bytes = 64u << 20, .job = {{"max-attempts", "1"}}});
    return report ? "" : report.error().to_string();
  }
  void write(const std::vector<Row>& rows, const std::string& name, std::uint32_t partitions, ParquetFormat format = {}) const {
    EXPECT_EQ(failure_of([&](Flow& flow) { flow.from_vector(rows, partitions).write_parquet(path(name), format); }), "");
  }
  ScratchDirectory scratch;
};

TEST_F(ParquetFiles, OfTasksWithoutRowsHaveTheColumns) {
  const std::vector<Row> rows{{1, "one"}};
  write(rows, "few", 3);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path("few"))) {
    if (entry.path().filename() == "_SUCCESS") continue;
    ++files;
    EXPECT_EQ(entry.path().extension(), ".parquet") << entry.path();
    std::vector<Row> found;
    EXPECT_EQ(failure_of([&](Flow& flow) {
                auto read = flow.read_parquet<Row>(entry.path().string()).collect();
                flow.on_driver([&] { found = std::move(read); });
              }),
              "");
    EXPECT_LE(found.size(), 1u);
  }
  EXPECT_EQ(files, 3u);
}

TEST_F(ParquetFiles, OfNoBytesAreRefusedUnlessAnEarlierReleaseLeftThem) {
  write({{1, "one"}, {2, "two"}}, "rows", 1);
  std::uint64_t count = 0;
  const auto read = [&](const std::string& from) {
    return failure_of([&](Flow& flow) {
      const std::uint64_t found = flow.read_parquet<Row>(from).count();
      flow.on_driver([&] { count = found; });
    });
  };
  write_file(path("rows/part-00001"), "");
  EXPECT_EQ(read(path("rows")), "") << "a task without rows";
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(read(path("rows/part-*")), "");
  for (const std::string name : {"part-00002.parquet", "part-00002x", "part-2", "data"}) {
    const std::string file = path("rows/" + name);
    write_file(file, "");
    const std::string said = read(path("rows"));
    EXPECT_NE(said.find(file + ": this is no Parquet file, or a part of one"), std::string::npos) << said;
    std::filesystem::remove(file);
  }
  std::filesystem::remove(path("rows/_SUCCESS"));
  EXPECT_NE(read(path("rows")).find("part-00001: this is no Parquet file"), std::string::npos) << "nothing says who wrote it";
}

TEST_F(ParquetFiles, WithADamagedPageAreRefusedByItsChecksum) {
  const std::string text = "a text that stands in the page as it is";
  write({{1, text}}, "rows", 1, {.compression = "none"});
  const std::string file = path("rows/part-00000.parquet");
  const std::string whole = read_file(file);
  std::size_t at = 0, changed = 0, refused = 0;
  while ((at = whole.find(text, at)) != std::string::npos) {  // in the page, and in the statistics
    std::string bytes = whole;
    bytes[at] = 'b';
    const std::string damaged = path("damaged.parquet");
    write_file(damaged, bytes);
    const std::string said = failure_of([&](Flow& flow) { flow.read_parquet<Row>(damaged).collect(); });
    ++changed, ++at;
    if (said.empty()) continue;
    ++refused;
    EXPECT_NE(said.find(damaged), std::string::npos) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
  EXPECT_GT(changed, 0u);
  EXPECT_EQ(refused, 1u) << "the page; statistics have no checksum";
}

struct Lasting {
  std::int64_t id = 0;
  std::optional<Timestamp> at;
  std::optional<std::int64_t> lasted;
  friend bool operator==(const Lasting&, const Lasting&) = default;
};
struct Id {
  std::int64_t id = 0;
  friend bool operator==(const Id&, const Id&) = default;
};

template <class T>
std::pair<std::vector<T>, LocalReport> rows_of(const std::string& file, ParquetFormat format = {}) {
  std::vector<T> rows;
  const auto report = run_locally(
      [&](Flow& flow) {
        auto read = flow.read_parquet<T>(file, format).collect();
        flow.on_driver([&] { rows = std::move(read); });
      },
      {.threads = 1, .memory_bytes = 64u << 20, .job = {{"max-bad-records", "100%"}}});
  EXPECT_TRUE(report) << report.error().to_string();
  return {std::move(rows), report ? *report : LocalReport()};
}

TEST_F(ParquetFiles, OfTimesBeyondAllMicrosecondsHaveBadRecords) {
  const std::string file = PARQUET_FILES "/times_beyond_microseconds.parquet";
  const auto [rows, report] = rows_of<Lasting>(file);
  EXPECT_EQ(rows, (std::vector<Lasting>{{4, std::nullopt, std::nullopt}, {5, Timestamp{1000}, -1'000'000}}));
  EXPECT_EQ(report.bad_records, 3u);
  ASSERT_FALSE(report.bad_record_examples.empty());
  EXPECT_NE(report.bad_record_examples.front().find("column 'at': its value is not"), std::string::npos)
      << report.bad_record_examples.front();
  // A condition knows on which side of it they are.
  EXPECT_EQ(rows_of<Id>(file, {.where = {column("at") > "2026-11-28"}}).first, (std::vector<Id>{{1}}));
  EXPECT_EQ(rows_of<Id>(file, {.where = {column("at") < "1969-11-28"}}).first, (std::vector<Id>{{2}}));
  EXPECT_EQ(rows_of<Id>(file, {.where = {column("lasted") >= 1'000'001}}).first, (std::vector<Id>{{3}}));
  const auto [none, later] = rows_of<Lasting>(file, {.where = {column("at") > "2026-11-28"}});
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(later.bad_records, 1u);
}

}  // namespace
}  // namespace weft::test
