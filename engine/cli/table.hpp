// Aligned columns for people.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "schedulers/resources.hpp"

namespace weft::cli {

/// Rows of equally many cells, each column as wide as its widest cell; the first row is the heading. Control characters in cells
/// are escaped.
class Table {
 public:
  explicit Table(std::vector<std::string> heading) { rows_.push_back(std::move(heading)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// {"cpu": 2, …}: all kinds.
void add_resources(JsonWriter& json, const sched::Resources& resources);

}  // namespace weft::cli
