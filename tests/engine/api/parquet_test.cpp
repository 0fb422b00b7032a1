// Parquet in and out. tests/engine/api/parquet_test.py compares with what other programs write and read.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "base/file.hpp"
#include "storage/parquet/module.hpp"
#include "tests/support/process.hpp"
#include "tests/support/whole_file.hpp"

namespace weft::test {
namespace {

struct Line {
  std::string item;
  std::optional<std::int32_t> count;
  friend bool operator==(const Line&, const Line&) = default;
};
struct Order {
  std::int64_t id = 0;
  std::uint8_t kind = 0;
  std::uint64_t big = 0;
  float weight = 0;
  std::optional<double> price;
  bool paid = false;
  std::string buyer;
  std::optional<std::string> note;
  std::vector<std::int16_t> marks;
  std::optional<std::vector<Line>> lines;
  Line first;
  friend bool operator==(const Order&, const Order&) = default;
};
using Orders = std::vector<Order>;

Orders some_orders(std::size_t count) {
  Orders orders;
  for (std::size_t i = 0; i < count; ++i) {
    Order order;
    order.id = static_cast<std::int64_t>(i) - 7;
    order.kind = static_cast<std::uint8_t>(i % 256);
    order.big = std::numeric_limits<std::uint64_t>::max() - i;
    order.weight = static_cast<float>(i) / 4;
    if (i % 3 != 0) order.price = static_cast<double>(i) * 1.25;
    order.paid = i % 2 == 0;
    order.buyer = "buyer " + std::to_string(i % 17);
    if (i % 5 == 0) order.note = i % 10 == 0 ? "" : "ä note";
    for (std::size_t m = 0; m < i % 4; ++m) order.marks.push_back(static_cast<std::int16_t>(m * i % 1000));
    if (i % 7 != 0) {
      order.lines.emplace();
      for (std::size_t l = 0; l < i % 3; ++l)
        order.lines->push_back({"item " + std::to_string(l), l == 0 ? std::nullopt : std::optional(static_cast<std::int32_t>(i))});
    }
    order.first = {std::to_string(i), static_cast<std::int32_t>(i)};
    orders.push_back(order);
  }
  return orders;
}

struct Parquet : testing::Test {
  void SetUp() override {
    if (const auto module = storage::parquet::load_module(); !module) GTEST_SKIP() << module.error().to_string();
  }
  std::string path(const std::string& name) const { return scratch.path() + "/" + name; }

  static LocalReport run(const std::function<void(Flow&)>& define) {
    auto report = run_locally(define, {.threads = 2, .memory_bytes = 64u << 20, .job = {{"max-bad-records", "100%"}}});
    EXPECT_TRUE(report) << report.error().to_string();
    return report ? *report : LocalReport();
  }
  static std::string failure_of(const std::function<void(Flow&)>& define) {
    const auto report = run_locally(define, {.threads = 2, .job = {{"max-attempts", "1"}}});
    EXPECT_FALSE(report);
    const std::string text = report ? "" : report.error().to_string();
    EXPECT_EQ(text.find("\n"), std::string::npos) << text;
    return text;
  }
  template <class T>
  std::vector<T> read(const std::string& from, ParquetFormat format = {}) const {
    std::vector<T> rows;
    run([&](Flow& flow) {
      auto found = flow.read_parquet<T>(from, format).collect();
      flow.on_driver([&] { rows = std::move(found); });
    });
    return rows;
  }
  void write(const Orders& orders, const std::string& name, ParquetFormat format = {}, std::uint32_t partitions = 1) const {
    run([&](Flow& flow) { flow.from_vector(orders, partitions).write_parquet(path(name), format); });
  }
  ScratchDirectory scratch;
  int outputs_ = 0;
};

TEST_F(Parquet, WhatIsWrittenIsReadAgain) {
  const Orders orders = some_orders(20'000);
  for (const std::string compression : {"none", "snappy", "gzip", "lz4", "zstd"}) {
    SCOPED_TRACE(compression);
    write(orders, compression, {.compression = compression, .row_group_bytes = 100'000}, 3);
    EXPECT_EQ(read<Order>(path(compression)), orders);
  }
  EXPECT_TRUE(std::filesystem::exists(path("zstd/part-00002.parquet")));
}

struct Few {
  std::string buyer;
  std::int64_t id = 0;
  friend bool operator==(const Few&, const Few&) = default;
};

TEST_F(Parquet, OnlyTheColumnsThatTheStructHasAreReadUnderAnyName) {
  const Orders orders = some_orders(100);
  write(orders, "orders", {.names = {{"id", "Number of the order"}}});
  const auto few = read<Few>(path("orders"), {.names = {{"id", "Number of the order"}}});
  ASSERT_EQ(few.size(), orders.size());
  for (std::size_t i = 0; i < few.size(); ++i) EXPECT_EQ(few[i], (Few{orders[i].buyer, orders[i].id}));
}

TEST_F(Parquet, ConditionsKeepTheRowsThatMeetThem) {
  const Orders orders = some_orders(30'000);
  write(orders, "orders", {.row_group_bytes = 200'000}, 2);
  const auto expect = [&](std::vector<storage::parquet::Condition> where, const std::function<bool(const Order&)>& holds) {
    Orders expected;
    for (const Order& order : orders)
      if (holds(order)) expected.push_back(order);
    EXPECT_EQ(read<Order>(path("orders"), {.where = std::move(where)}), expected) << expected.size();
  };
  expect({column("id") == 12'345}, [](const Order& o) { return o.id == 12'345; });
  expect({column("id") >= 29'000, column("buyer") == "buyer 3"},
         [](const Order& o) { return o.id >= 29'000 && o.buyer == "buyer 3"; });
  expect({column("id") < -100}, [](const Order&) { return false; });
  expect({column("id") != 5, column("id") <= 6}, [](const Order& o) { return o.id != 5 && o.id <= 6; });
  expect({column("price") > 37'000}, [](const Order& o) { return o.price && *o.price > 37'000; });
  expect({column("weight") < 2.5}, [](const Order& o) { return o.weight < 2.5f; });
  expect({column("note") == "ä note"}, [](const Order& o) { return o.note == "ä note"; });
  expect({column("note") != "x"}, [](const Order& o) { return o.note.has_value(); });
}

/// The bytes of the row groups in the middle are damaged, so that whoever reads one fails.
TEST_F(Parquet, RowGroupsThatConditionsExcludeAreNotRead) {
  const Orders orders = some_orders(40'000);
  write(orders, "orders", {.compression = "none", .row_group_bytes = 400'000});
  const std::string file = path("orders/part-00000.parquet");
  const auto size = std::filesystem::file_size(file);
  {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(size * 3 / 10));
    bytes << std::string(size / 5, '\xff');
  }
  const std::string failure = failure_of([&](Flow& flow) { flow.read_parquet<Order>(file).count(); });
  EXPECT_NE(failure.find(file), std::string::npos) << failure;
  EXPECT_EQ(read<Order>(file, {.where = {column("id") < 100}}).size(), 107u);
  EXPECT_EQ(read<Order>(file, {.where = {column("id") >= 39'900}}).size(), 93u);
}

struct Number {
  double value = 0;
};

TEST_F(Parquet, NaNInAColumnExcludesNothing) {
  const std::vector<Number> numbers{{1}, {std::nan("")}, {100}};
  run([&](Flow& flow) { flow.from_vector(numbers, 1).write_parquet(path("numbers")); });
  EXPECT_EQ(read<Number>(path("numbers"), {.where = {column("value") > 50}}).size(), 1u);
  EXPECT_EQ(read<Number>(path("numbers")).size(), 3u);
}

struct Narrow {
  std::int8_t id = 0;
  double price = 0;  // where some are missing
};

TEST_F(Parquet, RowsThatDoNotFitAreBadRecords) {
  write(some_orders(300), "orders");
  std::vector<Narrow> rows;
  const LocalReport report = run([&](Flow& flow) {
    auto found = flow.read_parquet<Narrow>(path("orders")).collect();
    flow.on_driver([&] { rows = std::move(found); });
  });
  // 135 numbers fit, from -7 to 127; every third row has no price.
  EXPECT_EQ(rows.size(), 90u);
  EXPECT_EQ(report.bad_records, 210u);
  const std::string first = report.bad_record_examples.empty() ? "" : report.bad_record_examples.front();
  EXPECT_NE(first.find("column 'price': no value, but a number is wanted"), std::string::npos) << first;
}

struct Single {
  float value = 0;
};

TEST_F(Parquet, ADoubleThatAFloatCannotHoldIsABadRecord) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kLargest = std::numeric_limits<float>::max();
  const std::vector<Number> numbers{{1e39},     {-1e39},     {1e300},     {1e-50}, {-1e-50}, {0.1},          {0},
                                    {kLargest}, {-kLargest}, {kInfinity}, {1e-45}, {-0.0},   {std::nan("")}, {-kInfinity}};
  run([&](Flow& flow) { flow.from_vector(numbers, 1).write_parquet(path("numbers")); });
  std::vector<Single> rows;
  const LocalReport report = run([&](Flow& flow) {
    auto found = flow.read_parquet<Single>(path("numbers")).collect();
    flow.on_driver([&] { rows = std::move(found); });
  });
  EXPECT_EQ(report.bad_records, 5u) << "infinite, or zero, instead of a number";
  ASSERT_EQ(rows.size(), 9u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto expected = static_cast<float>(numbers[i + 5].value);
    EXPECT_TRUE(rows[i].value == expected || (std::isnan(rows[i].value) && std::isnan(expected))) << i;
    EXPECT_EQ(std::signbit(rows[i].value), std::signbit(expected)) << i;
  }
  const std::string first = report.bad_record_examples.empty() ? "" : report.bad_record_examples.front();
  EXPECT_NE(first.find("column 'value': its value is not a number that fits its field"), std::string::npos) << first;
}

struct Wrong {
  std::string id;
};
struct Absent {
  std::int64_t idd = 0;
};
struct Inner {
  std::vector<std::string> marks;
};
struct OnlyId {
  std::int64_t id = 0;
};
struct NoList {
  std::int64_t marks = 0;
};

TEST_F(Parquet, WhatAFileDoesNotHaveIsSaidInALine) {
  write(some_orders(10), "orders");
  const std::string file = path("orders/part-00000.parquet");
  const auto expect = [&](const std::string& said, const std::string& words) {
    EXPECT_NE(said.find(words), std::string::npos) << said;
  };
  expect(failure_of([&](Flow& flow) { flow.read_parquet<Wrong>(file).count(); }),
         file + ": column 'id' is of type int64, and the struct wants a text");
  expect(failure_of([&](Flow& flow) { flow.read_parquet<Absent>(file).count(); }),
         file + ": there is no column 'idd' among 'id', 'kind'");
  expect(failure_of([&](Flow& flow) { flow.read_parquet<Inner>(file).count(); }), "column 'marks[]' is of type int16");
  expect(failure_of([&](Flow& flow) { flow.read_parquet<NoList>(file).count(); }),
         file + ": column 'marks' is of type list<element: int16 not null>, and the struct wants a 64-bit whole number");
  expect(failure_of([&](Flow& flow) { flow.read_parquet<Few>(file, {.where = {column("buyer") > 3}}).count(); }),
         "column 'buyer' is of type string");
  expect(failure_of([&](Flow& flow) { flow.read_parquet<Few>(file, {.where = {column("x") > 3}}).count(); }),
         "there is no column 'x'");
  expect(failure_of([&](Flow& flow) { flow.from_vector(some_orders(1)).write_parquet(path("bad"), {.compression = "rar"}); }),
         "Parquet files have no compression 'rar'");
}

TEST_F(Parquet, AColumnOfAnotherTypeInTheSeventeenthFilePublishesNothing) {
  std::filesystem::create_directories(path("in"));
  for (int i = 0; i < 17; ++i) {
    const std::string name = "in/" + std::to_string(10 + i);
    if (i < 16)
      write(some_orders(50), name);
    else
      run([&](Flow& flow) { flow.from_vector(std::vector<Wrong>{{"seven"}}, 1).write_parquet(path(name)); });
  }
  const std::string said = failure_of([&](Flow& flow) { flow.read_parquet<OnlyId>(path("in")).write_json(path("out")); });
  EXPECT_NE(
      said.find(path("in/26/part-00000.parquet") + ": column 'id' is of type string, and the struct wants a 64-bit whole number"),
      std::string::npos)
      << said;
  EXPECT_FALSE(std::filesystem::exists(path("out")));
}

TEST_F(Parquet, AFileThatIsReplacedAfterItWasListedFailsTheJob) {
  write(some_orders(50), "orders");
  write(some_orders(60), "others");
  const std::string file = path("orders/part-00000.parquet");
  const std::string said = failure_of([&](Flow& flow) {
    const auto orders = flow.read_parquet<OnlyId>(file);
    flow.on_driver([&] { std::filesystem::rename(path("others/part-00000.parquet"), file); });
    orders.write_json(path("out"));
  });
  EXPECT_NE(said.find(file), std::string::npos) << said;
  EXPECT_NE(said.find("changed"), std::string::npos) << said;
  EXPECT_FALSE(std::filesystem::exists(path("out")));
}

TEST_F(Parquet, FilesThatAreNoneOrDamagedAreRefusedWithTheirNames) {
  write(some_orders(5000), "orders");
  const std::string whole = read_file(path("orders/part-00000.parquet"));
  const auto failure = [&](const std::string& bytes) {
    const std::string file = path("file.parquet");
    std::ofstream(file, std::ios::binary) << bytes;
    const std::string said = failure_of([&](Flow& flow) { flow.read_parquet<Order>(file).count(); });
    EXPECT_NE(said.find(file), std::string::npos) << said;
    return said;
  };
  EXPECT_NE(failure("a,b\n1,2\n3,4\n5,6\n").find("no Parquet file"), std::string::npos);
  EXPECT_NE(failure("PAR1").find("no Parquet file"), std::string::npos);
  EXPECT_NE(failure(whole.substr(0, whole.size() - 1)).find("no Parquet file"), std::string::npos);
  EXPECT_NE(failure(whole.substr(0, whole.size() - 4) + "PARE").find("encrypted"), std::string::npos);
  failure(whole.substr(whole.size() / 2));
  for (const std::size_t length : {0u, 1u, 0x7fffffffu, 0xffffffffu}) {
    std::string bytes = whole;
    for (int i = 0; i < 4; ++i) bytes[bytes.size() - 8 + static_cast<std::size_t>(i)] = static_cast<char>(length >> (8 * i));
    failure(bytes);
  }
}

/// Reads what it can of damaged files; that it ends is the point.
TEST_F(Parquet, DamageAnywhereEndsInRowsOrALine) {
  write(some_orders(2000), "orders", {.row_group_bytes = 50'000});
  const std::string whole = read_file(path("orders/part-00000.parquet"));
  Random random(1);
  std::size_t failed = 0;
  for (int round = 0; round < 150; ++round) {
    std::string bytes = whole;
    const bool footer = round % 2 == 0;
    for (int change = 0; change < 3; ++change) {
      const std::size_t at =
          footer ? bytes.size() - 8 - random.below(std::min<std::size_t>(bytes.size() / 2, 3000)) : random.below(bytes.size() - 8);
      bytes[at] = static_cast<char>(random.below(256));
    }
    const std::string file = path("file.parquet");
    std::ofstream(file, std::ios::binary) << bytes;
    const auto report = run_locally([&](Flow& flow) { flow.read_parquet<Order>(file).count(); },
                                    {.threads = 1, .job = {{"max-attempts", "1"}, {"max-bad-records", "100%"}}});
    if (report) continue;
    ++failed;
    EXPECT_EQ(report.error().to_string().find("\n"), std::string::npos) << report.error().to_string();
  }
  EXPECT_GT(failed, 20u);
}

TEST_F(Parquet, IsSortedByWhatItsSampleSays) {
  const Orders orders = some_orders(60'000);
  write(orders, "orders", {.row_group_bytes = 300'000}, 4);
  std::vector<std::int64_t> ids;
  run([&](Flow& flow) {
    auto found = flow.read_parquet<Few>(path("orders"))
                     .map([](const Few& few) { return -few.id; })
                     .sort_by([](std::int64_t id) { return id; })
                     .collect();
    flow.on_driver([&] { ids = std::move(found); });
  });
  ASSERT_EQ(ids.size(), orders.size());
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
}

/// However few rows fill memory: batches end by bytes, on the way out and in.
TEST_F(Parquet, LargeTextsAreWrittenAndReadAFewRowsAtATime) {
  Orders orders = some_orders(96);
  for (std::size_t i = 0; i < orders.size(); ++i) orders[i].buyer = std::string(1u << 20, static_cast<char>('a' + i % 26));
  write(orders, "large", {.compression = "none", .row_group_bytes = 16u << 20});
  EXPECT_EQ(read<Order>(path("large")), orders);
  storage::parquet::Shape row;
  row.children.push_back({"buyer", storage::parquet::Kind::text});
  const std::string file = path("large/part-00000.parquet");
  const auto reader = storage::parquet::load_module().value()->open(std::make_unique<WholeFile>(read_file(file)), file, row, {});
  ASSERT_TRUE(reader);
  ASSERT_GE((*reader)->row_groups().size(), 4u);
  std::uint64_t most = 0;
  ASSERT_TRUE((*reader)->read(0, [&](const storage::parquet::Batch& batch) -> Result<void> {
    most = std::max(most, batch.rows);
    return {};
  }));
  EXPECT_LE(most, 8u);
}

struct Measured {
  std::int64_t id = 0;
  std::vector<std::int64_t> marks;
};

/// Batches end by the bytes of vectors, too: else all these rows would be one row group.
TEST_F(Parquet, LargeVectorsAreWrittenAFewRowsAtATime) {
  run([&](Flow& flow) {
    flow.generate(
            48, [](std::uint64_t i) { return i; }, 1)
        .map([](std::uint64_t i) {
          return Measured{static_cast<std::int64_t>(i), std::vector<std::int64_t>(1u << 17, 7)};
        })
        .write_parquet(path("large"), {.compression = "none", .row_group_bytes = 8u << 20});
  });
  storage::parquet::Shape row;
  row.children.push_back({"id", storage::parquet::Kind::signed_number});
  const std::string file = path("large/part-00000.parquet");
  const auto reader = storage::parquet::load_module().value()->open(std::make_unique<WholeFile>(read_file(file)), file, row, {});
  ASSERT_TRUE(reader);
  EXPECT_GE((*reader)->row_groups().size(), 4u);
}

TEST_F(Parquet, MoreElementsThanABatchCanHoldAreRefused) {
  struct Nowhere : storage::parquet::Sink {
    Result<void> append(ByteView) override { return {}; }
  };
  storage::parquet::Shape row{"", storage::parquet::Kind::record};
  row.children.push_back({"marks", storage::parquet::Kind::list, 64, false, {{"element", storage::parquet::Kind::signed_number}}});
  const auto writer = storage::parquet::load_module().value()->create(std::make_unique<Nowhere>(), row, {}).value();
  const std::vector<std::int64_t> ends{0, std::int64_t{1} << 31};
  storage::parquet::Batch batch{1, {{.ends = ends, .children = {{}}}}};
  const auto refused = writer->append(batch);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().to_string().find("column 'marks' has more elements"), std::string::npos) << refused.error().to_string();
}

/// The number as the footer has it: Thrift's compact protocol.
std::string footer_number(std::uint64_t value) {
  std::string bytes;
  for (value *= 2; value >= 128; value /= 128) bytes.push_back(static_cast<char>(value % 128 + 128));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

struct Flag {
  bool set = false;
};

TEST_F(Parquet, RowGroupsThatTheFooterPutsBehindTheEndAreNotLost) {
  constexpr std::uint64_t kRows = 20'000;
  run([&](Flow& flow) {
    flow.generate(
            kRows, [](std::uint64_t i) { return Flag{i * i % 7 < 3}; }, 1)
        .write_parquet(path("flags"), {.compression = "none", .row_group_bytes = 1000});
  });
  const std::string file = path("flags/part-00000.parquet"), whole = read_file(file);
  storage::parquet::Shape row;
  row.children.push_back({"set", storage::parquet::Kind::boolean});
  const auto reader = storage::parquet::load_module().value()->open(std::make_unique<WholeFile>(whole), file, row, {}).value();
  const storage::parquet::RowGroup last = reader->row_groups().back();
  // In the footer, another number of as many bytes stands for the row group's.
  const auto counted = [&](std::uint64_t number) -> Result<std::uint64_t> {
    const std::string from = footer_number(number), to = footer_number((std::uint64_t{1} << (7 * from.size() - 1)) - 1);
    std::string bytes = whole;
    for (std::size_t at = last.offset + last.bytes; (at = bytes.find(from, at)) != std::string::npos; at += to.size())
      bytes.replace(at, to.size(), to);
    EXPECT_NE(bytes, whole);
    std::ofstream(path("file.parquet"), std::ios::binary) << bytes;
    std::uint64_t rows = 0;
    WEFT_TRY(run_locally(
        [&](Flow& flow) {
          const std::uint64_t count = flow.read_parquet<Flag>(path("file.parquet")).count();
          flow.on_driver([&] { rows = count; });
        },
        {.threads = 1, .job = {{"max-attempts", "1"}}}));
    return rows;
  };
  const auto behind = counted(last.offset);
  ASSERT_FALSE(behind) << *behind << " rows";
  EXPECT_NE(behind.error().to_string().find("row group 2 begins at byte"), std::string::npos) << behind.error().to_string();
  EXPECT_EQ(counted(last.bytes).value_or(kRows), kRows);
}

struct Moment {
  std::optional<Date> day;
  Timestamp at;
  std::string name;
  friend bool operator==(const Moment&, const Moment&) = default;
};
struct MomentAsText {
  std::optional<std::string> day;
  std::string at;
};

TEST_F(Parquet, DaysAndTimesAreThoseOfParquetAndDirectoriesAreWrittenByName) {
  std::vector<Moment> moments;
  for (std::int32_t i = 0; i < 3'000; ++i)
    moments.push_back(
        {i % 3 == 0 ? std::nullopt : std::optional(Date{i - 1000}), Timestamp{i * 86'400'000'007 - 9}, std::to_string(i % 30)});
  run([&](Flow& flow) {
    flow.from_vector(moments, 1).write_parquet(path("moments"));
    flow.from_vector(moments, 2).write_parquet_by(path("by"), [](const Moment& moment) { return "name=" + moment.name; });
  });
  run([&](Flow& flow) {
    EXPECT_EQ(flow.read_parquet<Moment>(path("moments")).collect(), moments);
    const auto texts = flow.read_parquet<MomentAsText>(path("moments")).first(2);
    EXPECT_EQ(texts[1].day, "1967-04-08");
    EXPECT_EQ(texts[0].at, "1969-12-31T23:59:59.999991Z");
    EXPECT_EQ(flow.read_parquet<Moment>(path("by")).count(), moments.size());
    const auto some = flow.read_parquet<Moment>(path("by/name=7")).collect();
    EXPECT_EQ(some.size(), 100u);
    for (const Moment& moment : some) EXPECT_EQ(moment.name, "7");
  });
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("by")), {}), 31) << "30 names, and _SUCCESS";
}

struct Stamp {
  std::int64_t id = 0;
  std::optional<Timestamp> at;
  friend bool operator==(const Stamp&, const Stamp&) = default;
};

TEST_F(Parquet, TimesOf96BitsHaveAnyYear) {
  const std::string file = PARQUET_FILES "/times_of_96_bits.parquet";
  const Timestamp last{Timestamp::of(Date::of(10000, 1, 1)).microseconds - 1}, first = Timestamp::of(Date::of(1, 1, 1));
  EXPECT_EQ(read<Stamp>(file), (std::vector<Stamp>{{1, last}, {2, first}, {3, std::nullopt}}));
  EXPECT_EQ(read<Stamp>(file, {.where = {column("at") > "2026-11-28"}}), (std::vector<Stamp>{{1, last}}));
}

struct Placed {
  std::string text;
  std::int32_t id = 0;
  std::optional<std::uint8_t> small;
  std::optional<Date> day;
  double rate = 0;
  bool flag = false;
  friend bool operator==(const Placed&, const Placed&) = default;
};
struct OnlyPlace {
  std::string text;
  friend bool operator==(const OnlyPlace&, const OnlyPlace&) = default;
};

TEST_F(Parquet, DirectoriesAreFieldsBetweenThoseOfTheFile) {
  const Orders orders = some_orders(9'000);
  std::vector<Placed> expected;
  for (const Order& order : orders)
    expected.push_back({"a text that is long", static_cast<std::int32_t>(order.id), std::nullopt, Date{3}, -0.5, true});
  const std::string directories =
      "in/text=a text that is long/small=__HIVE_DEFAULT_PARTITION__/day=1970-01-04/rate=-0.5/flag=True/kind=9";
  std::filesystem::create_directories(path("in/kind=8"));
  write_file(path("in/kind=8/part"), "no Parquet");
  std::filesystem::create_directories(path(directories));
  write(orders, directories + "/data");
  EXPECT_EQ(read<Placed>(path("in"), {.where = {column("kind") == 9}}), expected) << "kind is a column, too: the directory counts";
  EXPECT_EQ(read<OnlyPlace>(path(directories)), std::vector<OnlyPlace>(orders.size(), {"a text that is long"}))
      << "no column of the file";
  expected.resize(8);
  EXPECT_EQ(read<Placed>(path(directories), {.where = {column("kind") == 9, column("id") <= 0}}), expected)
      << "a directory and a column";
  EXPECT_TRUE(read<Placed>(path("in"), {.where = {column("small") >= 0, column("kind") > 8}}).empty());
  const std::string said = failure_of([&](Flow& flow) { flow.read_parquet<Placed>(path("in")).count(); });
  EXPECT_NE(said.find("there is no directory 'day=...' on the way to " + path("in/kind=8/part")), std::string::npos) << said;
}

struct Entry {
  std::string name;
  std::optional<double> value;
  std::vector<int> marks;
};

TEST_F(Parquet, RowsInTheOrderThatTheirFileNotesAreWrittenAndOthersAreRefused) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const auto failure = [&](std::vector<Entry> entries, std::vector<std::string> sorted_by) {
    const auto report = run_locally(
        [&](Flow& flow) {
          flow.from_vector(entries, 1).write_parquet(path("sorted" + std::to_string(++outputs_)), {.sorted_by = sorted_by});
        },
        {.threads = 1, .job = {{"max-attempts", "1"}}});
    return report ? "" : report.error().to_string();
  };
  const std::vector<Entry> rows{{"a", 2, {}}, {"a", 1, {}}, {"b", kNaN, {}}, {"b", -7, {}}, {"b", std::nullopt, {}}, {"c", 3, {}}};
  EXPECT_EQ(failure(rows, {"name", "value desc"}), "");
  EXPECT_EQ(failure(rows, {"name"}), "");
  EXPECT_EQ(failure({}, {"name"}), "");
  EXPECT_NE(failure(rows, {"name", "value"}).find("the rows of a file are not sorted by name, value, as"), std::string::npos);
  EXPECT_NE(failure(rows, {"name desc"}).find("not sorted by name desc"), std::string::npos);
  EXPECT_NE(failure({{"a", {}, {}}, {"a", 1, {}}}, {"value desc"}).find("not sorted"), std::string::npos)
      << "missing ones are less";
  EXPECT_NE(failure(rows, {"price"}).find("ParquetFormat::sorted_by: there is no column 'price'"), std::string::npos);
  EXPECT_NE(failure(rows, {"marks"}).find("column 'marks' has lists"), std::string::npos);
  // From one batch to the next.
  std::vector<Entry> many(20'000, Entry{"m", 1, {}});
  EXPECT_EQ(failure(many, {"name"}), "");
  many[8192].name = "l";
  for (std::size_t i = 8193; i < many.size(); ++i) many[i].name = "l";
  EXPECT_NE(failure(many, {"name"}).find("not sorted"), std::string::npos);
}

TEST_F(Parquet, AnEmptyOutputHasItsColumns) {
  write({}, "none", {}, 3);
  EXPECT_TRUE(read<Order>(path("none")).empty());
  EXPECT_TRUE(std::filesystem::exists(path("none/part-00000.parquet")));
}

TEST_F(Parquet, TextsThatAreNotUtf8AreRefused) {
  Orders orders = some_orders(3);
  orders[1].buyer = "\xff";
  const std::string said = failure_of([&](Flow& flow) { flow.from_vector(orders).write_parquet(path("bad")); });
  EXPECT_NE(said.find("column 'buyer' has a text that is not UTF-8"), std::string::npos) << said;
  EXPECT_FALSE(std::filesystem::exists(path("bad")));
}

TEST(ParquetModule, ThatIsNotThereIsSaidOnTheDriverBeforeAnythingRuns) {
  const auto ended = run(
      {"/bin/sh", "-c", "WEFT_PARQUET=/nowhere/libweft-parquet.so exec \"$0\" --gtest_filter=Parquet.AnEmptyOutputHasItsColumns",
       std::filesystem::read_symlink("/proc/self/exe").string()},
      {.environment = {}, .deadline = std::chrono::seconds(30)});
  EXPECT_NE(ended.out.find("Parquet needs weft's module for it, which cannot be loaded (/nowhere/libweft-parquet.so"),
            std::string::npos)
      << ended.out;
  EXPECT_NE(ended.out.find("scripts/setup --parquet"), std::string::npos) << ended.out;
}

}  // namespace
}  // namespace weft::test
