// group_by_key and cogroup behind the shuffle: groups of any size, values streamed in the order in which they were added, or in an
// order of their own.
#pragma once

#include <utility>

#include "base/codec.hpp"
#include "runtime/operators/fault.hpp"
#include "runtime/operators/keyed_sorter.hpp"
#include "runtime/operators/values.hpp"

namespace weft::runtime {

/// `Order`: KeyedOrder, or a KeyedValueOrder for groups that are sorted.
template <Encodable K, Encodable V, class Order = KeyedOrder<K>>
class Grouper {
 public:
  explicit Grouper(OperatorContext& context, Order order = Order()) : sorter_(context, "group by key", std::move(order)) {}

  void add(const K& key, const V& value) { sorter_.add(key, value); }

  /// emit(const K&, Values<V>&) once per key; what emit leaves unread is skipped. Once, last.
  template <class Emit>
  void drain(Emit&& emit) {
    sorter_.finish();
    while (sorter_.next_group()) {
      const K key = sorter_.key();
      Values<V> values(sorter_);
      emit(key, values);
    }
  }

 private:
  KeyedSorter<K, Order> sorter_;
};

template <Encodable K, Encodable L, Encodable R>
class CoGrouper {
 public:
  explicit CoGrouper(OperatorContext& context) : left_(context, "cogroup"), right_(context, "cogroup") {}

  void add_left(const K& key, const L& value) { left_.add(key, value); }
  void add_right(const K& key, const R& value) { right_.add(key, value); }

  /// emit(const K&, Values<L>&, Values<R>&) once per key of either side. Once, last.
  template <class Emit>
  void drain(Emit&& emit) {
    left_.finish();
    right_.finish();
    NoValues none;
    bool left = left_.next_group();
    bool right = right_.next_group();
    while (left || right) {
      const int order = !right ? -1 : !left ? 1 : left_.compare_group(right_);
      const K key = order <= 0 ? left_.key() : right_.key();
      Values<L> left_values(order <= 0 ? static_cast<ValueSource&>(left_) : none);
      Values<R> right_values(order >= 0 ? static_cast<ValueSource&>(right_) : none);
      emit(key, left_values, right_values);
      if (order <= 0) left = left_.next_group();
      if (order >= 0) right = right_.next_group();
    }
  }

 private:
  struct NoValues final : ValueSource {
    bool next(ByteView&) override { return false; }
  };

  KeyedSorter<K> left_;
  KeyedSorter<K> right_;
};

}  // namespace weft::runtime
