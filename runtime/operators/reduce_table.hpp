// Reduce side of an aggregation: merges accumulators by key. Any number of keys; spills by hash bits.
#pragma once

#include "runtime/operators/aggregation.hpp"
#include "runtime/operators/fault.hpp"

namespace weft::runtime {

template <Encodable K, Aggregation Agg>
class ReduceTable {
 public:
  using Acc = typename Agg::Acc;
  ReduceTable(OperatorContext& context, Agg agg);
  void merge(const K& key, const Acc& acc);
  /// For aggregations without a map-side combiner: init() or add().
  void add(const K& key, const typename Agg::Value& value);
  /// emit(const K&, Acc&) once per key; a string_view key is valid during the call. Once, last.
  template <class Emit>
  void drain(Emit&& emit);
};

}  // namespace weft::runtime
