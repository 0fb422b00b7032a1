// What an operator returns after it refused its arguments (checks.hpp). It accepts any further operator, so that one mistake is one
// error.
#pragma once

#include <string>

#include "weft/rows.hpp"

namespace weft::detail {

/// Refused stands for a dataset, with every operator; RefusedValue for the value of an action.
struct RefusedValue {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): stands for anything
};
class Refused {
 public:
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): stands for anything
#define WEFT_ACCEPTS(name)                 \
  template <class... Explicit, class... A> \
  Refused name(A&&...) const {             \
    return {};                             \
  }
  WEFT_ACCEPTS(map)
  WEFT_ACCEPTS(filter)
  WEFT_ACCEPTS(flat_map)
  WEFT_ACCEPTS(map_values)
  WEFT_ACCEPTS(map_partitions)
  WEFT_ACCEPTS(keys)
  WEFT_ACCEPTS(values)
  WEFT_ACCEPTS(reduce_by_key)
  WEFT_ACCEPTS(aggregate_by_key)
  WEFT_ACCEPTS(count_by_key)
  WEFT_ACCEPTS(top_by_key)
  WEFT_ACCEPTS(group_by_key)
  WEFT_ACCEPTS(sorted_by)
  WEFT_ACCEPTS(windows)
  WEFT_ACCEPTS(scan)
  WEFT_ACCEPTS(lag)
  WEFT_ACCEPTS(row_number)
  WEFT_ACCEPTS(join)
  WEFT_ACCEPTS(left_join)
  WEFT_ACCEPTS(right_join)
  WEFT_ACCEPTS(full_join)
  WEFT_ACCEPTS(semi_join)
  WEFT_ACCEPTS(anti_join)
  WEFT_ACCEPTS(join_optional)
  WEFT_ACCEPTS(union_with)
  WEFT_ACCEPTS(sample)
  WEFT_ACCEPTS(zip_with_index)
  WEFT_ACCEPTS(on)
  WEFT_ACCEPTS(demand)
  WEFT_ACCEPTS(estimate)
  WEFT_ACCEPTS(cogroup)
  WEFT_ACCEPTS(sort_by)
  WEFT_ACCEPTS(top)
  WEFT_ACCEPTS(distinct)
  WEFT_ACCEPTS(cache)
  WEFT_ACCEPTS(repartition)
#undef WEFT_ACCEPTS
#define WEFT_ENDS(name)             \
  template <class... A>             \
  RefusedValue name(A&&...) const { \
    return {};                      \
  }
  WEFT_ENDS(collect)
  WEFT_ENDS(first)
  WEFT_ENDS(count)
  WEFT_ENDS(reduce)
  WEFT_ENDS(aggregate)
  WEFT_ENDS(write_text_by)
  WEFT_ENDS(write_table)
  WEFT_ENDS(write_text)
  WEFT_ENDS(write_records)
#undef WEFT_ENDS
// With types where a program may write {.delimiter = ';'}.
#define WEFT_WRITES(name, Format)                                                       \
  template <class... A>                                                                 \
  RefusedValue name(const std::string&, const Format& = {}, A && ...) const {           \
    return {};                                                                          \
  }                                                                                     \
  template <class F, class... A>                                                        \
  RefusedValue name##_by(const std::string&, F&&, const Format& = {}, A && ...) const { \
    return {};                                                                          \
  }
  WEFT_WRITES(write_csv, CsvFormat)
  WEFT_WRITES(write_csv_file, CsvFormat)
  WEFT_WRITES(write_json, JsonFormat)
  WEFT_WRITES(write_parquet, ParquetFormat)
#undef WEFT_WRITES
};

}  // namespace weft::detail
