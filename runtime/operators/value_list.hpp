// Encoded values linked together in an arena: what joins hold of a key.
#pragma once

#include <cstdint>
#include <cstring>

#include "runtime/operators/arena.hpp"

namespace weft::runtime {

struct ValueNode {
  ValueNode* next;
  std::uint64_t size;  // the bytes follow

  ByteView bytes() const { return {reinterpret_cast<const std::byte*>(this + 1), size}; }
};

struct ValueList {
  ValueNode* first = nullptr;
  ValueNode* last = nullptr;

  void append(ValueNode* node) {
    (first == nullptr ? first : last->next) = node;
    last = node;
  }
};

/// Null when the arena refuses.
inline ValueNode* try_make_value(Arena& arena, ByteView value) {
  std::byte* memory = arena.try_allocate(sizeof(ValueNode) + value.size());
  if (memory == nullptr) return nullptr;
  auto* node = new (memory) ValueNode{nullptr, value.size()};
  if (!value.empty()) std::memcpy(node + 1, value.data(), value.size());
  return node;
}

}  // namespace weft::runtime
