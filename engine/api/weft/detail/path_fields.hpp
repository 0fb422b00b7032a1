// Fields of rows whose values are names of directories: those of "year=2026/month=11/part-0.csv".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "storage/parquet/column.hpp"
#include "weft/detail/row_fields.hpp"

namespace weft::detail {

enum class CellClass : std::uint8_t { none, truth, number, text, day, moment };

/// What a field takes of a text. None: it is a list or a struct.
struct CellType {
  CellClass kind = CellClass::none;
  bool optional = false;
  std::string_view wanted{};
  bool (*fits)(std::string_view text) = nullptr;
};

template <class F>
bool cell_fits(std::string_view text) {
  F value{};
  return read_cell(text, value);
}

template <class F>
constexpr CellType cell_type() {
  if constexpr (kIsOptional<F>) {
    CellType type = cell_type<typename F::value_type>();
    type.optional = true;
    return type;
  } else if constexpr (CellScalar<F>) {
    constexpr CellClass kKind = std::same_as<F, bool>        ? CellClass::truth
                                : std::is_arithmetic_v<F>    ? CellClass::number
                                : std::same_as<F, Date>      ? CellClass::day
                                : std::same_as<F, Timestamp> ? CellClass::moment
                                                             : CellClass::text;
    return {kKind, false, cell_kind<F>(), &cell_fits<F>};
  } else {
    return {};
  }
}
template <class Tuple>
inline constexpr std::array<CellType, 0> kCellTypes{};
template <class... F>
inline constexpr std::array<CellType, sizeof...(F)> kCellTypes<std::tuple<F&...>>{cell_type<F>()...};

/// Which files a source of rows reads, and what their directories say (engine/api/path_choice.hpp). `missing`: texts that mean, in
/// a field that is optional, that the value is missing. `parquet`: the files are of Parquet, and have columns that `where` may
/// name.
struct PathFields;
std::shared_ptr<const PathFields> path_fields(std::string_view source, std::span<const CellType> types,
                                              const std::vector<std::string>& names,
                                              const std::vector<storage::parquet::Condition>& where, bool enabled, bool parquet,
                                              const std::vector<std::string>& missing = {});

/// Calls visit(self, field, text) for the fields, of these names in files, that directories on the path of a file give a value.
/// Null: a missing one. In tasks.
void visit_path_values(const std::string& path, const std::vector<std::string>& names, void* self,
                       void (*visit)(void* self, std::size_t field, const std::string* text));

}  // namespace weft::detail
