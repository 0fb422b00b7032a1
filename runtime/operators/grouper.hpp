// group_by_key and cogroup behind the shuffle: groups of any size, values streamed in the order in which they were added.
#pragma once

#include "base/codec.hpp"
#include "runtime/operators/fault.hpp"
#include "runtime/operators/values.hpp"

namespace weft::runtime {

template <Encodable K, Encodable V>
class Grouper {
 public:
  explicit Grouper(OperatorContext& context);
  void add(const K& key, const V& value);
  /// emit(const K&, Values<V>&) once per key; what emit leaves unread is skipped. Once, last.
  template <class Emit>
  void drain(Emit&& emit);
};

template <Encodable K, Encodable L, Encodable R>
class CoGrouper {
 public:
  explicit CoGrouper(OperatorContext& context);
  void add_left(const K& key, const L& value);
  void add_right(const K& key, const R& value);
  /// emit(const K&, Values<L>&, Values<R>&) once per key of either side. Once, last.
  template <class Emit>
  void drain(Emit&& emit);
};

}  // namespace weft::runtime
