// group_by_key and cogroup: all values of a key together, streamed.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "runtime/operators/grouper.hpp"
#include "weft/concepts.hpp"
#include "weft/detail/keyed.hpp"
#include "weft/detail/sort.hpp"
#include "weft/detail/stage.hpp"
#include "weft/partitioning.hpp"

namespace weft {
using runtime::Values;
}  // namespace weft

namespace weft::detail {

/// The values of a group in no particular order.
struct AsTheyCome {
  template <class K, class V>
  runtime::KeyedOrder<K> order() const {
    return {};
  }
};
/// The values of a group in the order of key_of(value).
template <class F>
struct SortedBy {
  F key_of;
  Order direction;
  struct Less {
    Order direction;
    template <class A>
    bool operator()(const A& a, const A& b) const {
      return direction == Order::ascending ? runtime::NaturalLess()(a, b) : runtime::NaturalLess()(b, a);
    }
  };
  template <class K, class V>
  runtime::KeyedValueOrder<K, V, F, Less> order() const {
    return {key_of, Less{direction}};
  }
};

template <class Input, class Arrangement = AsTheyCome>
struct GroupRead {
  using K = KeyOf<typename Input::Pair>;
  using V = ValueOf<typename Input::Pair>;
  using Record = std::pair<K, Values<V>>;
  static constexpr bool kKeyed = true;
  static constexpr bool kCanSort = std::is_same_v<Arrangement, AsTheyCome>;
  Input input;
  [[no_unique_address]] Arrangement arrangement = {};

  /// The same groups, whose values are in the order of key_of(value).
  template <class F>
  GroupRead<Input, SortedBy<F>> sorted(F key_of, Order direction) const {
    return {input, SortedBy<F>{std::move(key_of), direction}};
  }

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    auto order = arrangement.template order<KeyView<K>, V>();
    runtime::Grouper<KeyView<K>, V, decltype(order)> grouper(context.operators, std::move(order));
    input.template run<KeyView<K>, V>(context, [&](const auto& key, const auto& value) { grouper.add(key, value); });
    grouper.drain([&](const KeyView<K>& key, Values<V>& values) { sink(Record(K(key), values)); });
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

template <class Left, class Right>
struct CoGroupRead {
  using K = KeyOf<typename Left::Pair>;
  using L = ValueOf<typename Left::Pair>;
  using R = ValueOf<typename Right::Pair>;
  using Record = std::pair<K, std::pair<Values<L>, Values<R>>>;
  static constexpr bool kKeyed = true;
  Left left;
  Right right;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    using Key = KeyView<K>;
    runtime::CoGrouper<Key, L, R> grouper(context.operators);
    left.template run<Key, L>(context, [&](const auto& key, const auto& value) { grouper.add_left(key, value); });
    right.template run<Key, R>(context, [&](const auto& key, const auto& value) { grouper.add_right(key, value); });
    grouper.drain([&](const Key& key, Values<L>& lefts, Values<R>& rights) { sink(Record(K(key), {lefts, rights})); });
  }
};

template <class D, class P>
auto group(const D& in, P how, std::string name) {
  using Read = GroupRead<KeyedInput<typename D::ChainType>>;
  const std::uint32_t count = partitions_for(how, in);
  if (in_place<P>(in, count)) name = without_shuffle(name);
  auto gathered = gather_by_key(in, how, count, name);
  Lineage lineage = gathered.lineage.then_same_keys(std::move(name), type_name<Read>()).ordered_values();
  lineage.hashed = hashed_into<P>(count);
  return Dataset<typename Read::Record, Read>(in.graph(), std::move(lineage), Read{std::move(gathered.input)});
}

template <class D>
auto group_locally(const D& in, std::string name) {
  using Chain = LocalGroups<typename D::ChainType>;
  Lineage lineage = in.lineage().then_same_keys(std::move(name), type_name<Chain>()).ordered_values();
  lineage.hashed.reset();
  return Dataset<typename Chain::Record, Chain>(in.graph(), std::move(lineage), Chain{in.chain()});
}

template <class D, class Other, class P>
auto cogroup(const D& left, const Other& right, P how, std::string name) {
  using Read = CoGroupRead<KeyedInput<typename D::ChainType>, KeyedInput<typename Other::ChainType>>;
  check_same_flow(left.graph(), right.graph(), name);
  const std::uint32_t count = partitions_for(how, left, right);
  auto lefts = gather_by_key(left, how, count, name + " left");
  auto rights = gather_by_key(right, how, count, name + " right");
  Lineage lineage = Lineage::together(lefts.lineage, rights.lineage, std::move(name), type_name<Read>()).ordered_values();
  lineage.hashed = hashed_into<P>(count);
  return Dataset<typename Read::Record, Read>(left.graph(), std::move(lineage),
                                              Read{std::move(lefts.input), std::move(rights.input)});
}

}  // namespace weft::detail
