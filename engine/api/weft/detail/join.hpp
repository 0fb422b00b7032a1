// Joins by key: both sides shuffled, or the right side sent whole to every task.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/operators/joiner.hpp"
#include "weft/detail/group.hpp"
#include "weft/joined.hpp"

namespace weft {

using runtime::JoinKind;

/// hash: both sides are partitioned by key. broadcast: every task gets all of the right side, the left side is not moved; for a
/// small right side.
enum class JoinStrategy : std::uint8_t { hash, broadcast };

/// A strategy that is chosen at run time, and the partitions for when it is hash: `left.join(right, weft::JoinHow{strategy, 16})`.
template <class P = HashPartitions>
struct JoinHow {
  JoinStrategy strategy = JoinStrategy::hash;
  P partitions{};
};
JoinHow(JoinStrategy)->JoinHow<>;
template <class P>
JoinHow(JoinStrategy, P) -> JoinHow<P>;

}  // namespace weft

namespace weft::detail {

template <class K, class Build, class Probe, class BuildInput, class ProbeInput, class Emit>
void run_join(TaskContext& context, runtime::JoinRules rules, runtime::TableHint* hint, const BuildInput& build,
              const ProbeInput& probe, const Emit& emit) {
  runtime::Joiner<K, Build, Probe> joiner(context.operators, rules, hint);
  build(context, [&](const K& key, const Build& value) { joiner.build(key, value); });
  probe(context, [&](const K& key, const Probe& value) { joiner.probe(key, value, emit); });
  joiner.finish(emit);
}

/// Reads both sides and keeps the smaller one in memory. Shape::make(key, const L*, const R*) forms the record.
template <class Left, class Right, class Shape>
struct JoinRead {
  using Record = typename Shape::Record;
  using K = KeyView<KeyOf<typename Left::Pair>>;
  using L = KeyView<ValueOf<typename Left::Pair>>;
  using R = KeyView<ValueOf<typename Right::Pair>>;
  static constexpr bool kKeyed = true;
  Left left;
  Right right;
  JoinKind kind;
  std::shared_ptr<runtime::TableHint> hint = std::make_shared<runtime::TableHint>();

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    const auto lefts = [&](TaskContext& task, auto&& visit) { left.template run<K, L>(task, visit); };
    const auto rights = [&](TaskContext& task, auto&& visit) { right.template run<K, R>(task, visit); };
    if (left_is_smaller(context)) {
      run_join<K, L, R>(context, runtime::JoinRules::of(kind, runtime::BuildSide::left), hint.get(), lefts, rights,
                        [&](const K& key, const L* l, const R* r) { sink(Shape::make(key, l, r)); });
    } else {
      run_join<K, R, L>(context, runtime::JoinRules::of(kind, runtime::BuildSide::right), hint.get(), rights, lefts,
                        [&](const K& key, const R* r, const L* l) { sink(Shape::make(key, l, r)); });
    }
  }

 private:
  /// A side that is made in this task may have any size, so it is streamed.
  bool left_is_smaller(const TaskContext& context) const {
    if (left.here) return false;
    return right.here || context.input_bytes_of(left.shuffle) < context.input_bytes_of(right.shuffle);
  }
};

/// Reads the whole right side, then joins the records of `input`.
template <class Chain, class Key, class L, class R, class Shape>
struct BroadcastJoin {
  using Record = typename Shape::Record;
  using K = KeyView<Key>;
  static constexpr bool kKeyed = keyed<Chain>();
  Chain input;
  ShuffleId right;
  JoinKind kind;
  std::shared_ptr<runtime::TableHint> hint = std::make_shared<runtime::TableHint>();

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    const auto rights = [&](TaskContext& task, auto&& visit) {
      read_shuffle<std::pair<K, R>>(task, right, 0, [&](const std::pair<K, R>& entry) { visit(entry.first, entry.second); });
    };
    const auto lefts = [&](TaskContext& task, auto&& visit) {
      input.run(task, [&](typename Chain::Record&& record) {
        const auto& entry = to_wire(std::move(record));
        const K& key = entry.first;
        const L& value = entry.second;
        visit(key, value);
      });
    };
    run_join<K, R, L>(context, runtime::JoinRules::of(kind, runtime::BuildSide::right), hint.get(), rights, lefts,
                      [&](const K& key, const R* r, const L* l) { sink(Shape::make(key, l, r)); });
  }
};

template <class T, class View>
std::optional<T> optional_of(const View* value) {
  return value == nullptr ? std::nullopt : std::optional<T>(T(*value));
}

// The records of a join. Texts arrive as views.
template <class K, class L, class R>
struct InnerShape {
  using Record = std::pair<K, Joined<L, R>>;
  static Record make(const auto& key, const auto* l, const auto* r) { return {K(key), {L(*l), R(*r)}}; }
};
template <class K, class L, class R>
struct LeftShape {
  using Record = std::pair<K, Joined<L, std::optional<R>>>;
  static Record make(const auto& key, const auto* l, const auto* r) { return {K(key), {L(*l), optional_of<R>(r)}}; }
};
template <class K, class L, class R>
struct RightShape {
  using Record = std::pair<K, Joined<std::optional<L>, R>>;
  static Record make(const auto& key, const auto* l, const auto* r) { return {K(key), {optional_of<L>(l), R(*r)}}; }
};
template <class K, class L, class R>
struct OptionalShape {
  using Record = std::pair<K, Joined<std::optional<L>, std::optional<R>>>;
  static Record make(const auto& key, const auto* l, const auto* r) { return {K(key), {optional_of<L>(l), optional_of<R>(r)}}; }
};
template <class K, class L, class R>
struct LeftOnlyShape {
  using Record = std::pair<K, L>;
  static Record make(const auto& key, const auto* l, const auto*) { return {K(key), L(*l)}; }
};

/// Which of the two inputs may be cut into pieces that are joined with the whole other side on their own: those whose records are
/// independent of each other.
inline std::vector<std::uint32_t> splittable_sides(JoinKind kind) {
  switch (kind) {
    case JoinKind::inner:
      return {0, 1};
    case JoinKind::left:
    case JoinKind::semi:
    case JoinKind::anti:
      return {0};
    case JoinKind::right:
      return {1};
    case JoinKind::full:
      break;
  }
  return {};
}

template <template <class, class, class> class ShapeOf, class D, class Other, class P>
auto hash_join(const D& left, const Other& right, JoinKind kind, P how, std::string name) {
  using Left = KeyedInput<typename D::ChainType>;
  using Right = KeyedInput<typename Other::ChainType>;
  using Shape = ShapeOf<KeyOf<typename D::Record>, ValueOf<typename Left::Pair>, ValueOf<typename Right::Pair>>;
  using Read = JoinRead<Left, Right, Shape>;
  const std::uint32_t count = partitions_for(how, left, right);
  auto lefts = gather_by_key(left, how, count, name + " left");
  auto rights = gather_by_key(right, how, count, name + " right");
  Lineage lineage = Lineage::together(lefts.lineage, rights.lineage, std::move(name), type_name<Read>());
  if (!lefts.input.here && !rights.input.here) lineage.branches[0].splittable = splittable_sides(kind);
  lineage.hashed = hashed_into<P>(count);
  return Dataset<typename Read::Record, Read>(left.graph(), std::move(lineage),
                                              Read{std::move(lefts.input), std::move(rights.input), kind});
}

template <template <class, class, class> class ShapeOf, class D, class Other>
auto broadcast_join(const D& left, const Other& right, JoinKind kind, std::string name) {
  using K = KeyOf<typename D::Record>;
  using L = ValueOf<Wire<typename D::Record>>;
  using R = ValueOf<Wire<typename Other::Record>>;
  using Node = BroadcastJoin<typename D::ChainType, K, KeyView<L>, KeyView<R>, ShapeOf<K, L, R>>;
  if (kind == JoinKind::right || kind == JoinKind::full) {
    throw std::invalid_argument(name +
                                ": a broadcast join cannot keep right rows without a partner, for no task sees all left rows; use "
                                "JoinStrategy::hash");
  }
  const ShuffleRef shuffle = exchange(right, name + " right", type_name<typename Other::Record>(), 1,
                                      [](TaskContext&) { return [](const auto&) { return std::uint32_t{0}; }; });
  return Dataset<typename Node::Record, Node>(
      left.graph(), left.lineage().then_same_keys(std::move(name), type_name<Node>()).with_broadcast(shuffle),
      Node{left.chain(), shuffle->id(), kind});
}

/// What joins take as their last argument: where rows go, JoinHow with both, or a strategy alone.
template <class K, class H>
inline constexpr bool kIsJoinHow = std::same_as<H, JoinStrategy> || Partitioning<H, K>;
template <class K, class P>
inline constexpr bool kIsJoinHow<K, JoinHow<P>> = Partitioning<P, K>;

template <template <class, class, class> class ShapeOf, class D, class Other, class P>
auto join(const D& left, const Other& right, JoinKind kind, JoinStrategy strategy, P how, std::string name);

/// Takes the options of a join in any of their forms.
template <template <class, class, class> class ShapeOf, class D, class Other, class H>
auto join_with(const D& left, const Other& right, JoinKind kind, const H& how, std::string name) {
  if constexpr (std::same_as<H, JoinStrategy>) {
    return join<ShapeOf>(left, right, kind, how, HashPartitions{}, std::move(name));
  } else if constexpr (requires { how.strategy; }) {
    return join<ShapeOf>(left, right, kind, how.strategy, partitioning(how.partitions), std::move(name));
  } else {
    return hash_join<ShapeOf>(left, right, kind, partitioning(how), std::move(name));
  }
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
