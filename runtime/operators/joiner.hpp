// Joins two sides by key. The right side is held in a hash table while it fits the grant; otherwise both sides are sorted
// (spilling) and merged.
#pragma once

#include "base/codec.hpp"
#include "runtime/operators/fault.hpp"

namespace weft::runtime {

enum class JoinKind : std::uint8_t { inner, left, right, full, semi, anti };

/// Protocol: every add_right(), then every add_left(), then finish(). emit(const K&, const L*, const R*): a null pointer stands for
/// the missing side (left, right, full); semi and anti emit with a null right side. Views are valid during the call.
template <Encodable K, Encodable L, Encodable R>
class Joiner {
 public:
  Joiner(OperatorContext& context, JoinKind kind);
  void add_right(const K& key, const R& value);
  /// May emit at once (right side in memory) or later.
  template <class Emit>
  void add_left(const K& key, const L& value, Emit&& emit);
  template <class Emit>
  void finish(Emit&& emit);
};

}  // namespace weft::runtime
