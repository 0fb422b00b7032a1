// A sample of keys, drawn before records are split by them, and the sizes of partitions that it predicts: SCache's weighted
// reservoir sampling (section 4.2 there). It is for inputs where the output of some maps does not predict that of the others.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/lean/algorithm.hpp"
#include "base/random.hpp"
#include "runtime/operators/account.hpp"
#include "runtime/operators/aggregation.hpp"
#include "weft/concepts.hpp"
#include "weft/detail/stage.hpp"

namespace weft::detail {

inline constexpr std::size_t kSamplesPerTask = 1000;
inline constexpr std::uint64_t kSampleBytesPerTask = 1u << 20;  // of files; of counts some windows, of shuffles all
inline constexpr std::uint64_t kLongestSample = 64u << 10;
inline constexpr std::size_t kHistogramKeys = 16'384;
/// One of this many tasks reports the histogram of the sample; one of the first tasks is enough.
inline constexpr std::uint32_t kReportsHistogram = 16;

/// A uniform choice of at most kSamplesPerTask of the keys seen (Vitter's algorithm R); of fewer if long keys take too much memory.
template <class K>
class Reservoir {
 public:
  Reservoir(runtime::OperatorContext& context, std::uint64_t seed) : account_(context, "key samples"), random_(seed) {}

  void add(const K& key) {
    const std::uint64_t at = keys_.size() < capacity_ ? keys_.size() : random_.below(seen_ + 1);
    ++seen_;
    if (at >= capacity_) return;
    const std::uint64_t bytes = runtime::encoded_bytes(key, scratch_);
    if (bytes > kLongestSample) return;  // shorter keys suffice
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

/// How many records the key stands for, in units of 1 / kPerRecord: whole numbers have the same sum in any order.
template <class K>
using WeightedKey = std::pair<std::uint64_t, Owned<K>>;
inline constexpr double kPerRecord = 1024;

/// Reads windows of the input where the source can, and writes weighted keys to partition 0.
template <class Chain, class KeyFn, class K>
Buffer write_samples(TaskContext& context, const Chain& chain, const KeyFn& key_of) {
  return write_segment(context, [&](runtime::PartitionedWriter& out) {
    Reservoir<K> reservoir(context.operators, context.attempt.task.index);
    context.sample_bytes = kSampleBytesPerTask;
    chain.run(context, [&](typename Chain::Record&& record) { reservoir.add(std::invoke(key_of, std::as_const(record))); });
    const double share = context.sampled_share > 0 ? context.sampled_share : 1.0;
    const auto weight = static_cast<std::uint64_t>(kPerRecord * static_cast<double>(reservoir.seen()) / share /
                                                   static_cast<double>(std::max<std::size_t>(reservoir.size(), 1)));
    reservoir.for_each([&](const Owned<K>& key) { out.write(0, WeightedKey<K>(weight, key)); });
    // The records will be read once more: count them then.
    context.counters.clear();
    context.usage.bad_records = {};
    context.input_bytes = context.input_records = 0;
  });
}

/// The stage that draws the sample: its shuffle has the weighted keys in one partition. `routing`: Routing::nothing where the
/// sample only estimates.
template <class K, class D, class KeyFn>
ShuffleRef sample_keys(const D& in, const KeyFn& key_of, const std::string& name, Routing routing) {
  const std::string sampling = name + " samples";
  return add_shuffle(*in.graph(), sampling,
                     in.lineage().by_position().then(sampling, type_name<std::tuple<typename D::Record, KeyFn>>()), 1,
                     make_body([chain = in.chain(), key_of](TaskContext& context) {
                       return write_samples<typename D::ChainType, KeyFn, K>(context, chain, key_of);
                     }),
                     routing);
}

/// Of the weighted keys at most about kHistogramKeys that stand for equal numbers of records.
template <class K>
Buffer write_even_sample(TaskContext& context, ShuffleId samples) {
  const auto each = [&](auto&& visit) { read_shuffle<WeightedKey<K>>(context, samples, 0, visit); };
  std::uint64_t total = 0;
  each([&](const WeightedKey<K>& key) { total += key.first; });
  return write_segment(context, [&](runtime::PartitionedWriter& out) {
    const double step = static_cast<double>(total) / kHistogramKeys;
    double passed = 0, next = step / 2;
    each([&](const WeightedKey<K>& key) {
      for (passed += static_cast<double>(key.first); next < passed; next += step) out.write(0, key.second);
    });
  });
}

/// The stages that sample the keys of `in`, which are pairs; the shuffle is for report_histogram().
template <class D>
ShuffleRef sample_histogram(const D& in, const std::string& name) {
  using K = KeyOf<typename D::Record>;
  WEFT_REQUIRE_CODEC(K);
  const auto key_of = [](const typename D::Record& record) -> const K& { return record.first; };
  const ShuffleRef sampled = sample_keys<K>(in, key_of, name, Routing::nothing);
  const std::string drawing = name + " histogram";
  return add_shuffle(*in.graph(), drawing, Lineage::after(sampled, drawing, type_name<K>()), 1,
                     make_body([id = sampled->id()](TaskContext& context) { return write_even_sample<K>(context, id); }),
                     Routing::nothing);
}

/// In a task that writes to route(key): how many keys of the sample go to each partition, which estimates the partitions' sizes.
template <class K, class Route>
void report_histogram(TaskContext& context, ShuffleId sample, const Route& route) {
  if (context.attempt.task.index % kReportsHistogram != 0) return;
  context.sample_histogram.assign(context.output_partitions, 0);
  read_shuffle<Owned<K>>(context, sample, 0, [&](const Owned<K>& key) { ++context.sample_histogram[route(K(key))]; });
}

}  // namespace weft::detail
