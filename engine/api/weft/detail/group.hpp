// group_by_key and cogroup: all values of a key together, streamed.
#pragma once

#include <string>
#include <utility>

#include "runtime/operators/grouper.hpp"
#include "weft/concepts.hpp"
#include "weft/detail/stage.hpp"
#include "weft/partitioning.hpp"

namespace weft {
template <class T, class Chain>
class Dataset;

using runtime::Values;
}  // namespace weft

namespace weft::detail {

/// Routes pairs by key.
template <class K, class P>
auto by_key(const P& how) {
  return [how](TaskContext& context) {
    return [route = partitioner_for<K>(how, context.output_partitions)](const auto& record) { return route(record.first); };
  };
}

template <class K, class V>
struct GroupRead {
  using Record = std::pair<K, Values<V>>;
  ShuffleId shuffle;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    runtime::Grouper<K, V> grouper(context.operators);
    read_shuffle<std::pair<K, V>>(context, shuffle, context.partition,
                                  [&](const std::pair<K, V>& entry) { grouper.add(entry.first, entry.second); });
    grouper.drain([&](const K& key, Values<V>& values) { sink(Record(key, values)); });
  }
};

/// The groups of one task's records, before any shuffle: what a combiner of the classic interface sees.
template <class Chain>
struct LocalGroups {
  using K = KeyOf<typename Chain::Record>;
  using V = ValueOf<typename Chain::Record>;
  using Record = std::pair<K, Values<V>>;
  Chain input;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    runtime::Grouper<K, V> grouper(context.operators);
    input.run(context, [&](std::pair<K, V>&& entry) { grouper.add(entry.first, entry.second); });
    grouper.drain([&](const K& key, Values<V>& values) { sink(Record(key, values)); });
  }
};

template <class K, class L, class R>
struct CoGroupRead {
  using Record = std::pair<K, std::pair<Values<L>, Values<R>>>;
  ShuffleId left, right;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    runtime::CoGrouper<K, L, R> grouper(context.operators);
    read_shuffle<std::pair<K, L>>(context, left, context.partition,
                                  [&](const std::pair<K, L>& entry) { grouper.add_left(entry.first, entry.second); });
    read_shuffle<std::pair<K, R>>(context, right, context.partition,
                                  [&](const std::pair<K, R>& entry) { grouper.add_right(entry.first, entry.second); });
    grouper.drain([&](const K& key, Values<L>& lefts, Values<R>& rights) { sink(Record(key, {lefts, rights})); });
  }
};

template <class D, class P>
auto group(const D& in, P how, std::string name) {
  using K = KeyOf<typename D::Record>;
  using V = ValueOf<Wire<typename D::Record>>;
  using Read = GroupRead<K, V>;
  const ShuffleRef shuffle = exchange(in, name, type_name<std::tuple<typename D::Record, P>>(), how.count, by_key<K>(how));
  return Dataset<typename Read::Record, Read>(in.graph(), after_shuffle(shuffle, std::move(name), type_name<Read>()),
                                              Read{shuffle->id()});
}

template <class D>
auto group_locally(const D& in, std::string name) {
  using Chain = LocalGroups<typename D::ChainType>;
  return Dataset<typename Chain::Record, Chain>(in.graph(), in.lineage().then(std::move(name), type_name<Chain>()),
                                                Chain{in.chain()});
}

template <class D, class Other, class P>
auto cogroup(const D& left, const Other& right, P how, std::string name) {
  using K = KeyOf<typename D::Record>;
  using L = ValueOf<Wire<typename D::Record>>;
  using R = ValueOf<Wire<typename Other::Record>>;
  using Read = CoGroupRead<K, L, R>;
  const ShuffleRef a = exchange(left, name + " left", type_name<std::tuple<typename D::Record, P>>(), how.count, by_key<K>(how));
  const ShuffleRef b = exchange(right, name + " right", type_name<std::tuple<typename Other::Record, P>>(), how.count,
                                by_key<KeyOf<typename Other::Record>>(how));
  return Dataset<typename Read::Record, Read>(left.graph(), after_shuffles(a, b, std::move(name), type_name<Read>()),
                                              Read{a->id(), b->id()});
}

}  // namespace weft::detail
