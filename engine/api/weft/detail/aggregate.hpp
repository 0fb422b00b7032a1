// reduce_by_key, aggregate_by_key, distinct: combined in a table before the shuffle and merged in one behind it.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "runtime/operators/combining_writer.hpp"
#include "runtime/operators/natural_order.hpp"
#include "runtime/operators/reduce_table.hpp"
#include "weft/concepts.hpp"
#include "weft/detail/keyed.hpp"
#include "weft/detail/stage.hpp"
#include "weft/partitioning.hpp"

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

template <class V>
struct CountAggregation {
  using Value = V;
  using Acc = std::uint64_t;
  Acc init(const V&) const { return 1; }
  void add(Acc& acc, const V&) const { ++acc; }
  void merge(Acc& acc, const Acc& other) const { acc += other; }
};

/// (std::plus<double> rounds integers of more than 53 bits.)
template <std::integral V, class T>
requires std::is_void_v<T> || std::integral<T>
inline constexpr bool kSameInAnyOrder<ReduceAggregation<V, std::plus<T>>> = true;
template <class V>
inline constexpr bool kSameInAnyOrder<CountAggregation<V>> = true;

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
  static constexpr bool kKeyed = true;
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

/// The same for records that may lie in the partitions of their keys already: then no shuffle is needed, and `here` makes them.
template <class K, class Agg, class Chain>
struct ReduceKeyed {
  using Acc = typename Agg::Acc;
  using Record = std::pair<K, Acc>;
  static constexpr bool kKeyed = true;
  ReduceRead<K, Agg> there;
  std::optional<Chain> here;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    if (!here) return there.run(context, sink);
    const Agg& aggregation = there.aggregation;
    runtime::ReduceTable<KeyView<K>, Agg> table(context.operators, aggregation, there.hint.get());
    here->run(context, [&](typename Chain::Record&& record) {
      if constexpr (std::is_trivially_copyable_v<Acc> && sizeof(Acc) <= 32) {
        table.merge(record.first, aggregation.init(record.second));  // may wait in the table for its cache lines
      } else {
        table.add(record.first, record.second);
      }
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
ShuffleRef combine_shuffle(const D& in, const Agg& aggregation, const P& how, const std::string& name, Routing routing,
                           Split split) {
  using Record = typename D::Record;
  WEFT_REQUIRE_CODEC(K);
  WEFT_REQUIRE_CODEC(typename Agg::Acc);
  static_assert(!kIsSampled<P>, "values are combined before they are sent: a sample of the records does not tell how much that is");
  auto body = make_body([chain = in.chain(), aggregation, how, split,
                         hint = std::make_shared<runtime::TableHint>()](TaskContext& context) {
    return write_segment(context, [&](runtime::PartitionedWriter& out) {
      auto route = combiner_partitioner<K>(how, context.output_partitions);
      runtime::CombiningWriter<KeyView<K>, Agg, decltype(route)> combiner(context.operators, out, route, aggregation, hint.get());
      chain.run(context, [&](Record&& record) { split(record, combiner); });
      combiner.finish();
    });
  });
  return add_shuffle(*in.graph(), name, in.lineage().then_same_keys(name, type_name<std::tuple<Record, Agg, P>>()), how.count,
                     std::move(body), routing);
}

template <class K, class D, class Agg, class P>
ShuffleRef aggregate_shuffle(const D& in, const Agg& aggregation, const P& how, const std::string& name) {
  return combine_shuffle<K>(in, aggregation, how, name, Routing::key,
                            [](const auto& record, auto& combiner) { combiner.add(record.first, record.second); });
}

/// Behind the aggregation of what `before` reads.
template <class Agg>
Lineage combined(const Lineage& before) {
  return kSameInAnyOrder<Agg> ? before : before.ordered_values();
}

template <class D, class Agg, class P>
auto aggregate(const D& in, Agg aggregation, P how, std::string name) {
  using K = KeyOf<typename D::Record>;
  using Read = ReduceRead<K, Agg>;
  using Chain = typename D::ChainType;
  if constexpr (keyed<Chain>() && std::same_as<P, HashPartitions>) {
    using Node = ReduceKeyed<K, Agg, Chain>;
    how.count = partitions_for(how, in);
    const bool stays = in_place<P>(in, how.count);
    const ShuffleRef shuffle = stays ? nullptr : aggregate_shuffle<K>(in, aggregation, how, name);
    Lineage lineage = combined<Agg>(stays ? in.lineage().unsplit().then_same_keys(without_shuffle(name), type_name<Node>())
                                          : Lineage::after(shuffle, std::move(name), type_name<Node>()));
    lineage.hashed = how.count;
    return Dataset<typename Node::Record, Node>(
        in.graph(), std::move(lineage),
        Node{Read{stays ? ShuffleId() : shuffle->id(), std::move(aggregation)}, stays ? std::optional(in.chain()) : std::nullopt});
  } else {
    const ShuffleRef shuffle = aggregate_shuffle<K>(in, aggregation, how, name);
    Lineage lineage = combined<Agg>(Lineage::after(shuffle, std::move(name), type_name<Read>()));
    lineage.hashed = hashed_into<P>(how.count);
    return Dataset<typename Read::Record, Read>(in.graph(), std::move(lineage), Read{shuffle->id(), std::move(aggregation)});
  }
}

template <class D, class P>
auto distinct(const D& in, P how, std::string name) {
  using K = typename D::Record;
  using Read = DistinctRead<K>;
  const ShuffleRef shuffle = combine_shuffle<K>(in, KeepOne{}, how, name, Routing::record, [](const auto& record, auto& combiner) {
    if constexpr (runtime::kHasFloat<K>) {
      auto canonical = record;
      runtime::make_canonical(canonical);
      combiner.add(canonical, Nothing{});
    } else {
      combiner.add(record, Nothing{});
    }
  });
  return Dataset<K, Read>(in.graph(), Lineage::after(shuffle, std::move(name), type_name<Read>()), Read{{shuffle->id(), {}}});
}

}  // namespace weft::detail
