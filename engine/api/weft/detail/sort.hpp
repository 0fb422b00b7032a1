// sort_by: a sample of the keys gives splitters, records go to the partition between their splitters, and each partition is sorted.
// Three stages of one plan: samples (one partition) → quantiles (one task) → ranges; the sorted partitions are in global order.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "runtime/operators/external_sorter.hpp"
#include "weft/concepts.hpp"
#include "weft/detail/chain.hpp"
#include "weft/detail/stage.hpp"

namespace weft {

enum class Order : std::uint8_t { ascending, descending };

template <class T, class Chain>
class Dataset;

}  // namespace weft

namespace weft::detail {

inline constexpr std::size_t kSamplesPerTask = 1000;
inline constexpr std::uint64_t kSampleBytesPerTask = 1u << 20;  // of files; other sources are read whole
inline constexpr std::size_t kQuantiles = 4096;

/// A uniform choice of at most kSamplesPerTask of the keys seen (Vitter's algorithm R), encoded.
template <class K>
class Reservoir {
 public:
  explicit Reservoir(std::uint64_t seed) : random_(seed) {}

  void add(const K& key) {
    ++seen_;
    if (keys_.size() < kSamplesPerTask) {
      keys_.push_back(to_owned(key));
    } else if (const std::uint64_t at = random_.below(seen_); at < kSamplesPerTask) {
      keys_[at] = to_owned(key);
    }
  }
  std::uint64_t seen() const { return seen_; }
  const std::vector<Owned<K>>& keys() const { return keys_; }

 private:
  Random random_;
  std::uint64_t seen_ = 0;
  std::vector<Owned<K>> keys_;
};

template <class K>
using WeightedKey = std::pair<double, Owned<K>>;  // how many records the key stands for

/// Reads windows of the input where the source can, and writes weighted keys to partition 0.
template <class Chain, class KeyFn, class K>
Buffer write_samples(TaskContext& context, const Chain& chain, const KeyFn& key_of) {
  return write_segment(context, [&](runtime::PartitionedWriter& out) {
    Reservoir<K> reservoir(context.attempt.task.index);
    context.sample_bytes = kSampleBytesPerTask;
    chain.run(context, [&](typename Chain::Record&& record) { reservoir.add(std::invoke(key_of, std::as_const(record))); });
    const double share = context.sampled_share > 0 ? context.sampled_share : 1.0;
    for (const Owned<K>& key : reservoir.keys()) {
      const double weight = static_cast<double>(reservoir.seen()) / share / static_cast<double>(reservoir.keys().size());
      out.write(0, WeightedKey<K>(weight, key));
    }
    out.finish();
    // The records will be read once more: count them then.
    context.counters.clear();
    context.input_bytes = context.input_records = 0;
  });
}

/// Keys that cut the sampled records into kQuantiles parts of equal weight, in order.
template <class K, class Less>
Buffer write_quantiles(TaskContext& context, ShuffleId samples) {
  std::vector<WeightedKey<K>> keys;
  double total = 0;
  read_shuffle<WeightedKey<K>>(context, samples, 0, [&](WeightedKey<K>&& key) {
    total += key.first;
    keys.push_back(std::move(key));
  });
  std::stable_sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return Less()(a.second, b.second); });
  return write_segment(context, [&](runtime::PartitionedWriter& out) {
    double passed = 0;
    std::size_t next = 1;
    for (const WeightedKey<K>& key : keys) {
      passed += key.first;
      for (; next < kQuantiles && passed >= total * static_cast<double>(next) / kQuantiles; ++next) out.write(0, key.second);
    }
    out.finish();
  });
}

/// The partition of a key: the number of splitters that are not larger.
template <class K, class Less>
class RangeRouter {
 public:
  RangeRouter(TaskContext& context, ShuffleId quantiles) {
    std::vector<Owned<K>> keys;
    read_shuffle<K>(context, quantiles, 0, [&](const K& key) { keys.push_back(to_owned(key)); });
    const std::size_t partitions = context.output_partitions;
    std::size_t count = 0;
    for (std::size_t i = 1; i < partitions && !keys.empty(); ++i, ++count) encode(keys[keys.size() * i / partitions], storage_);
    Decoder in(storage_.view());
    while (count-- > 0) splitters_.push_back(decode<K>(in));  // views into storage_
  }

  std::uint32_t operator()(const K& key) const {
    return static_cast<std::uint32_t>(std::upper_bound(splitters_.begin(), splitters_.end(), key, Less()) - splitters_.begin());
  }

 private:
  Encoder storage_;
  std::vector<K> splitters_;
};

template <class T, class KeyFn, class Less>
struct SortRead {
  using Record = T;
  ShuffleId shuffle;
  KeyFn key_of;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    runtime::ExternalSorter<T, KeyFn, Less> sorter(context.operators, key_of);
    read_shuffle<T>(context, shuffle, context.partition, [&](const T& record) { sorter.add(record); });
    sorter.drain([&](T&& record) { sink(std::move(record)); });
  }
};

template <class K, class Less, class D, class KeyFn>
ShuffleRef sort_quantiles(const D& in, const KeyFn& key_of, const std::string& name) {
  StageDraft samples;
  samples.name = name + " samples";
  samples.lineage = in.lineage().then(samples.name, type_name<std::tuple<typename D::Record, KeyFn>>());
  samples.partitions = 1;
  samples.body = make_body([chain = in.chain(), key_of](TaskContext& context) {
    return write_samples<typename D::ChainType, KeyFn, K>(context, chain, key_of);
  });
  const ShuffleRef sampled = in.graph()->add_shuffle(std::move(samples));

  StageDraft quantiles;
  quantiles.name = name + " splitters";
  quantiles.lineage = after_shuffle(sampled, quantiles.name, type_name<Less>());
  quantiles.partitions = 1;
  quantiles.body = make_body([id = sampled->id()](TaskContext& context) { return write_quantiles<K, Less>(context, id); });
  return in.graph()->add_shuffle(std::move(quantiles));
}

template <class Less, class D, class KeyFn>
auto sort(const D& in, KeyFn key_of, std::uint32_t partitions, std::string name) {
  using T = typename D::Record;
  using K = std::remove_cvref_t<std::invoke_result_t<const KeyFn&, const T&>>;
  using Read = SortRead<T, KeyFn, Less>;
  WEFT_REQUIRE_CODEC(T);
  WEFT_REQUIRE_CODEC(K);
  StageDraft draft;
  draft.name = name;
  draft.partitions = partitions;
  draft.lineage = in.lineage().then(name, type_name<Read>());
  if (partitions == 1) {  // nothing to split
    const ShuffleRef all =
        exchange(in, name, type_name<Read>(), 1, [](TaskContext&) { return [](const T&) { return std::uint32_t{0}; }; });
    return Dataset<T, Read>(in.graph(), after_shuffle(all, std::move(name), type_name<Read>()), Read{all->id(), std::move(key_of)});
  }
  const ShuffleRef quantiles = sort_quantiles<K, Less>(in, key_of, name);
  draft.lineage = draft.lineage.with_broadcast(quantiles);
  draft.body = make_body([chain = in.chain(), key_of, id = quantiles->id()](TaskContext& context) {
    const RangeRouter<K, Less> router(context, id);
    return write_segment(context, [&](runtime::PartitionedWriter& out) {
      chain.run(context, [&](T&& record) { out.write(router(std::invoke(key_of, std::as_const(record))), record); });
      out.finish();
    });
  });
  const ShuffleRef ranges = in.graph()->add_shuffle(std::move(draft));
  return Dataset<T, Read>(in.graph(), after_shuffle(ranges, std::move(name), type_name<Read>()),
                          Read{ranges->id(), std::move(key_of)});
}

}  // namespace weft::detail
