// Dataset<T>: a distributed collection of records, described but not yet computed.
//
// Operators return new datasets; nothing runs before an action (collect, count, first, reduce) or the end of the definition
// (write_text, write_records). Narrow operators fuse into one loop: their result is a Dataset<U, …> whose second parameter is an
// implementation detail, best taken with `auto`; it converts to Dataset<U> (one indirect call per record) where that is needed.
//
// A record may refer to memory that lives only while the record is processed: read_text gives std::string_view lines, group_by_key
// single-pass values. What leaves the task owns its content: collect() on a dataset of string_view returns std::string.
//
// A dataset that is used twice is computed twice, except for the work before its last shuffle; cache() keeps it.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "weft/concepts.hpp"
#include "weft/detail/actions.hpp"
#include "weft/detail/aggregate.hpp"
#include "weft/detail/arrange.hpp"
#include "weft/detail/chain.hpp"
#include "weft/detail/graph.hpp"
#include "weft/detail/group.hpp"
#include "weft/detail/join.hpp"
#include "weft/detail/sort.hpp"
#include "weft/detail/tables.hpp"
#include "weft/detail/variant.hpp"
#include "weft/partitioning.hpp"

namespace weft {

/// `a.join(b)` needs both sides to be pairs with the same kind of key.
template <class T, class U>
concept SameKey = KeyValue<T> && KeyValue<U> && std::same_as<Owned<KeyOf<T>>, Owned<KeyOf<U>>>;

template <class T, class Chain = detail::Erased<T>>
class Dataset {
  using Where = std::source_location;

 public:
  using Record = T;
  using ChainType = Chain;

  Dataset(std::shared_ptr<detail::Graph> graph, detail::Lineage lineage, Chain chain)
      : graph_(std::move(graph)), lineage_(std::move(lineage)), chain_(std::move(chain)) {}

  /// Dataset<T> from any dataset of T.
  template <class Other>
  requires(std::same_as<Chain, detail::Erased<T>> && !std::same_as<Other, Chain>)
      Dataset(const Dataset<T, Other>& other)  // NOLINT(google-explicit-constructor): meant to convert
      : graph_(other.graph()), lineage_(other.lineage()), chain_(other.chain()) {}

  // ---- record by record -------------------------------------------------------------------------------------------

  template <MapFunction<T> F>
  auto map(F f, Where where = Where::current()) const {
    using Node = detail::Map<Chain, F>;
    return narrow("map", where, Node{chain_, std::move(f)});
  }

  template <PredicateFunction<T> F>
  auto filter(F f, Where where = Where::current()) const {
    using Node = detail::Filter<Chain, F>;
    return keeping_keys("filter", where, Node{chain_, std::move(f)});
  }

  /// pair(key, f(value)): what follows knows that the keys are the same, and need not bring them together again.
  template <class F>
  requires KeyValue<T> && MapFunction<F, ValueOf<T>>
  auto map_values(F f, Where where = Where::current()) const {
    using Node = detail::MapValues<Chain, F>;
    return keeping_keys("map_values", where, Node{chain_, std::move(f)});
  }

  /// f(record) returns a range of new records: a container, a view, words(line).
  template <FlatMapFunction<T> F>
  auto flat_map(F f, Where where = Where::current()) const {
    using Node = detail::FlatMap<Chain, F>;
    return narrow("flat_map", where, Node{chain_, std::move(f)});
  }

  /// flat_map<Out>(f): f(record, emit) calls emit(out) for every new record.
  template <class Out, EmitFunction<T, Out> F>
  auto flat_map(F f, Where where = Where::current()) const {
    using Node = detail::FlatMapEmit<Out, Chain, F>;
    return narrow("flat_map", where, Node{chain_, std::move(f)});
  }

  /// map_partitions<Out>(f): f(records, emit) runs once per task; records([&](T record) { … }) visits all records of the task.
  template <class Out, PartitionFunction<T, Out> F>
  auto map_partitions(F f, Where where = Where::current()) const {
    using Node = detail::MapPartitions<Out, Chain, F>;
    return Dataset<Out, Node>(graph_,
                              lineage_.unsplit().then(detail::operator_name("map_partitions", where), detail::type_name<Node>()),
                              Node{chain_, std::move(f)});
  }

  /// Each record with probability `fraction`; the same seed keeps the same records of the same input.
  auto sample(double fraction, std::uint64_t seed = 1, Where where = Where::current()) const {
    if (!(fraction >= 0 && fraction <= 1)) throw std::invalid_argument("sample: the fraction must be between 0 and 1");
    return keeping_keys("sample", where, detail::Sample<Chain>{chain_, fraction, seed});
  }

  /// The records of both, duplicates kept.
  template <class Other>
  auto union_with(const Dataset<T, Other>& other, Where where = Where::current()) const {
    using Node = detail::Union<Chain, Other>;
    return Dataset<T, Node>(graph_, detail::Lineage::joined(lineage_, other.lineage(), detail::operator_name("union_with", where)),
                            Node{chain_, other.chain(), static_cast<std::uint32_t>(lineage_.branches.size())});
  }

  /// The same records, made by `other` in place of this operator's function where the node has the attribute: "accelerator", or
  /// one value of it, "accelerator=gpu". Both functions must give the same records in the same order for every input, because any
  /// attempt may run anywhere (--check-variants compares them). Directly behind generate, map, filter, flat_map, map_partitions, ….
  template <detail::OtherFunction<Chain> G>
  auto on(const std::string& attribute, G other, Where where = Where::current()) const {
    return detail::with_variant(*this, attribute, std::move(other), detail::operator_name("on " + attribute, where));
  }

  /// The same records. Each task of the stage that computes them (from one shuffle to the next) takes so much of its node:
  /// `lines.demand({.cpu = 2, .memory = 1e9})`. The rest is as --demand has it; of a stage's demands the largest amounts hold.
  Dataset demand(const TaskDemand& amounts) const { return hinted(detail::demand_hint(amounts)); }

  /// The same records. A task of that stage takes about so long, and writes about `output_ratio` bytes for each byte that it reads
  /// (0: not known). Schedulers go by it until tasks have finished; results never depend on it.
  Dataset estimate(std::chrono::nanoseconds duration, double output_ratio = 0) const {
    return hinted(detail::estimate_hint(duration, output_ratio));
  }

  // ---- by key -----------------------------------------------------------------------------------------------------

  /// One record per key: its values reduced by f(a, b), which must be associative. Combined before the shuffle.
  template <class F, Partitioning<KeyOf<T>> P = HashPartitions>
  requires KeyValue<T> && ReduceFunction<F, ValueOf<T>>
  auto reduce_by_key(F f, P how = {}, Where where = Where::current()) const {
    using Aggregation = detail::ReduceAggregation<ValueOf<T>, F>;
    return detail::aggregate(*this, Aggregation{std::move(f)}, detail::partitioning(how),
                             detail::operator_name("reduce_by_key", where));
  }

  /// One accumulator per key: starts as a copy of `zero`, add(acc, value) takes in a value, merge(acc, other) another accumulator.
  template <class Acc, class Add, class Merge, Partitioning<KeyOf<T>> P = HashPartitions>
  requires KeyValue<T> && AddFunction<Add, Acc, ValueOf<T>> && AddFunction<Merge, Acc, Acc>
  auto aggregate_by_key(Acc zero, Add add, Merge merge, P how = {}, Where where = Where::current()) const {
    using Aggregation = detail::FoldAggregation<ValueOf<T>, Acc, Add, Merge>;
    return detail::aggregate(*this, Aggregation{std::move(zero), std::move(add), std::move(merge)}, detail::partitioning(how),
                             detail::operator_name("aggregate_by_key", where));
  }

  /// The same with a combiner of the user's own: a class with Value, Acc, init(value), add(acc, value), merge(acc, other), all
  /// const.
  template <runtime::Aggregation Agg, Partitioning<KeyOf<T>> P = HashPartitions>
  requires KeyValue<T> && std::same_as<typename Agg::Value, ValueOf<T>>
  auto aggregate_by_key(Agg aggregation, P how = {}, Where where = Where::current()) const {
    return detail::aggregate(*this, std::move(aggregation), detail::partitioning(how),
                             detail::operator_name("aggregate_by_key", where));
  }

  /// pair<K, Values<V>>: the values of a key as a range that can be read once, of any length.
  template <Partitioning<KeyOf<T>> P = HashPartitions>
  requires KeyValue<T>
  auto group_by_key(P how = {}, Where where = Where::current()) const {
    return detail::group(*this, detail::partitioning(how), detail::operator_name("group_by_key", where));
  }

  /// The same among the records of each task only, without a shuffle: what a combiner sees.
  auto group_locally(Where where = Where::current()) const requires KeyValue<T> {
    return detail::group_locally(*this, detail::operator_name("group_locally", where));
  }

  /// pair<K, pair<Values<L>, Values<R>>> for every key of either side.
  template <class R, class Other, Partitioning<KeyOf<T>> P = HashPartitions>
  requires SameKey<T, R>
  auto cogroup(const Dataset<R, Other>& right, P how = {}, Where where = Where::current()) const {
    return detail::cogroup(*this, right, detail::partitioning(how), detail::operator_name("cogroup", where));
  }

  /// pair<K, pair<L, R>> for every two records with the same key.
  template <class R, class Other, Partitioning<KeyOf<T>> P = HashPartitions>
  requires SameKey<T, R>
  auto join(const Dataset<R, Other>& right, P how = {}, Where where = Where::current()) const {
    return detail::hash_join<detail::InnerShape>(*this, right, JoinKind::inner, detail::partitioning(how),
                                                 detail::operator_name("join", where));
  }
  template <class R, class Other>
  requires SameKey<T, R>
  auto join(const Dataset<R, Other>& right, JoinStrategy strategy, Where where = Where::current()) const {
    return detail::join<detail::InnerShape>(*this, right, JoinKind::inner, strategy, HashPartitions{},
                                            detail::operator_name("join", where));
  }

  /// pair<K, pair<L, optional<R>>>: every left record, with its partners or none.
  template <class R, class Other>
  requires SameKey<T, R>
  auto left_join(const Dataset<R, Other>& right, JoinStrategy strategy = JoinStrategy::hash, Where where = Where::current()) const {
    return detail::join<detail::LeftShape>(*this, right, JoinKind::left, strategy, HashPartitions{},
                                           detail::operator_name("left_join", where));
  }
  /// pair<K, pair<optional<L>, R>>
  template <class R, class Other>
  requires SameKey<T, R>
  auto right_join(const Dataset<R, Other>& right, JoinStrategy strategy = JoinStrategy::hash,
                  Where where = Where::current()) const {
    return detail::join<detail::RightShape>(*this, right, JoinKind::right, strategy, HashPartitions{},
                                            detail::operator_name("right_join", where));
  }
  /// pair<K, pair<optional<L>, optional<R>>>
  template <class R, class Other>
  requires SameKey<T, R>
  auto full_join(const Dataset<R, Other>& right, JoinStrategy strategy = JoinStrategy::hash, Where where = Where::current()) const {
    return detail::join<detail::OptionalShape>(*this, right, JoinKind::full, strategy, HashPartitions{},
                                               detail::operator_name("full_join", where));
  }
  /// The left records that have a partner, once each.
  template <class R, class Other>
  requires SameKey<T, R>
  auto semi_join(const Dataset<R, Other>& right, JoinStrategy strategy = JoinStrategy::hash, Where where = Where::current()) const {
    return detail::join<detail::LeftOnlyShape>(*this, right, JoinKind::semi, strategy, HashPartitions{},
                                               detail::operator_name("semi_join", where));
  }
  /// The left records that have none.
  template <class R, class Other>
  requires SameKey<T, R>
  auto anti_join(const Dataset<R, Other>& right, JoinStrategy strategy = JoinStrategy::hash, Where where = Where::current()) const {
    return detail::join<detail::LeftOnlyShape>(*this, right, JoinKind::anti, strategy, HashPartitions{},
                                               detail::operator_name("anti_join", where));
  }
  /// pair<K, pair<optional<L>, optional<R>>> for a kind that is known only at run time.
  template <class R, class Other, Partitioning<KeyOf<T>> P = HashPartitions>
  requires SameKey<T, R>
  auto join_optional(const Dataset<R, Other>& right, JoinKind kind, JoinStrategy strategy = JoinStrategy::hash, P how = {},
                     Where where = Where::current()) const {
    return detail::join<detail::OptionalShape>(*this, right, kind, strategy, detail::partitioning(how),
                                               detail::operator_name("join", where));
  }

  // ---- order and arrangement --------------------------------------------------------------------------------------

  /// All records in the order of key(record): the partitions (and so the part files) are in global order. Equal keys keep their
  /// order.
  template <SortKeyFunction<T> F>
  auto sort_by(F key, Where where = Where::current()) const {
    return detail::sort<std::less<>>(*this, std::move(key), detail::kDefaultPartitions, detail::operator_name("sort_by", where));
  }
  /// Descending, or with a number of partitions. The order is known at run time only, so the result is a Dataset<T>.
  template <SortKeyFunction<T> F>
  Dataset<T> sort_by(F key, Order order, std::uint32_t partitions = detail::kDefaultPartitions,
                     Where where = Where::current()) const {
    const std::string name = detail::operator_name("sort_by", where);
    if (order == Order::descending) return detail::sort<std::greater<>>(*this, std::move(key), partitions, name);
    return detail::sort<std::less<>>(*this, std::move(key), partitions, name);
  }

  /// Equal records once.
  template <Partitioning<T> P = HashPartitions>
  auto distinct(P how = {}, Where where = Where::current()) const {
    return detail::distinct(*this, detail::partitioning(how), detail::operator_name("distinct", where));
  }

  /// The n largest records under `less`, largest first, in one partition.
  template <class Less = std::less<>>
  requires LessFunction<Less, Owned<T>>
  auto top(std::size_t n, Less less = {}, Where where = Where::current()) const {
    return detail::top(*this, n, std::move(less), detail::operator_name("top", where));
  }

  /// The same records spread evenly over `partitions`.
  auto repartition(std::uint32_t partitions = detail::kDefaultPartitions, Where where = Where::current()) const {
    return detail::repartition(*this, partitions, detail::operator_name("repartition", where));
  }

  /// Computed once and kept (in memory first), whatever reads it later, until no dataset refers to it any more.
  auto cache(Where where = Where::current()) const { return detail::cache(*this, detail::operator_name("cache", where)); }

  // ---- actions ----------------------------------------------------------------------------------------------------

  /// All records, partition after partition; at most 256 MiB.
  std::vector<Owned<T>> collect(Where where = Where::current()) const {
    return detail::collect(*this, detail::operator_name("collect", where), UINT64_MAX);
  }
  /// The first n records in partition order.
  std::vector<Owned<T>> first(std::uint64_t n, Where where = Where::current()) const {
    return detail::collect(*this, detail::operator_name("first", where), n);
  }
  std::uint64_t count(Where where = Where::current()) const { return detail::count(*this, detail::operator_name("count", where)); }

  /// All records reduced by f(a, b), which must be associative; nothing when there are none.
  template <ReduceFunction<T> F>
  std::optional<Owned<T>> reduce(F f, Where where = Where::current()) const {
    return detail::reduce(*this, std::move(f), detail::operator_name("reduce", where));
  }
  /// f(zero, all records reduced by f), or zero.
  template <ReduceFunction<T> F>
  Owned<T> reduce(Owned<T> zero, F f, Where where = Where::current()) const {
    std::optional<Owned<T>> value = detail::reduce(*this, f, detail::operator_name("reduce", where));
    return value ? static_cast<Owned<T>>(std::invoke(f, std::move(zero), std::as_const(*value))) : zero;
  }

  /// A directory with one file of lines per partition, visible when the job has succeeded. Runs at the end of the definition.
  void write_text(const std::string& path, Where where = Where::current()) const requires LineFormattable<T> {
    detail::write_lines(*this, path, detail::operator_name("write_text", where));
  }
  /// The same with bare records: text without separators, other types as their fixed-size encoding (what read_records<T> reads).
  void write_records(const std::string& path, Where where = Where::current()) const requires detail::RawRecord<T> {
    detail::write_raw(*this, path, detail::operator_name("write_records", where));
  }

  /// Pairs of texts as rows of a cluster's table, visible at one version when the job has succeeded. Of equal keys one row stays.
  void write_table(const std::string& table, Where where = Where::current()) const requires detail::TableRecord<T> {
    detail::write_table(*this, table, detail::operator_name("write_table", where));
  }

  // ---- for operators ----------------------------------------------------------------------------------------------

  const std::shared_ptr<detail::Graph>& graph() const { return graph_; }
  const detail::Lineage& lineage() const { return lineage_; }
  const Chain& chain() const { return chain_; }

 private:
  Dataset hinted(const detail::StageHints& hints) const {
    Dataset same = *this;
    same.lineage_.hints.take_larger(hints);
    return same;
  }

  template <class Node>
  auto narrow(std::string_view what, const Where& where, Node node) const {
    return Dataset<typename Node::Record, Node>(
        graph_, lineage_.then(detail::operator_name(what, where), detail::type_name<Node>()), std::move(node));
  }

  template <class Node>
  auto keeping_keys(std::string_view what, const Where& where, Node node) const {
    return Dataset<typename Node::Record, Node>(
        graph_, lineage_.then_same_keys(detail::operator_name(what, where), detail::type_name<Node>()), std::move(node));
  }

  std::shared_ptr<detail::Graph> graph_;
  detail::Lineage lineage_;
  Chain chain_;
};

}  // namespace weft
