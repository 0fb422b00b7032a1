// Map-side combining: equal keys are aggregated in a table before they are written as pair<K, Acc> records.
#pragma once

#include "runtime/operators/aggregation.hpp"
#include "runtime/operators/partitioned_writer.hpp"

namespace weft::runtime {

/// The default partitioner.
struct HashPartitioner {
  std::uint32_t partitions;
};

/// `Partitioner` is HashPartitioner, or a callable std::uint32_t(const K&).
template <Encodable K, Aggregation Agg, class Partitioner = HashPartitioner>
class CombiningWriter {
 public:
  using Value = typename Agg::Value;
  using Acc = typename Agg::Acc;
  CombiningWriter(OperatorContext& context, PartitionedWriter& out, Partitioner partitioner, Agg agg);
  void add(const K& key, const Value& value);
  /// Writes what is left (and calls out.finish()).
  void finish();
};

}  // namespace weft::runtime
