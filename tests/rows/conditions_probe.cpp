// Which rows of a Parquet file meet conditions: conditions_test.py compares.
//
// usage: conditions_probe FILE < CONDITIONS
//
// A condition is a line of column, sign, kind of the constant (signed, unsigned, real, text) and constant, with tabs between them.
// For each the answer is a line: how many row groups were skipped, and the ids of the rows, or "refused" and why.
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <weft/weft.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "storage/parquet/module.hpp"
#include "tests/support/whole_file.hpp"

namespace {

using weft::storage::parquet::Condition;

template <class V>
Condition compared(const std::string& name, std::string_view sign, const V& value) {
  const auto column = weft::column(name);
  if (sign == "==") return column == value;
  if (sign == "!=") return column != value;
  if (sign == "<") return column < value;
  if (sign == "<=") return column <= value;
  return sign == ">" ? column > value : column >= value;
}

Condition condition_in(const std::string& line) {
  const auto parts = weft::split(line, '\t');
  const std::string name(parts.at(0));
  if (parts.at(2) == "signed") return compared(name, parts[1], weft::parse_number<std::int64_t>(parts.at(3)).value());
  if (parts.at(2) == "unsigned") return compared(name, parts[1], weft::parse_number<std::uint64_t>(parts.at(3)).value());
  if (parts.at(2) == "real") return compared(name, parts[1], weft::parse_number<double>(parts.at(3)).value());
  return compared(name, parts[1], std::string(parts.at(3)));
}

weft::Result<std::string> rows_of(const std::string& path, const std::string& bytes, const Condition& condition) {
  weft::storage::parquet::Shape row;
  row.children.push_back({"id", weft::storage::parquet::Kind::signed_number});
  WEFT_ASSIGN(const auto* const module, weft::storage::parquet::load_module());
  WEFT_ASSIGN(const auto reader, module->open(std::make_unique<weft::test::WholeFile>(bytes), path, row, std::vector{condition}));
  std::size_t skipped = 0;
  std::string ids;
  for (std::size_t group = 0; group < reader->row_groups().size(); ++group) {
    if (!reader->may_have_wanted(group)) {
      ++skipped;
      continue;
    }
    WEFT_TRY(reader->read(group, [&](const weft::storage::parquet::Batch& batch) -> weft::Result<void> {
      for (std::size_t i = 0; i < batch.rows; ++i)
        if (batch.wanted[i] != 0) ids.append(" ").append(std::to_string(batch.columns[0].signed_numbers[i]));
      return {};
    }));
  }
  return std::to_string(skipped) + ids;
}

}  // namespace

int main(int, char** argv) {
  const std::string path = argv[1], bytes = weft::read_file(path).value();
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto answer = rows_of(path, bytes, condition_in(line));
    std::puts(answer ? answer->c_str() : ("refused " + answer.error().to_string()).c_str());
  }
}
