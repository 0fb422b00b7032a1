// Standard output: text, and aligned columns for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "schedulers/view/resources.hpp"

namespace weft::tools {

/// Rows of equally many cells, each column as wide as its widest cell; the first row is the heading. Control characters in cells
/// are escaped.
class Table {
 public:
  explicit Table(const std::vector<std::string>& heading) : widths_(heading.size()) { add(heading); }
  void add(const std::vector<std::string>& row) {
    for (const std::string& each : row) cell(each);
  }
  /// The next one, for rows of which there are many.
  Table& cell(std::string_view content);
  std::string text() const;

 private:
  std::string cells_;                // as they are shown, one after the other
  std::vector<std::uint32_t> ends_;  // of each in them
  std::vector<std::size_t> widths_;
};

/// To standard output, as it is.
void print(const std::string& text);

/// {"cpu": 2, …}: all kinds.
void add_resources(JsonWriter& json, const schedulers::Resources& resources);

}  // namespace weft::tools
