// Joins by key: both sides shuffled, or the right side sent whole to every task.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/operators/joiner.hpp"
#include "weft/detail/group.hpp"

namespace weft {

using runtime::JoinKind;

/// hash: both sides are partitioned by key. broadcast: every task gets all of the right side, the left side is not moved; for a
/// small right side.
enum class JoinStrategy : std::uint8_t { hash, broadcast };

}  // namespace weft

namespace weft::detail {

template <class K, class L, class R>
using Joiner = runtime::Joiner<K, L, R>;

/// Reads both shuffles. Shape::make(key, const L*, const R*) forms the record.
template <class K, class L, class R, class Shape>
struct JoinRead {
  using Record = typename Shape::Record;
  ShuffleId left, right;
  JoinKind kind;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    Joiner<K, L, R> joiner(context.operators, kind);
    const auto emit = [&](const K& key, const L* l, const R* r) { sink(Shape::make(key, l, r)); };
    read_shuffle<std::pair<K, R>>(context, right, context.partition,
                                  [&](const std::pair<K, R>& entry) { joiner.add_right(entry.first, entry.second); });
    read_shuffle<std::pair<K, L>>(context, left, context.partition,
                                  [&](const std::pair<K, L>& entry) { joiner.add_left(entry.first, entry.second, emit); });
    joiner.finish(emit);
  }
};

/// Reads the whole right side, then joins the records of `input`.
template <class Chain, class K, class L, class R, class Shape>
struct BroadcastJoin {
  using Record = typename Shape::Record;
  Chain input;
  ShuffleId right;
  JoinKind kind;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    Joiner<K, L, R> joiner(context.operators, kind);
    const auto emit = [&](const K& key, const L* l, const R* r) { sink(Shape::make(key, l, r)); };
    read_shuffle<std::pair<K, R>>(context, right, 0,
                                  [&](const std::pair<K, R>& entry) { joiner.add_right(entry.first, entry.second); });
    input.run(context, [&](typename Chain::Record&& record) {
      const auto& entry = to_wire(std::move(record));
      joiner.add_left(entry.first, entry.second, emit);
    });
    joiner.finish(emit);
  }
};

template <class T>
std::optional<T> optional_of(const T* value) {
  return value == nullptr ? std::nullopt : std::optional<T>(*value);
}

template <class K, class L, class R>
struct InnerShape {
  using Record = std::pair<K, std::pair<L, R>>;
  static Record make(const K& key, const L* l, const R* r) { return {key, {*l, *r}}; }
};
template <class K, class L, class R>
struct LeftShape {
  using Record = std::pair<K, std::pair<L, std::optional<R>>>;
  static Record make(const K& key, const L* l, const R* r) { return {key, {*l, optional_of(r)}}; }
};
template <class K, class L, class R>
struct RightShape {
  using Record = std::pair<K, std::pair<std::optional<L>, R>>;
  static Record make(const K& key, const L* l, const R* r) { return {key, {optional_of(l), *r}}; }
};
template <class K, class L, class R>
struct OptionalShape {
  using Record = std::pair<K, std::pair<std::optional<L>, std::optional<R>>>;
  static Record make(const K& key, const L* l, const R* r) { return {key, {optional_of(l), optional_of(r)}}; }
};
template <class K, class L, class R>
struct LeftOnlyShape {
  using Record = std::pair<K, L>;
  static Record make(const K& key, const L* l, const R*) { return {key, *l}; }
};

template <template <class, class, class> class ShapeOf, class D, class Other, class P>
auto hash_join(const D& left, const Other& right, JoinKind kind, P how, std::string name) {
  using K = KeyOf<typename D::Record>;
  using L = ValueOf<Wire<typename D::Record>>;
  using R = ValueOf<Wire<typename Other::Record>>;
  using Read = JoinRead<K, L, R, ShapeOf<K, L, R>>;
  const ShuffleRef a = exchange(left, name + " left", type_name<std::tuple<typename D::Record, P>>(), how.count, by_key<K>(how));
  const ShuffleRef b = exchange(right, name + " right", type_name<std::tuple<typename Other::Record, P>>(), how.count,
                                by_key<KeyOf<typename Other::Record>>(how));
  return Dataset<typename Read::Record, Read>(left.graph(), after_shuffles(a, b, std::move(name), type_name<Read>()),
                                              Read{a->id(), b->id(), kind});
}

template <template <class, class, class> class ShapeOf, class D, class Other>
auto broadcast_join(const D& left, const Other& right, JoinKind kind, std::string name) {
  using K = KeyOf<typename D::Record>;
  using L = ValueOf<Wire<typename D::Record>>;
  using R = ValueOf<Wire<typename Other::Record>>;
  using Node = BroadcastJoin<typename D::ChainType, K, L, R, ShapeOf<K, L, R>>;
  if (kind == JoinKind::right || kind == JoinKind::full) {
    throw std::invalid_argument(name +
                                ": a broadcast join cannot keep right rows without a partner, for no task sees all left rows; use "
                                "JoinStrategy::hash");
  }
  const ShuffleRef shuffle = exchange(right, name + " right", type_name<typename Other::Record>(), 1,
                                      [](TaskContext&) { return [](const auto&) { return std::uint32_t{0}; }; });
  return Dataset<typename Node::Record, Node>(left.graph(),
                                              left.lineage().then(std::move(name), type_name<Node>()).with_broadcast(shuffle),
                                              Node{left.chain(), shuffle->id(), kind});
}

/// With the strategy chosen at run time the two forms become one type.
template <template <class, class, class> class ShapeOf, class D, class Other, class P>
auto join(const D& left, const Other& right, JoinKind kind, JoinStrategy strategy, P how, std::string name) {
  using Record = typename decltype(hash_join<ShapeOf>(left, right, kind, how, name))::Record;
  if (strategy == JoinStrategy::broadcast)
    return Dataset<Record, Erased<Record>>(broadcast_join<ShapeOf>(left, right, kind, std::move(name)));
  return Dataset<Record, Erased<Record>>(hash_join<ShapeOf>(left, right, kind, how, std::move(name)));
}

}  // namespace weft::detail
