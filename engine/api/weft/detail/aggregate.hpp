// reduce_by_key, aggregate_by_key, distinct: combined in a table before the shuffle and merged in one behind it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "runtime/operators/combining_writer.hpp"
#include "runtime/operators/reduce_table.hpp"
#include "weft/concepts.hpp"
#include "weft/detail/stage.hpp"
#include "weft/partitioning.hpp"

namespace weft {
template <class T, class Chain>
class Dataset;
}

namespace weft::detail {

template <class V, class F>
struct ReduceAggregation {
  using Value = V;
  using Acc = Owned<V>;
  F function;

  Acc init(const V& value) const { return to_owned(value); }
  void add(Acc& acc, const V& value) const {
    if constexpr (std::is_same_v<V, Acc>) {
      merge(acc, value);
    } else {
      merge(acc, to_owned(value));
    }
  }
  void merge(Acc& acc, const Acc& other) const { acc = static_cast<Acc>(std::invoke(function, std::move(acc), other)); }
};

template <class V, class A, class Add, class Merge>
struct FoldAggregation {
  using Value = V;
  using Acc = A;
  A zero;
  Add add_function;
  Merge merge_function;

  Acc init(const V& value) const {
    Acc acc = zero;
    add(acc, value);
    return acc;
  }
  void add(Acc& acc, const V& value) const {
    if constexpr (std::is_void_v<std::invoke_result_t<const Add&, Acc&, const V&>>) {
      std::invoke(add_function, acc, value);
    } else {
      acc = static_cast<Acc>(std::invoke(add_function, acc, value));
    }
  }
  void merge(Acc& acc, const Acc& other) const {
    if constexpr (std::is_void_v<std::invoke_result_t<const Merge&, Acc&, const Acc&>>) {
      std::invoke(merge_function, acc, other);
    } else {
      acc = static_cast<Acc>(std::invoke(merge_function, acc, other));
    }
  }
};

struct Nothing {};
struct KeepOne {
  using Value = Nothing;
  using Acc = Nothing;
  Acc init(const Nothing&) const { return {}; }
  void add(Acc&, const Nothing&) const {}
  void merge(Acc&, const Acc&) const {}
};

template <class K, class Agg>
struct ReduceRead {
  using Acc = typename Agg::Acc;
  using Record = std::pair<K, Acc>;
  ShuffleId shuffle;
  Agg aggregation;
  std::shared_ptr<runtime::TableHint> hint = std::make_shared<runtime::TableHint>();

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    runtime::ReduceTable<KeyView<K>, Agg> table(context.operators, aggregation, hint.get());
    read_shuffle<std::pair<KeyView<K>, Acc>>(context, shuffle, context.partition, [&](const std::pair<KeyView<K>, Acc>& entry) {
      table.merge(entry.first, entry.second);
    });
    table.drain([&](const KeyView<K>& key, Acc& acc) { sink(Record(K(key), std::move(acc))); });
  }
};

template <class K>
struct DistinctRead {
  using Record = K;
  ReduceRead<K, KeepOne> read;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    read.run(context, [&](std::pair<K, Nothing>&& entry) { sink(std::move(entry.first)); });
  }
};

template <class K>
runtime::HashPartitioner combiner_partitioner(const HashPartitions&, std::uint32_t partitions) {
  return {partitions};
}
template <class K, class F>
auto combiner_partitioner(const PartitionBy<F>& how, std::uint32_t partitions) {
  return [route = partitioner_for<K>(how, partitions)](const KeyView<K>& key) { return route(K(key)); };
}

/// Writes (key, accumulator) for the records that split(record, add) takes apart into add(key, value).
template <class K, class D, class Agg, class P, class Split>
ShuffleRef combine_shuffle(const D& in, const Agg& aggregation, const P& how, const std::string& name, Split split) {
  using Record = typename D::Record;
  WEFT_REQUIRE_CODEC(K);
  WEFT_REQUIRE_CODEC(typename Agg::Acc);
  StageDraft draft;
  draft.name = name;
  draft.lineage = in.lineage().then(name, type_name<std::tuple<Record, Agg, P>>());
  draft.partitions = how.count;
  const auto hint = std::make_shared<runtime::TableHint>();
  draft.body = make_body([chain = in.chain(), aggregation, how, split, hint](TaskContext& context) {
    return write_segment(context, [&](runtime::PartitionedWriter& out) {
      auto route = combiner_partitioner<K>(how, context.output_partitions);
      runtime::CombiningWriter<KeyView<K>, Agg, decltype(route)> combiner(context.operators, out, route, aggregation, hint.get());
      chain.run(context, [&](Record&& record) { split(record, combiner); });
      combiner.finish();
    });
  });
  return in.graph()->add_shuffle(std::move(draft));
}

template <class D, class Agg, class P>
auto aggregate(const D& in, Agg aggregation, P how, std::string name) {
  using K = KeyOf<typename D::Record>;
  using Read = ReduceRead<K, Agg>;
  const ShuffleRef shuffle = combine_shuffle<K>(
      in, aggregation, how, name, [](const auto& record, auto& combiner) { combiner.add(record.first, record.second); });
  return Dataset<typename Read::Record, Read>(in.graph(), after_shuffle(shuffle, std::move(name), type_name<Read>()),
                                              Read{shuffle->id(), std::move(aggregation)});
}

template <class D, class P>
auto distinct(const D& in, P how, std::string name) {
  using K = typename D::Record;
  using Read = DistinctRead<K>;
  const ShuffleRef shuffle =
      combine_shuffle<K>(in, KeepOne{}, how, name, [](const auto& record, auto& combiner) { combiner.add(record, Nothing{}); });
  return Dataset<K, Read>(in.graph(), after_shuffle(shuffle, std::move(name), type_name<Read>()), Read{{shuffle->id(), {}}});
}

}  // namespace weft::detail
