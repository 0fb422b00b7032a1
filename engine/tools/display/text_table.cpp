#include "engine/tools/display/text_table.hpp"

#include <algorithm>

#include "base/display_width.hpp"
#include "base/text.hpp"

namespace weft::tools {

TextTable& TextTable::cell(std::string_view content) {
  const std::size_t begin = cells_.size();
  cells_ += escaped(content);
  std::size_t& width = widths_[ends_.size() % widths_.size()];
  width = std::max(width, display_width(std::string_view(cells_).substr(begin)));
  ends_.push_back(static_cast<std::uint32_t>(cells_.size()));
  return *this;
}

std::string TextTable::text() const {
  std::size_t longest = 0;
  for (const std::size_t width : widths_) longest += width + 2;
  std::string text;
  text.reserve(longest * (ends_.size() / widths_.size()));
  std::size_t begin = 0;
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    const std::size_t size = ends_[i] - begin, column = i % widths_.size();
    text.append(cells_, begin, size);
    if (column + 1 < widths_.size())
      text.append(widths_[column] - display_width(std::string_view(cells_).substr(begin, size)) + 2, ' ');
    else
      text += '\n';
    begin = ends_[i];
  }
  return text;
}

}  // namespace weft::tools
