// Stable sort of any number of records.
#pragma once

#include <functional>

#include "base/codec.hpp"
#include "runtime/operators/fault.hpp"

namespace weft::runtime {

/// Sorts by key_of(record) under `less`. With std::less<> or std::greater<> on numbers, texts or pairs/tuples that begin with one,
/// most comparisons are of one word. A comparator that is no strict weak order gives some order, never a crash.
template <Encodable T, class KeyFn = std::identity, class Less = std::less<>>
class ExternalSorter {
 public:
  explicit ExternalSorter(OperatorContext& context, KeyFn key_of = {}, Less less = {});
  void add(const T& record);
  /// emit(T&&) in order; views in the record are valid during the call. Once, last.
  template <class Emit>
  void drain(Emit&& emit);
};

}  // namespace weft::runtime
