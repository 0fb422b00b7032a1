// Joins by key: both sides shuffled, or one side read whole by the tasks that make the records of the other.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/operators/joiner.hpp"
#include "runtime/operators/shared_join.hpp"
#include "weft/detail/group.hpp"
#include "weft/joined.hpp"

namespace weft {

using runtime::JoinKind;

/// hash: both sides are partitioned by key. broadcast: the left side is not moved, and all of the right side, which is small, is
/// held in memory by each process that runs tasks. automatic: one of the two, or a broadcast of the left side, by the sizes of the
/// inputs.
enum class JoinStrategy : std::uint8_t { hash, broadcast, automatic };

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

/// A side of a join whose records are joined where they are made, with the other side, which is whole in that shuffle.
template <class Chain>
struct StreamedInput {
  Chain chain;
  ShuffleId whole;
};

/// Adds the records of some maps to a table that all tasks of the process build.
template <class K, class B>
void build_piece(TaskContext& context, runtime::SharedJoinTable<K, B>& table, const runtime::JoinRules& rules, ShuffleId whole,
                 const runtime::SharedTable::Piece& piece) {
  runtime::JoinBuilder<K, B> builder(table, rules);
  read_map_blocks(context, whole, piece.first_map, piece.end_map, [&](const shuffle::Block& block) {
    table.expect(context.input_bytes_of(whole) * block.records / std::max<std::size_t>(1, block.bytes.size()));
    builder.add(block.bytes);
  });
  builder.done();
}

/// The table of a side that all tasks read whole. Null when it does not fit, or nothing is shared here.
template <class K, class B>
std::shared_ptr<runtime::SharedTable> shared_table(TaskContext& context, const runtime::JoinRules& rules, ShuffleId whole) {
  using Table = runtime::SharedJoinTable<K, B>;
  for (;;) {  // until one is not spoiled by another task
    std::shared_ptr<runtime::SharedTable> table = find_table(context, whole, Table::make);
    if (!table) return nullptr;
    while (const auto piece = table->claim(context.operators))
      build_piece<K, B>(context, static_cast<Table&>(*table), rules, whole, *piece);
    if (table->state() == runtime::SharedTable::State::complete) return table;
    if (table->state() == runtime::SharedTable::State::refused) return nullptr;
  }
}

/// Joins the records of `input` with the whole other side. If that fits into no shared table, each task joins with what it reads.
template <class K, class B, class P, class Chain, class Emit>
void run_streamed(TaskContext& context, const runtime::JoinRules& rules, const StreamedInput<Chain>& input, const Emit& emit) {
  const auto shared = shared_table<K, B>(context, rules, input.whole);
  const auto* const table = static_cast<const runtime::SharedJoinTable<K, B>*>(shared.get());
  const runtime::TableShare share(context.operators, table == nullptr ? 0 : table->bytes());
  runtime::JoinProbe<K, B, P> probe(context.operators, rules, table, context.position_offset);
  runtime::Joiner<K, B, P> joiner(context.operators, rules);
  if (table == nullptr) {
    read_shuffle<std::pair<K, B>>(context, input.whole, 0,
                                  [&](const std::pair<K, B>& entry) { joiner.build(entry.first, entry.second); });
  }
  const char* path = context.position_path;  // of the records that wait in `probe`
  const auto emit_waiting = [&] {
    const char* const now = std::exchange(context.position_path, path);
    probe.finish(emit);
    path = context.position_path = now;
  };
  input.chain.run(context, [&](typename Chain::Record&& record) {
    const auto& entry = to_wire(std::move(record));
    const K& key = entry.first;
    const P& value = entry.second;
    if (table != nullptr) [[likely]] {
      if (context.position_path != path) [[unlikely]]
        emit_waiting();
      probe.probe(key, value, emit);
    } else {
      joiner.probe(key, value, emit);
      joiner.emit_waiting(emit);
    }
  });
  if (table != nullptr) return emit_waiting();
  joiner.finish(emit);
}

/// Reads both sides and keeps the smaller one in memory, or streams one of them. Shape::make(key, const L*, const R*) forms the
/// record.
template <class Left, class Right, class Shape>
struct JoinRead {
  using Record = typename Shape::Record;
  using K = KeyView<KeyOf<typename Left::Pair>>;
  using L = KeyView<ValueOf<typename Left::Pair>>;
  using R = KeyView<ValueOf<typename Right::Pair>>;
  using ShapeType = Shape;
  using BuildSide = runtime::BuildSide;
  static constexpr bool kKeyed = true;

  JoinKind kind;
  std::optional<std::pair<Left, Right>> hashed;  // the sides by partition
  std::optional<StreamedInput<typename Left::ChainType>> left_streamed = std::nullopt;
  std::optional<StreamedInput<typename Right::ChainType>> right_streamed = std::nullopt;
  std::shared_ptr<runtime::TableHint> hint = std::make_shared<runtime::TableHint>();

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    const auto emit_built_left = [&](const K& key, const L* l, const R* r) { sink(Shape::make(key, l, r)); };
    const auto emit_built_right = [&](const K& key, const R* r, const L* l) { sink(Shape::make(key, l, r)); };
    if (!streams(context)) {
      if (left_is_smaller(context)) {
        run_join<K, L, R>(context, runtime::JoinRules::of(kind, BuildSide::left), hint.get(), side(hashed->first),
                          side(hashed->second), emit_built_left);
      } else {
        run_join<K, R, L>(context, runtime::JoinRules::of(kind, BuildSide::right), hint.get(), side(hashed->second),
                          side(hashed->first), emit_built_right);
      }
      return;
    }
    if (left_streamed && right_streamed && !context.reads(left_streamed->whole) && !context.reads(right_streamed->whole))
      refuse_unknown_side();
    if constexpr (Shape::kStreamsRight) {
      if (right_streamed && (!left_streamed || context.reads(right_streamed->whole)))
        return run_streamed<K, L, R>(context, runtime::JoinRules::of(kind, BuildSide::left), *right_streamed, emit_built_left);
    }
    if constexpr (Shape::kStreamsLeft)
      run_streamed<K, R, L>(context, runtime::JoinRules::of(kind, BuildSide::right), *left_streamed, emit_built_right);
  }

 private:
  /// The plan says which: by what the task reads.
  bool streams(const TaskContext& context) const {
    return !hashed || ((left_streamed || right_streamed) && !context.reads(hashed->first.shuffle));
  }
  template <class Side>
  static auto side(const Side& input) {
    return [&input](TaskContext& task, auto&& visit) { input.template run<K, KeyView<ValueOf<typename Side::Pair>>>(task, visit); };
  }
  /// A side that is made in this task may have any size, so it is streamed.
  bool left_is_smaller(const TaskContext& context) const {
    const auto& [left, right] = *hashed;
    if (left.here) return false;
    return right.here || context.input_bytes_of(left.shuffle) < context.input_bytes_of(right.shuffle);
  }
};

template <class T, class View>
std::optional<T> optional_of(const View* value) {
  return value == nullptr ? std::nullopt : std::optional<T>(T(*value));
}

// The records of a join. Texts arrive as views. Which of the sides may be streamed to the other one as a whole: not those that are
// joined with records that must be emitted without a partner, because no task sees all of these partners.
template <class K, class L, class R>
struct InnerShape {
  using Record = std::pair<K, Joined<L, R>>;
  static constexpr bool kStreamsLeft = true, kStreamsRight = true;
  static Record make(const auto& key, const auto* l, const auto* r) { return {K(key), {L(*l), R(*r)}}; }
};
template <class K, class L, class R>
struct LeftShape {
  using Record = std::pair<K, Joined<L, std::optional<R>>>;
  static constexpr bool kStreamsLeft = true, kStreamsRight = false;
  static Record make(const auto& key, const auto* l, const auto* r) { return {K(key), {L(*l), optional_of<R>(r)}}; }
};
template <class K, class L, class R>
struct RightShape {
  using Record = std::pair<K, Joined<std::optional<L>, R>>;
  static constexpr bool kStreamsLeft = false, kStreamsRight = true;
  static Record make(const auto& key, const auto* l, const auto* r) { return {K(key), {optional_of<L>(l), R(*r)}}; }
};
template <class K, class L, class R>
struct OptionalShape {
  using Record = std::pair<K, Joined<std::optional<L>, std::optional<R>>>;
  static constexpr bool kStreamsLeft = true, kStreamsRight = false;
  static Record make(const auto& key, const auto* l, const auto* r) { return {K(key), {optional_of<L>(l), optional_of<R>(r)}}; }
};
template <class K, class L, class R>
struct LeftOnlyShape {
  using Record = std::pair<K, L>;
  static constexpr bool kStreamsLeft = true, kStreamsRight = false;
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

/// All of a side in one partition, for tasks that read it whole.
template <class D>
ShuffleRef whole_shuffle(const D& in, const std::string& name) {
  using Record = typename D::Record;
  return exchange(in, name + ", whole", type_name<std::tuple<Record, HashPartitions>>(), 1, Routing::record,
                  by_key<KeyOf<Record>>(HashPartitions{1}, ShuffleId()));
}

/// Whether the kind may stream the left side. (A right side may be streamed if its shape says so.)
inline bool streams_left(JoinKind kind) { return kind != JoinKind::right && kind != JoinKind::full; }

template <template <class, class, class> class ShapeOf, class D, class Other>
struct JoinTypes {
  using Left = KeyedInput<typename D::ChainType>;
  using Right = KeyedInput<typename Other::ChainType>;
  using Shape = ShapeOf<KeyOf<typename D::Record>, ValueOf<typename Left::Pair>, ValueOf<typename Right::Pair>>;
  using Read = JoinRead<Left, Right, Shape>;
};

template <template <class, class, class> class ShapeOf, class D, class Other>
auto broadcast_join(const D& left, const Other& right, JoinKind kind, std::string name) {
  using Read = typename JoinTypes<ShapeOf, D, Other>::Read;
  if (!streams_left(kind)) {
    throw std::invalid_argument(name +
                                ": a broadcast join cannot keep right rows without a partner, for no task sees all left rows; use "
                                "JoinStrategy::hash");
  }
  const ShuffleRef whole = whole_shuffle(right, name + " right");
  Read read{kind, std::nullopt};
  read.left_streamed.emplace(StreamedInput<typename D::ChainType>{left.chain(), whole->id()});
  Lineage lineage = left.lineage().then_same_keys(std::move(name), type_name<Read>()).grown().with_broadcast(whole);
  if constexpr (!keyed<typename D::ChainType>()) lineage.hashed.reset();
  return Dataset<typename Read::Record, Read>(left.graph(), std::move(lineage), std::move(read));
}

/// Whether the tasks of a join may be those of one side is decided when it is planned, by the sizes. Here the stages are made that
/// are read then.
template <class Read, class D, class Other>
void allow_streaming(Read& read, Lineage& lineage, const D& left, const Other& right, JoinKind kind, const std::string& name) {
  using Shape = typename Read::ShapeType;
  if constexpr (Shape::kStreamsLeft) {
    if (streams_left(kind)) {
      const ShuffleRef whole = whole_shuffle(right, name + " right");
      read.left_streamed.emplace(StreamedInput<typename D::ChainType>{left.chain(), whole->id()});
      lineage.allow(left.lineage(), whole, "right");
    }
  }
  if constexpr (Shape::kStreamsRight) {
    const ShuffleRef whole = whole_shuffle(left, name + " left");
    read.right_streamed.emplace(StreamedInput<typename Other::ChainType>{right.chain(), whole->id()});
    lineage.allow(right.lineage(), whole, "left");
  }
}

template <template <class, class, class> class ShapeOf, class D, class Other, class P>
auto hash_join(const D& left, const Other& right, JoinKind kind, P how, std::string name, JoinStrategy strategy) {
  using Read = typename JoinTypes<ShapeOf, D, Other>::Read;
  const std::uint32_t count = partitions_for(how, left, right);
  auto lefts = gather_by_key(left, how, count, name + " left", Routing::record);
  auto rights = gather_by_key(right, how, count, name + " right", Routing::record);
  const bool in_partitions = !lefts.input.here && !rights.input.here;
  Lineage lineage = Lineage::together(lefts.lineage, rights.lineage, name, type_name<Read>());
  if (in_partitions) lineage.branches[0].splittable = splittable_sides(kind);
  lineage.hashed = hashed_into<P>(count);
  Read read{kind, std::pair(std::move(lefts.input), std::move(rights.input))};
  if constexpr (std::same_as<P, HashPartitions>) {
    if (strategy == JoinStrategy::automatic && in_partitions && count == kDefaultPartitions)
      allow_streaming(read, lineage, left, right, kind, name);
  }
  return Dataset<typename Read::Record, Read>(left.graph(), std::move(lineage), std::move(read));
}

/// What joins take as their last argument: where rows go, JoinHow with both, or a strategy alone.
template <class K, class H>
inline constexpr bool kIsJoinHow = std::same_as<H, JoinStrategy> || Partitioning<H, K>;
template <class K, class P>
inline constexpr bool kIsJoinHow<K, JoinHow<P>> = Partitioning<P, K>;

template <template <class, class, class> class ShapeOf, class D, class Other, class P>
auto join(const D& left, const Other& right, JoinKind kind, JoinStrategy strategy, P how, std::string name) {
  check_same_flow(left.graph(), right.graph(), name);
  if (strategy == JoinStrategy::broadcast) return broadcast_join<ShapeOf>(left, right, kind, std::move(name));
  return hash_join<ShapeOf>(left, right, kind, how, std::move(name), strategy);
}

/// Takes the options of a join in any of their forms. Where nothing is said, the strategy is chosen by the plan.
template <template <class, class, class> class ShapeOf, class D, class Other, class H>
auto join_with(const D& left, const Other& right, JoinKind kind, const H& how, std::string name) {
  if constexpr (std::same_as<H, JoinStrategy>) {
    return join<ShapeOf>(left, right, kind, how, HashPartitions{}, std::move(name));
  } else if constexpr (requires { how.strategy; }) {
    return join<ShapeOf>(left, right, kind, how.strategy, partitioning(how.partitions), std::move(name));
  } else {
    return join<ShapeOf>(left, right, kind, JoinStrategy::automatic, partitioning(how), std::move(name));
  }
}

}  // namespace weft::detail
