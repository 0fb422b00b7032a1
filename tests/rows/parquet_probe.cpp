// Reads Parquet files of others as JSON, and writes one of its own: parquet_test.py compares.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <weft/weft.h>

namespace {

struct Item {
  std::string name;
  std::optional<std::int64_t> count;
};
/// A column of every type that parquet_test.py makes, under the simplest type that takes it.
struct Row {
  std::int64_t i8 = 0, i16 = 0, i32 = 0, i64 = 0;
  std::uint64_t u8 = 0, u32 = 0, u64 = 0;
  float f32 = 0;
  double f64 = 0;
  bool flag = false;
  std::string text;
  std::optional<std::string> maybe;
  std::string category;
  std::int64_t day = 0, moment = 0;
  double money = 0;
  std::optional<std::vector<std::optional<std::int32_t>>> numbers;
  std::vector<Item> items;
  Item item;
};
/// The same columns where types can be read in another way.
struct AsText {
  std::int64_t i64 = 0;
  std::string day, moment, money;
};

/// A row in directories.
struct Place {
  std::int64_t id = 0;
  std::int32_t year = 0;
  std::optional<std::string> city;
  weft::Date day;
};

struct Numbers {
  std::int64_t x = 0;
};
struct NumbersAndTexts {
  std::int64_t x = 0;
  std::string_view text;
};

struct Options : weft::InputOutput {
  std::string kind = "rows";
  std::int64_t least = INT64_MIN;
  std::string real;
};

void declare(weft::Arguments& arguments, Options& options) {
  weft::declare(arguments, options);
  arguments.option(
      "--kind", options.kind,
      "rows or texts: as JSON; copy: rows as Parquet; csv, json or parquet: places in directories, as JSON; numbers, texts of "
      "numbers: a sum of x");
  arguments.option("--least", options.least, "The least i64");
  arguments.option("--real", options.real, "The least real, of numbers");
}

void sum_numbers(weft::Flow& flow, const Options& options) {
  weft::ParquetFormat format;
  if (!options.real.empty()) format.where = {weft::column("real") >= weft::parse_number<double>(options.real).value()};
  const std::int64_t sum =
      options.kind == "numbers"
          ? flow.read_parquet<Numbers>(options.input, format).map(&Numbers::x).aggregate(weft::sum())
          : flow.read_parquet<NumbersAndTexts>(options.input)
                .map([](const NumbersAndTexts& row) { return row.x + static_cast<std::int64_t>(row.text.size()); })
                .aggregate(weft::sum());
  flow.from_vector(std::vector{sum}).write_text(options.output);
}

void define(weft::Flow& flow, const Options& options) {
  if (options.kind.find("numbers") != std::string::npos) return sum_numbers(flow, options);
  weft::ParquetFormat format;
  if (options.least != INT64_MIN) format.where = {weft::column("i64") >= options.least};
  if (options.kind == "csv" || options.kind == "json" || options.kind == "parquet") {
    format.where.clear();
    if (options.least != INT64_MIN) format.where = {weft::column("year") >= options.least, weft::column("city") != "Bern"};
    const auto places = [&](auto rows) { rows.write_json(options.output); };
    if (options.kind == "csv") return places(flow.read_csv<Place>(options.input, {.where = format.where}));
    if (options.kind == "json") return places(flow.read_json<Place>(options.input, {.where = format.where}));
    return places(flow.read_parquet<Place>(options.input, format));
  }
  if (options.kind == "texts") {
    flow.read_parquet<AsText>(options.input, format).write_json(options.output);
  } else if (options.kind == "copy") {
    format.row_group_bytes = 20'000;
    flow.read_parquet<Row>(options.input, format).write_parquet(options.output, format);
  } else {
    flow.read_parquet<Row>(options.input, format).write_json(options.output);
  }
}

}  // namespace

int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Parquet files as JSON, and back", declare, define); }
