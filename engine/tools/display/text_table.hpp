// Aligned columns for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace weft::tools {

/// Rows of equally many cells, each column as wide as its widest cell; the first row is the heading. Control characters in cells
/// are escaped.
class TextTable {
 public:
  explicit TextTable(const std::vector<std::string>& heading) : widths_(heading.size()) { add(heading); }
  void add(const std::vector<std::string>& row) {
    for (const std::string& each : row) cell(each);
  }
  /// A row of anything that fmt formats.
  template <class... Cells>
  void row(const Cells&... cells) {
    (cell(fmt::format("{}", cells)), ...);
  }
  /// The next cell, for tables with very many rows.
  TextTable& cell(std::string_view content);
  std::string text() const;

 private:
  std::string cells_;                // as they are shown, one after the other
  std::vector<std::uint32_t> ends_;  // of each in them
  std::vector<std::size_t> widths_;
};

}  // namespace weft::tools
