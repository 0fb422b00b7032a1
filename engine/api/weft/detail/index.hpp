// zip_with_index: records and their numbers, in the order of the partitions.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "weft/detail/arrange.hpp"

namespace weft::detail {

using PartitionCount = std::pair<std::uint32_t, std::uint64_t>;  // partition, records

/// Reads a partition of the cached records, and from the counts of all partitions where its numbers begin.
template <class T>
struct IndexRead {
  using Record = std::pair<T, std::uint64_t>;
  ShuffleId records, counts;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    std::uint64_t index = 0;
    read_shuffle<PartitionCount>(context, counts, 0, [&](const PartitionCount& count) {
      if (count.first < context.partition) index += count.second;
    });
    read_shuffle<T>(context, records, context.partition, [&](T&& record) { sink(Record(std::move(record), index++)); });
  }
};

/// The records are kept as cache() does, so that each is made once and the tasks that count them are those that read them. All who
/// read them number them by their places, and must give a record the same number.
template <class D>
auto zip_with_index(const D& in, std::string name) {
  const auto kept = cache(in, name + " cache", Routing::position);
  using T = typename decltype(kept)::Record;
  using Read = IndexRead<T>;
  const ShuffleRef& records = kept.lineage().branches.at(0).partitioned.at(0);
  auto body = make_body([chain = kept.chain()](TaskContext& context) {
    return write_segment(context, [&](runtime::PartitionedWriter& out) {
      PartitionCount count{context.partition, 0};
      chain.run(context, [&](T&&) { ++count.second; });
      out.write(0, count);
    });
  });
  const std::string counting = name + " counts";
  const ShuffleRef counts =
      add_shuffle(*in.graph(), counting, kept.lineage().then(counting, type_name<Read>()), 1, std::move(body), Routing::record);
  Lineage lineage = Lineage::after(records, std::move(name), type_name<Read>()).with_broadcast(counts).by_position();
  return Dataset<typename Read::Record, Read>(in.graph(), std::move(lineage), Read{records->id(), counts->id()});
}

}  // namespace weft::detail
