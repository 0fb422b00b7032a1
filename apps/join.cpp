// Joins two tables on their key and optionally aggregates.
//
// Rows are tab-separated lines whose first column is the key, or fixed-size records (--record-bytes) that start with the key
// (--key-bytes). The joined row is key, the left row's other columns, the right row's other columns; a side without partner is
// empty. semi and anti give the left rows.
//
//   join --left users.tsv --right orders.tsv --output joined --how left
//   join --left users.tsv --right orders.tsv --output totals --aggregate sum --column 1
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/weft.h>

namespace {

enum class Aggregate { none, count, sum };

struct Options {
  std::vector<std::string> left, right;
  std::string output;
  weft::JoinKind how = weft::JoinKind::inner;
  Aggregate aggregate = Aggregate::none;
  std::size_t column = 1;
  std::size_t record_bytes = 0;
  std::size_t key_bytes = 0;
  bool broadcast = false;
};

void declare(weft::Arguments& arguments, Options& options) {
  using weft::JoinKind;
  const std::map<std::string, JoinKind> kinds{{"inner", JoinKind::inner}, {"left", JoinKind::left}, {"right", JoinKind::right},
                                              {"full", JoinKind::full},   {"semi", JoinKind::semi}, {"anti", JoinKind::anti}};
  const std::map<std::string, Aggregate> aggregates{
      {"none", Aggregate::none}, {"count", Aggregate::count}, {"sum", Aggregate::sum}};
  arguments.option("--left", options.left, "Left table: file, directory or glob pattern (repeatable)").required();
  arguments.option("--right", options.right, "Right table (repeatable)").required();
  arguments.option("--output", options.output, "Directory for the joined rows").required();
  arguments.choice("--how", options.how, kinds, "Which rows");
  arguments.choice("--aggregate", options.aggregate, aggregates,
                   "Per key: count the joined rows, or sum --column of the right table");
  arguments.option("--column", options.column, "Column of the right table to sum; the key is column 0").positive();
  weft::Argument record = arguments.option("--record-bytes", options.record_bytes, "Rows are records of this size").positive();
  weft::Argument key = arguments.option("--key-bytes", options.key_bytes, "Size of the key at the start of a record").positive();
  record.needs(key);
  key.needs(record);
  arguments.flag("--broadcast", options.broadcast,
                 "Hold the right table in memory, whatever its size, instead of partitioning both");
}

using Row = std::pair<std::string, std::string>;  // key, the rest

weft::Dataset<Row> read_table(weft::Flow& flow, const std::vector<std::string>& input, const Options& options) {
  if (options.record_bytes == 0) {
    return flow.read_text(input).map([](std::string_view line) {
      const auto tab = line.find('\t');
      if (tab == std::string_view::npos) return Row(line, "");
      return Row(line.substr(0, tab), line.substr(tab + 1));
    });
  }
  if (options.key_bytes > options.record_bytes) throw std::invalid_argument("--key-bytes is larger than --record-bytes");
  return flow.read_records(input, options.record_bytes).map([key_bytes = options.key_bytes](std::string_view record) {
    return Row(record.substr(0, key_bytes), record.substr(key_bytes));
  });
}

/// Column `index` of the right table (1 is the first after the key) as a number.
double number_at(std::string_view rest, std::size_t index) {
  for (std::size_t i = 1; i < index; ++i) {
    const auto tab = rest.find('\t');
    if (tab == std::string_view::npos)
      throw std::invalid_argument("a row of the right table has no column " + std::to_string(index));
    rest.remove_prefix(tab + 1);
  }
  rest = rest.substr(0, rest.find('\t'));
  double value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc() || end != rest.data() + rest.size())
    throw std::invalid_argument("column " + std::to_string(index) + " of the right table is not a number: '" + std::string(rest) +
                                "'");
  return value;
}

std::string joined_line(const std::string& key, const std::optional<std::string>& left, const std::optional<std::string>& right,
                        char separator) {
  std::string line = key;
  line += separator;
  line += left.value_or("");
  line += separator;
  line += right.value_or("");
  return line;
}

void write_result(
    const weft::Dataset<std::pair<std::string, weft::Joined<std::optional<std::string>, std::optional<std::string>>>>& joined,
    const Options& options) {
  switch (options.aggregate) {
    case Aggregate::none:
      joined.map([](const auto& key, const auto& left, const auto& right) { return joined_line(key, left, right, '\t'); })
          .write_text(options.output);
      break;
    case Aggregate::count:
      joined.map_values([](const auto&) { return std::uint64_t{1}; }).reduce_by_key(std::plus<>()).write_text(options.output);
      break;
    case Aggregate::sum:
      joined
          .map_values([column = options.column](const auto& sides) { return sides.right ? number_at(*sides.right, column) : 0.0; })
          .reduce_by_key(std::plus<>())
          .write_text(options.output);
      break;
  }
}

void define(weft::Flow& flow, const Options& options) {
  const auto left = read_table(flow, options.left, options);
  const auto right = read_table(flow, options.right, options);
  const auto strategy = options.broadcast ? weft::JoinStrategy::broadcast : weft::JoinStrategy::automatic;
  write_result(left.join_optional(right, options.how, strategy), options);
}

}  // namespace

int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Joins two tables on their keys", declare, define); }
