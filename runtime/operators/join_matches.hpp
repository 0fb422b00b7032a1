// The build records of one key in a join's table. The first value lies in the table's entry itself when it is small and of fixed
// size, so that a key that occurs once costs nothing more; all others are linked in an arena.
#pragma once

#include <array>
#include <utility>

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
    node->next = std::exchange(more_, node);
    return true;
  }

  /// visit(encoded value) for every record that start() and append() were given.
  template <class Visit>
  void for_each_encoded(Visit&& visit) const {
    if constexpr (kInlineValue<B>) visit(ByteView(first_));
    for (const ValueNode* node = more_; node != nullptr; node = node->next) visit(node->bytes());
  }
  /// visit(const B&)
  template <class Visit>
  void for_each(Visit&& visit) const {
    if constexpr (kInlineValue<B>) visit(load_fixed<B>(first_.data()));
    for (const ValueNode* node = more_; node != nullptr; node = node->next) {
      Decoder in(node->bytes());
      visit(Codec<B>::decode(in));
    }
  }

  bool met() const { return met_; }
  void meet() { met_ = true; }

 private:
  static constexpr std::size_t kFirstBytes = kInlineValue<B> ? kFixedBytes<B> : 0;

  std::array<std::byte, kFirstBytes> first_{};
  bool met_ = false;
  ValueNode* more_ = nullptr;  // the latest first
};

}  // namespace weft::runtime
