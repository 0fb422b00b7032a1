// Into how many partitions a shuffle goes, and which key goes where.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/codec.hpp"

namespace weft {

/// By a hash of the key's bytes, into `count` partitions (0: the job's default, --partitions).
struct HashPartitions {
  std::uint32_t count = 0;
};

template <class F>
struct SampledPartitionBy;

/// By the user's function: partition(key, count) returns a number below `count`.
template <class F>
struct PartitionBy {
  F function;
  std::uint32_t count = 0;

  /// The same, after a sample of the keys is drawn. From it, schedulers and `weft job status` know how large the partitions will
  /// be, even if the maps' inputs have little in common. The operators before it run twice: on up to a mebibyte of what each task
  /// reads from files or counts, and on everything that comes out of a shuffle. Only for operators that send every record, not for
  /// those that combine values first.
  SampledPartitionBy<F> sampled() const { return {*this}; }
};

template <class F>
struct SampledPartitionBy : PartitionBy<F> {};

/// `reduce_by_key(f, weft::partition_by(range_of, 16))`.
template <class F>
PartitionBy<F> partition_by(F function, std::uint32_t count = 0) {
  return {std::move(function), count};
}

namespace detail {

inline std::uint32_t checked_partition(std::uint64_t partition, std::uint32_t count) {
  if (partition >= count) {
    throw std::out_of_range("the partitioner returned " + std::to_string(partition) + ", but there are " + std::to_string(count) +
                            " partitions; return a number below its second argument");
  }
  return static_cast<std::uint32_t>(partition);
}

/// Number → HashPartitions, the others as they are.
template <std::integral I>
HashPartitions partitioning(I count) {
  if (count < 0 || static_cast<std::uint64_t>(count) > UINT32_MAX / 2) throw std::invalid_argument("not a number of partitions");
  return {static_cast<std::uint32_t>(count)};
}
inline HashPartitions partitioning(HashPartitions how) { return how; }
template <class F>
PartitionBy<F> partitioning(PartitionBy<F> how) {
  return how;
}
template <class F>
SampledPartitionBy<F> partitioning(SampledPartitionBy<F> how) {
  return how;
}

/// Binds a partitioning to the partition count of the running task: a callable uint32_t(const K&).
template <class K>
auto partitioner_for(const HashPartitions&, std::uint32_t partitions) {
  return [partitions](const K& key) { return hash_partition(key_hash(key), partitions); };
}
template <class K, class F>
auto partitioner_for(const PartitionBy<F>& how, std::uint32_t partitions) {
  return [&how, partitions](const K& key) {
    return checked_partition(static_cast<std::uint64_t>(std::invoke(how.function, key, partitions)), partitions);
  };
}

template <class P>
inline constexpr bool kIsSampled = false;
template <class F>
inline constexpr bool kIsSampled<SampledPartitionBy<F>> = true;

}  // namespace detail

/// What operators that shuffle by key take as their last argument: nothing, a number of partitions, HashPartitions or
/// partition_by(…).
template <class P, class K>
concept Partitioning = std::integral<P> || std::same_as<P, HashPartitions> ||
    requires(const P& how, const K& key, std::uint32_t count) {
  { std::invoke(how.function, key, count) } -> std::convertible_to<std::uint64_t>;
  { how.count } -> std::convertible_to<std::uint32_t>;
};

}  // namespace weft
