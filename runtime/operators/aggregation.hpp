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

/// Accumulators that hold memory of their own (strings, vectors): it is estimated by the encoded size.
template <class Acc>
inline constexpr bool kGrowingAcc = !std::is_trivially_copyable_v<Acc>;

template <Encodable T>
std::size_t encoded_bytes(const T& value, Encoder& scratch) {
  scratch.clear();
  Codec<T>::encode(value, scratch);
  return scratch.size();
}

}  // namespace weft::runtime
