// What an aggregation is, for the combiner before the shuffle and the table behind it.
#pragma once

#include <concepts>

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

}  // namespace weft::runtime
