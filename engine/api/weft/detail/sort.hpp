// sort_by: a sample of the keys gives splitters, records go to the partition between their splitters, and each partition is sorted.
// Three stages of one plan: samples (one partition) → quantiles (one task) → ranges; the sorted partitions are in global order.
#pragma once

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "runtime/operators/aggregation.hpp"
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
inline constexpr std::uint64_t kLongestSplitter = 64u << 10;
inline constexpr std::uint32_t kTellsSpread = 16;  // every so many tasks tells how the sample is spread: one of the first is enough

/// A uniform choice of at most kSamplesPerTask of the keys seen (Vitter's algorithm R); of fewer where keys are so long that those
/// would take too much memory.
template <class K>
class Reservoir {
 public:
  Reservoir(runtime::OperatorContext& context, std::uint64_t seed) : account_(context, "sort samples"), random_(seed) {}

  void add(const K& key) {
    const std::uint64_t at = keys_.size() < capacity_ ? keys_.size() : random_.below(seen_ + 1);
    ++seen_;
    if (at >= capacity_) return;
    const std::uint64_t bytes = runtime::encoded_bytes(key, scratch_);
    if (bytes > kLongestSplitter) return;  // cuts between shorter keys are good enough
    Kept kept{to_owned(key), sizeof(Kept) + bytes};
    bytes_ += kept.bytes;
    if (at == keys_.size()) {
      keys_.push_back(std::move(kept));
    } else {
      bytes_ -= keys_[at].bytes;
      keys_[at] = std::move(kept);
    }
    while (!fits()) halve();
  }
  std::uint64_t seen() const { return seen_; }
  std::size_t size() const { return keys_.size(); }
  /// Calls visit(key) for each.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Kept& kept : keys_) visit(kept.key);
  }

 private:
  struct Kept {
    Owned<K> key;
    std::uint64_t bytes;
  };

  bool fits() {
    if (bytes_ > account_.used()) return account_.try_take(bytes_ - account_.used());
    account_.give_back(account_.used() - bytes_);
    return true;
  }
  /// Any half of a uniform choice is one as well.
  void halve() {
    const std::size_t half = keys_.size() / 2;
    for (std::size_t i = 0; i < half; ++i)
      std::swap(keys_[i], keys_[i + static_cast<std::size_t>(random_.below(keys_.size() - i))]);
    keys_.erase(keys_.begin() + static_cast<std::ptrdiff_t>(half), keys_.end());
    capacity_ = std::max<std::size_t>(half, 1);
    bytes_ = 0;
    for (const Kept& kept : keys_) bytes_ += kept.bytes;
  }

  runtime::Account account_;
  Random random_;
  Encoder scratch_;
  std::size_t capacity_ = kSamplesPerTask;
  std::uint64_t seen_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<Kept> keys_;
};

template <class K>
using WeightedKey = std::pair<double, Owned<K>>;  // how many records the key stands for

/// Reads windows of the input where the source can, and writes weighted keys to partition 0.
template <class Chain, class KeyFn, class K>
Buffer write_samples(TaskContext& context, const Chain& chain, const KeyFn& key_of) {
  return write_segment(context, [&](runtime::PartitionedWriter& out) {
    Reservoir<K> reservoir(context.operators, context.attempt.task.index);
    context.sample_bytes = kSampleBytesPerTask;
    chain.run(context, [&](typename Chain::Record&& record) { reservoir.add(std::invoke(key_of, std::as_const(record))); });
    const double share = context.sampled_share > 0 ? context.sampled_share : 1.0;
    const double weight =
        static_cast<double>(reservoir.seen()) / share / static_cast<double>(std::max<std::size_t>(reservoir.size(), 1));
    reservoir.for_each([&](const Owned<K>& key) { out.write(0, WeightedKey<K>(weight, key)); });
    out.finish();
    // The records will be read once more: count them then.
    context.counters.clear();
    context.input_bytes = context.input_records = 0;
  });
}

/// Keys that cut the sampled records into kQuantiles parts of equal weight, in order.
template <class K, class Less>
Buffer write_quantiles(TaskContext& context, ShuffleId samples) {
  const auto key_of = [](const WeightedKey<K>& key) -> const Owned<K>& { return key.second; };
  runtime::ExternalSorter<WeightedKey<K>, decltype(key_of), Less> sorter(context.operators, key_of);
  double total = 0;
  read_shuffle<WeightedKey<K>>(context, samples, 0, [&](const WeightedKey<K>& key) {
    total += key.first;
    sorter.add(key);
  });
  return write_segment(context, [&](runtime::PartitionedWriter& out) {
    double passed = 0;
    std::size_t next = 1;
    sorter.drain([&](const WeightedKey<K>& key) {
      passed += key.first;
      for (; next < kQuantiles && passed >= total * static_cast<double>(next) / kQuantiles; ++next) out.write(0, key.second);
    });
    out.finish();
  });
}

/// The partition of a key: the number of splitters that are not larger.
template <class K, class Less>
class RangeRouter {
 public:
  RangeRouter(TaskContext& context, ShuffleId quantiles) : account_(context.operators, "sort splitters") {
    std::size_t keys = 0;
    read_shuffle<K>(context, quantiles, 0, [&](const K&) { ++keys; });
    const std::size_t partitions = context.output_partitions;
    std::size_t at = 0;
    std::size_t count = 0;  // of splitters
    read_shuffle<K>(context, quantiles, 0, [&](const K& key) {
      for (; count + 1 < partitions && keys * (count + 1) / partitions == at; ++count) encode(key, storage_);
      ++at;
      if (storage_.size() > account_.used() && !account_.try_take(storage_.size() - account_.used()))
        account_.exhausted(storage_.size());
    });
    Decoder in(storage_.view());
    for (std::size_t i = 0; i < count; ++i) splitters_.push_back(decode<K>(in));  // views into storage_
    for (const K& splitter : splitters_) prefixes_.push_back(Prefix::of(splitter));
    make_cells();
  }

  /// The quantiles stand for equal parts of all records: how many of them each partition gets.
  std::vector<std::uint32_t> spread(TaskContext& context, ShuffleId quantiles) const {
    std::vector<std::uint32_t> counts(context.output_partitions);
    read_shuffle<K>(context, quantiles, 0, [&](const K& key) { ++counts[(*this)(key)]; });
    return counts;
  }

  std::uint32_t operator()(const K& key) const {
    const std::uint64_t prefix = Prefix::of(key);
    if (prefixes_.empty() || prefix < prefixes_.front()) return 0;
    if (prefix > prefixes_.back()) return static_cast<std::uint32_t>(prefixes_.size());
    const std::size_t cell = (prefix - prefixes_.front()) >> shift_;
    std::size_t smaller = cells_[cell];  // splitters with a smaller prefix
    for (std::size_t end = cells_[cell + 1]; smaller < end;) {
      const std::size_t middle = (smaller + end) / 2;
      prefixes_[middle] < prefix ? smaller = middle + 1 : end = middle;
    }
    if (prefixes_[smaller] != prefix) return static_cast<std::uint32_t>(smaller);
    const auto first = splitters_.begin();
    return static_cast<std::uint32_t>(
        std::upper_bound(first + static_cast<std::ptrdiff_t>(smaller), splitters_.end(), key, Less()) - first);
  }

 private:
  using Prefix = runtime::OrderPrefix<K, Less>;

  static constexpr int kCellBits = 12;

  /// Cuts the prefixes between the first and the last splitter into equal cells, most of which lie between two splitters.
  void make_cells() {
    if (prefixes_.empty()) return;
    const std::uint64_t range = prefixes_.back() - prefixes_.front();
    shift_ = std::max(0, static_cast<int>(std::bit_width(range)) - kCellBits);
    const std::size_t cells = static_cast<std::size_t>(range >> shift_) + 1;
    std::size_t smaller = 0;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      while ((prefixes_[smaller] - prefixes_.front()) >> shift_ < cell) ++smaller;
      cells_.push_back(static_cast<std::uint32_t>(smaller));
    }
    cells_.push_back(static_cast<std::uint32_t>(prefixes_.size()));
  }

  runtime::Account account_;
  Encoder storage_;
  std::vector<K> splitters_;
  std::vector<std::uint64_t> prefixes_;  // of the splitters, ascending
  int shift_ = 0;
  std::vector<std::uint32_t> cells_;  // splitters before each cell, and all of them
};

template <class T, class KeyFn, class Less>
struct SortRead {
  using Record = T;
  ShuffleId shuffle;
  KeyFn key_of;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    runtime::ExternalSorter<T, KeyFn, Less> sorter(context.operators, key_of);
    read_blocks(context, shuffle, context.partition,
                [&](const shuffle::Block& block) { sorter.add_block(block.bytes, block.owner, block.cost); });
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
    if (context.attempt.task.index % kTellsSpread == 0) context.spread = router.spread(context, id);
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
