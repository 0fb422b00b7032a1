// The build records of one key in a join's table. The first value lies in the table's entry itself when it is small and of fixed
// size, so that a key that occurs once costs nothing more; all others are linked in an arena.
#pragma once

#include <array>
#include <cstdint>

#include "base/codec.hpp"
#include "runtime/operators/value_list.hpp"

namespace weft::runtime {

template <class B>
inline constexpr bool kInlineValue = FixedSize<B>&& kFixedBytes<B> <= 32;

template <class B>
class JoinMatches {
 public:
  /// The first record of the key. False: the arena refuses.
  bool start(Arena& arena, const B& value, Encoder& scratch) {
    if constexpr (kInlineValue<B>) {
      store_fixed(value, first_.data());
      return true;
    } else {
      return append(arena, value, scratch);
    }
  }

  bool append(Arena& arena, const B& value, Encoder& scratch) {
    scratch.clear();
    Codec<B>::encode(value, scratch);
    ValueNode* node = try_make_value(arena, scratch.view());
    if (node == nullptr) return false;
    node->next = more();
    more_ = reinterpret_cast<std::uintptr_t>(node) | (more_ & kMet);
    return true;
  }

  /// visit(encoded value) for every record that start() and append() were given.
  template <class Visit>
  void for_each_encoded(Visit&& visit) const {
    if constexpr (kInlineValue<B>) visit(ByteView(first_));
    for (const ValueNode* node = more(); node != nullptr; node = node->next) visit(node->bytes());
  }
  /// visit(const B&)
  template <class Visit>
  void for_each(Visit&& visit) const {
    if constexpr (kInlineValue<B>) visit(load_fixed<B>(first_.data()));
    for (const ValueNode* node = more(); node != nullptr; node = node->next) {
      Decoder in(node->bytes());
      visit(Codec<B>::decode(in));
    }
  }

  bool met() const { return (more_ & kMet) != 0; }
  void meet() { more_ |= kMet; }

 private:
  static constexpr std::uintptr_t kMet = 1;
  static_assert(Arena::kAlignment > kMet);

  ValueNode* more() const { return reinterpret_cast<ValueNode*>(more_ & ~kMet); }

  static constexpr std::size_t kFirstBytes = kInlineValue<B> ? kFixedBytes<B> : 0;

  [[no_unique_address]] std::array<std::byte, kFirstBytes> first_{};
  std::uintptr_t more_ = 0;  // the address of the latest value, from which the others are linked; kMet in it: meet() was called
};

/// Adds a build record to a table of JoinMatches; without `keep_value` only its key. False: memory is refused, and the table may
/// lack the value of a key that it has.
template <class Table, class K, class B>
bool hold_match(Table& table, Arena& arena, const K& key, const B& value, bool keep_value, Encoder& scratch) {
  bool fits = true;
  const auto found = [&](JoinMatches<B>& matches) {
    if (keep_value) fits = matches.append(arena, value, scratch);
  };
  const auto make = [&] {
    JoinMatches<B> fresh;
    if (keep_value) fits = fresh.start(arena, value, scratch);
    return fresh;
  };
  return table.upsert(table.ref(key), found, make) && fits;
}

}  // namespace weft::runtime
