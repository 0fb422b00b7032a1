// What an aggregation is, for the combiner before the shuffle and the table behind it.
#pragma once

#include <concepts>
#include <type_traits>

#include "base/codec.hpp"

namespace weft::runtime {

/// init() starts an accumulator from a first value, add() takes one more value, merge() another accumulator. All const.
template <class A>
concept Aggregation = requires(const A& agg, typename A::Acc& acc, const typename A::Acc& other, const typename A::Value& value) {
  { agg.init(value) } -> std::convertible_to<typename A::Acc>;
  agg.add(acc, value);
  agg.merge(acc, other);
}
&&Encodable<typename A::Acc>;

/// Accumulators that hold memory of their own (strings, vectors): it is estimated by the encoded size, unless they say it.
template <class Acc>
inline constexpr bool kGrowingAcc = !std::is_trivially_copyable_v<Acc>;

/// Accumulators that say how much memory they hold beside their own size.
template <class Acc>
concept SaysMemory = requires(const Acc& acc) {
  { acc.held_bytes() } -> std::same_as<std::size_t>;
};

template <Encodable T>
std::size_t encoded_bytes(const T& value, Encoder& scratch) {
  scratch.clear();
  Codec<T>::encode(value, scratch);
  return scratch.size();
}

/// change(acc); returns by how much the memory grew that `acc` holds.
template <SaysMemory Acc, class Change>
std::size_t growth_by(Acc& acc, Change&& change) {
  const std::size_t before = acc.held_bytes();
  change(acc);
  const std::size_t after = acc.held_bytes();
  return after > before ? after - before : 0;
}
template <Encodable Acc>
std::size_t held_bytes(const Acc& acc, Encoder& scratch) {
  if constexpr (SaysMemory<Acc>) {
    return acc.held_bytes();
  } else {
    return encoded_bytes(acc, scratch);
  }
}

/// The name of an aggregation in errors about memory.
template <class Acc>
constexpr const char* aggregation_name() {
  if constexpr (SaysMemory<Acc>)
    return "aggregation by key (count_distinct keeps all different values of a key; approx_count_distinct takes 4 KiB)";
  return "aggregation by key";
}

}  // namespace weft::runtime
