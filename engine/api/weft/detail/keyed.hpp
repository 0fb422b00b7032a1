// Bringing equal keys together: through a shuffle, or without one if the records already lie in the partitions of their keys.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "runtime/operators/hot_keys.hpp"
#include "weft/concepts.hpp"
#include "weft/detail/chain.hpp"
#include "weft/detail/hot_key.hpp"
#include "weft/detail/key_sample.hpp"
#include "weft/detail/stage.hpp"
#include "weft/partitioning.hpp"

namespace weft::detail {

/// Routes pairs by key, and notes which keys many have. `sample`: the shuffle with a sample of the keys, if the partitioning asks
/// for one.
template <class K, class P>
auto by_key(const P& how, ShuffleId sample) {
  return [how, sample](TaskContext& context) {
    const auto route = partitioner_for<K>(how, context.output_partitions);
    if constexpr (kIsSampled<P>) {
      report_histogram<K>(context, sample, route);
    } else {
      static_cast<void>(sample);
    }
    return [route, hot = runtime::HotKeys(context.usage)](const auto& record) mutable {
      const std::uint32_t partition = route(record.first);
      if (hot.due()) [[unlikely]]
        note_key(hot, partition, record.first);
      return partition;
    };
  };
}

/// The records of a dataset of pairs in the task of their key's partition.
template <class Chain>
struct KeyedInput {
  using ChainType = Chain;
  using Pair = Wire<typename Chain::Record>;
  ShuffleId shuffle;          // where they were sent; or
  std::optional<Chain> here;  // they are in the right task as they are made

  /// visit(const K&, const V&); views live during the call.
  template <class K, class V, class Visit>
  void run(TaskContext& context, Visit&& visit) const {
    if constexpr (keyed<Chain>()) {
      if (here) {
        here->run(context, [&](typename Chain::Record&& record) {
          const auto& entry = to_wire(std::move(record));
          const K& key = entry.first;
          const V& value = entry.second;
          visit(key, value);
        });
        return;
      }
    }
    read_shuffle<std::pair<K, V>>(context, shuffle, context.partition,
                                  [&](const std::pair<K, V>& entry) { visit(entry.first, entry.second); });
  }
};

/// The number of partitions for an operator on these datasets: the given one, otherwise that of a side that is partitioned already.
template <class P, class... D>
std::uint32_t partitions_for(const P& how, const D&... sides) {
  std::uint32_t count = how.count;
  if constexpr (std::same_as<P, HashPartitions>) {
    bool found = count != kDefaultPartitions;
    const auto look = [&](const auto& side) {
      if (!found && keyed<typename std::remove_cvref_t<decltype(side)>::ChainType>() && side.lineage().hashed) {
        found = true;
        count = *side.lineage().hashed;
      }
    };
    (look(sides), ...);
  }
  return count;
}

/// The records need no shuffle to be in `count` partitions by hash of their key.
template <class P, class D>
bool in_place(const D& in, std::uint32_t count) {
  return std::same_as<P, HashPartitions> && keyed<typename D::ChainType>() && in.lineage().hashed == count;
}

/// How --explain shows an operator that works where its records are.
inline std::string without_shuffle(const std::string& name) { return name + " without shuffle"; }

template <class Chain>
struct Gathered {
  KeyedInput<Chain> input;
  Lineage lineage;
};

/// `routing` is Routing::record where several tasks may read one partition, and must read the same.
template <class P, class D>
Gathered<typename D::ChainType> gather_by_key(const D& in, P how, std::uint32_t count, const std::string& name,
                                              Routing routing = Routing::key) {
  using Record = typename D::Record;
  if (in_place<P>(in, count)) return {{ShuffleId(), in.chain()}, in.lineage().unsplit()};
  ShuffleRef sample;
  if constexpr (kIsSampled<P>) sample = sample_histogram(in, name);
  const ShuffleRef shuffle = exchange(in, name, type_name<std::tuple<Record, P>>(), count, routing,
                                      by_key<KeyOf<Record>>(how, sample ? sample->id() : ShuffleId()), sample);
  return {{shuffle->id(), std::nullopt}, Lineage::reading(shuffle)};
}

/// Lineage::hashed behind an operator that gathered the keys.
template <class P>
std::optional<std::uint32_t> hashed_into(std::uint32_t count) {
  if constexpr (std::same_as<P, HashPartitions>) return count;
  return std::nullopt;
}

}  // namespace weft::detail
