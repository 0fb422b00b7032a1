// Joins two sides by key. The right side is held in a hash table while it fits the grant; otherwise both sides are sorted
// (spilling) and merged.
#pragma once

#include <optional>

#include "base/assert.hpp"
#include "base/codec.hpp"
#include "runtime/operators/aggregation_table.hpp"
#include "runtime/operators/cross_product.hpp"
#include "runtime/operators/fault.hpp"
#include "runtime/operators/keyed_sorter.hpp"

namespace weft::runtime {

enum class JoinKind : std::uint8_t { inner, left, right, full, semi, anti };

/// Protocol: every add_right(), then every add_left(), then finish(). emit(const K&, const L*, const R*): a null pointer stands for
/// the missing side (left, right, full); semi and anti emit with a null right side. Views are valid during the call.
template <Encodable K, Encodable L, Encodable R>
class Joiner {
 public:
  Joiner(OperatorContext& context, JoinKind kind)
      : kind_(kind), context_(context), account_(context, "join"), table_(account_), arena_(account_), poll_(context) {}

  void add_right(const K& key, const R& value) {
    poll_();
    if (sides_) return sides_->right.add(key, value);
    if (hold(key, value)) return;
    sort_instead();
    sides_->right.add(key, value);
  }

  /// May emit at once (right side in memory) or later.
  template <class Emit>
  void add_left(const K& key, const L& value, Emit&& emit) {
    poll_();
    if (sides_) return add_sorted_left(key, value);
    Matches* matches = table_.find(table_.ref(key));
    if (!pairs()) {
      if ((matches != nullptr) == (kind_ == JoinKind::semi)) emit(key, &value, kNoRight);
    } else if (matches == nullptr) {
      if (keeps_left()) emit(key, &value, kNoRight);
    } else {
      matches->matched = true;
      for (const ValueNode* node = matches->values.first; node != nullptr; node = node->next) {
        poll_();
        const R right = read<R>(node->bytes());
        emit(key, &value, &right);
      }
    }
  }

  template <class Emit>
  void finish(Emit&& emit) {
    if (sides_) return merge(emit);
    if (keeps_right()) {
      table_.for_each([&](typename Table::Entry entry) {
        if (entry.acc().matched) return;
        const K key = entry.key();
        for (const ValueNode* node = entry.acc().values.first; node != nullptr; node = node->next) {
          poll_();
          const R right = read<R>(node->bytes());
          emit(key, kNoLeft, &right);
        }
      });
    }
    table_.release();
    arena_.release();
  }

  /// The right side was too large for the hash table.
  bool sorts() const { return sides_.has_value(); }

 private:
  struct Matches {
    ValueList values;
    bool matched = false;
  };
  struct Sides {
    explicit Sides(OperatorContext& context) : left(context, "join"), right(context, "join") {}
    KeyedSorter<K> left;
    KeyedSorter<K> right;
    bool right_complete = false;
  };
  using Table = AggregationTable<K, Matches>;
  static constexpr const L* kNoLeft = nullptr;
  static constexpr const R* kNoRight = nullptr;

  bool pairs() const { return kind_ != JoinKind::semi && kind_ != JoinKind::anti; }
  bool keeps_left() const { return kind_ == JoinKind::left || kind_ == JoinKind::full; }
  bool keeps_right() const { return kind_ == JoinKind::right || kind_ == JoinKind::full; }

  template <class T>
  static T read(ByteView bytes) {
    Decoder in(bytes);
    return Codec<T>::decode(in);
  }

  bool hold(const K& key, const R& value) {
    ValueNode* node = nullptr;
    if (pairs()) {  // the others need only the keys
      scratch_.clear();
      Codec<R>::encode(value, scratch_);
      node = try_make_value(arena_, scratch_.view());
      if (node == nullptr) return false;
    }
    const auto link = [&](Matches& matches) {
      if (node != nullptr) matches.values.append(node);
    };
    return table_.upsert(table_.ref(key), link, [&] {
      Matches fresh;
      link(fresh);
      return fresh;
    });
  }

  /// Moves the right side from the table to a sorter.
  void sort_instead() {
    sides_.emplace(context_);
    table_.for_each([&](typename Table::Entry entry) {
      poll_();
      const K key = entry.key();
      if (!pairs()) return sides_->right.add_encoded(key, ByteView());
      for (const ValueNode* node = entry.acc().values.first; node != nullptr; node = node->next) {
        sides_->right.add_encoded(key, node->bytes());
      }
    });
    table_.release();
    arena_.release();
  }

  void add_sorted_left(const K& key, const L& value) {
    if (!std::exchange(sides_->right_complete, true)) sides_->right.spill_all();
    sides_->left.add(key, value);
  }

  template <class Emit>
  void merge(Emit& emit) {
    KeyedSorter<K>& left = sides_->left;
    KeyedSorter<K>& right = sides_->right;
    left.finish();
    right.finish();
    CrossProduct product(context_);
    bool more_left = left.next_group();
    bool more_right = right.next_group();
    while (more_left || more_right) {
      const int order = !more_right ? -1 : !more_left ? 1 : left.compare_group(right);
      if (order < 0) {
        if (keeps_left() || kind_ == JoinKind::anti) emit_left(left, emit);
      } else if (order > 0) {
        if (keeps_right()) emit_right(right, emit);
      } else if (kind_ == JoinKind::semi) {
        emit_left(left, emit);
      } else if (kind_ != JoinKind::anti) {
        emit_pairs(product, left, right, emit);
      }
      if (order <= 0) more_left = left.next_group();
      if (order >= 0) more_right = right.next_group();
    }
  }

  template <class Emit>
  void emit_left(KeyedSorter<K>& group, Emit& emit) {
    const K key = group.key();
    for (ByteView bytes; group.next(bytes);) {
      const L left = read<L>(bytes);
      emit(key, &left, kNoRight);
    }
  }
  template <class Emit>
  void emit_right(KeyedSorter<K>& group, Emit& emit) {
    const K key = group.key();
    for (ByteView bytes; group.next(bytes);) {
      const R right = read<R>(bytes);
      emit(key, kNoLeft, &right);
    }
  }
  template <class Emit>
  void emit_pairs(CrossProduct& product, KeyedSorter<K>& left, KeyedSorter<K>& right, Emit& emit) {
    const K key = left.key();
    product.run(left, right, [&](ByteView left_bytes, ByteView right_bytes) {
      const L l = read<L>(left_bytes);
      const R r = read<R>(right_bytes);
      emit(key, &l, &r);
    });
  }

  JoinKind kind_;
  OperatorContext& context_;
  Account account_;
  Table table_;
  Arena arena_;
  StopPoll poll_;
  Encoder scratch_;
  std::optional<Sides> sides_;
};

}  // namespace weft::runtime
