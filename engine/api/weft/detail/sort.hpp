// sort_by: a sample of the keys gives splitters, records go to the partition between their splitters, and each partition is sorted.
// Three stages of one plan: samples (one partition) → quantiles (one task) → ranges; the sorted partitions are in global order.
#pragma once

#include <bit>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/lean/algorithm.hpp"
#include "runtime/operators/aggregation.hpp"
#include "runtime/operators/external_sorter.hpp"
#include "runtime/operators/hot_keys.hpp"
#include "weft/concepts.hpp"
#include "weft/detail/chain.hpp"
#include "weft/detail/hot_key.hpp"
#include "weft/detail/key_sample.hpp"
#include "weft/detail/stage.hpp"

namespace weft {

enum class Order : std::uint8_t { ascending, descending };

}  // namespace weft

namespace weft::detail {

inline constexpr std::size_t kQuantiles = 4096;

/// The kQuantiles - 1 keys that cut the sampled records into parts of equal weight, in order; none where nothing was sampled. They
/// depend on the sample alone, not on the order in which it arrives.
template <class K, class Less>
Buffer write_quantiles(TaskContext& context, ShuffleId samples) {
  const auto key_of = [](const WeightedKey<K>& key) -> const Owned<K>& { return key.second; };
  runtime::ExternalSorter<WeightedKey<K>, decltype(key_of), Less> sorter(context.operators, key_of);
  std::uint64_t total = 0;
  read_shuffle<WeightedKey<K>>(context, samples, 0, [&](const WeightedKey<K>& key) {
    total += key.first;
    sorter.add(key);
  });
  return write_segment(context, [&](runtime::PartitionedWriter& out) {
    std::uint64_t passed = 0;
    std::size_t next = 1;
    sorter.drain([&](const WeightedKey<K>& key) {
      passed += key.first;
      const auto reached = [&] {
        return static_cast<double>(passed) >= static_cast<double>(total) * static_cast<double>(next) / kQuantiles;
      };
      for (; next < kQuantiles && reached(); ++next) out.write(0, key.second);
    });
  });
}

/// The partition of a key: the number of splitters that are not larger.
template <class K, class Less>
class RangeRouter {
 public:
  RangeRouter(TaskContext& context, ShuffleId quantiles) : account_(context.operators, "sort splitters") {
    const std::size_t partitions = context.output_partitions;
    std::size_t at = 0;
    std::size_t count = 0;  // of splitters
    read_shuffle<K>(context, quantiles, 0, [&](const K& key) {
      for (; count + 1 < partitions && (kQuantiles - 1) * (count + 1) / partitions == at; ++count) encode(key, storage_);
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
  std::vector<std::uint32_t> sample_histogram(TaskContext& context, ShuffleId quantiles) const {
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
  const ShuffleRef sampled = sample_keys<K>(in, key_of, name, Routing::record);
  const std::string splitting = name + " splitters";
  return add_shuffle(*in.graph(), splitting, Lineage::after(sampled, splitting, type_name<Less>()), 1,
                     make_body([id = sampled->id()](TaskContext& context) { return write_quantiles<K, Less>(context, id); }),
                     Routing::record);
}

template <class Less, class D, class KeyFn>
auto sort(const D& in, KeyFn key_of, std::uint32_t partitions, std::string name) {
  using T = typename D::Record;
  using K = std::remove_cvref_t<std::invoke_result_t<const KeyFn&, const T&>>;
  using Read = SortRead<T, KeyFn, Less>;
  WEFT_REQUIRE_CODEC(T);
  WEFT_REQUIRE_CODEC(K);
  if (partitions == 1) {  // nothing to split
    const ShuffleRef all = exchange(in, name, type_name<Read>(), 1, Routing::key,
                                    [](TaskContext&) { return [](const T&) { return std::uint32_t{0}; }; });
    return Dataset<T, Read>(in.graph(), Lineage::after(all, std::move(name), type_name<Read>()),
                            Read{all->id(), std::move(key_of)});
  }
  const ShuffleRef quantiles = sort_quantiles<K, Less>(in, key_of, name);
  auto body = make_body([chain = in.chain(), key_of, id = quantiles->id()](TaskContext& context) {
    std::optional<RangeRouter<K, Less>> router;  // not for tasks without records, of which there may be many
    if (context.attempt.task.index % kReportsHistogram == 0)
      context.sample_histogram = router.emplace(context, id).sample_histogram(context, id);
    return write_segment(context, [&](runtime::PartitionedWriter& out) {
      runtime::HotKeys hot(context.usage);
      chain.run(context, [&](T&& record) {
        if (!router) [[unlikely]]
          router.emplace(context, id);
        const auto& key = std::invoke(key_of, std::as_const(record));
        const std::uint32_t partition = (*router)(key);
        if (hot.due()) [[unlikely]]
          note_key<K>(hot, partition, key);
        out.write(partition, record);
      });
    });
  });
  const ShuffleRef ranges = add_shuffle(*in.graph(), name, in.lineage().then(name, type_name<Read>()).with_broadcast(quantiles),
                                        partitions, std::move(body), Routing::record);
  return Dataset<T, Read>(in.graph(), Lineage::after(ranges, std::move(name), type_name<Read>()),
                          Read{ranges->id(), std::move(key_of)});
}

}  // namespace weft::detail
