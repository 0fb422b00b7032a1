#include "engine/cli/table.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace weft::cli {

std::string Table::text() const {
  std::vector<std::size_t> widths;
  std::vector<std::vector<std::string>> cells;
  for (const auto& row : rows_) {
    auto& shown = cells.emplace_back();
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      shown.push_back(escaped(row[i]));
      widths[i] = std::max(widths[i], shown.back().size());
    }
  }
  std::string text;
  for (const auto& row : cells) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
    }
    text += line + '\n';
  }
  return text;
}

void add_resources(JsonWriter& json, const sched::Resources& resources) {
  json.begin_object();
  for (const auto& kind : sched::kResourceKinds) json.member(kind.name, resources.*kind.amount);
  json.end_object();
}

}  // namespace weft::cli
