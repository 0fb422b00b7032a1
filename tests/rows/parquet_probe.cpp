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

struct Options : weft::InputOutput {
  std::string kind = "rows";
  std::int64_t least = INT64_MIN;
};

void declare(weft::Arguments& arguments, Options& options) {
  weft::declare(arguments, options);
  arguments.option("--kind", options.kind, "rows or texts: as JSON; copy: rows as Parquet");
  arguments.option("--least", options.least, "The least i64");
}

void define(weft::Flow& flow, const Options& options) {
  weft::ParquetFormat format;
  if (options.least != INT64_MIN) format.where = {weft::column("i64") >= options.least};
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
