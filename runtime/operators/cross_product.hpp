// All pairs of two groups of values that may both be larger than memory.
#pragma once

#include <type_traits>

#include "runtime/operators/account.hpp"
#include "runtime/operators/value_list.hpp"
#include "runtime/operators/values.hpp"

namespace weft::runtime {

class CrossProduct {
 public:
  explicit CrossProduct(OperatorContext& context) : account_(context, "join"), arena_(account_), poll_(context) {}

  /// pair(left bytes, right bytes) for every combination. The right side is held in memory, or, when it is too large, in a spill
  /// file that is read once per memory-full of the left side.
  template <class Pair>
  void run(ValueSource& left, ValueSource& right, Pair&& pair) {
    arena_.clear();
    ByteView value;
    ValueList held;
    while (right.next(value)) {
      poll_();
      ValueNode* node = try_make_value(arena_, value);
      if (node == nullptr)
        return run_spilled(left, held, value, right, &pair, [](void* self, ByteView left_bytes, ByteView right_bytes) {
          (*static_cast<std::remove_reference_t<Pair>*>(self))(left_bytes, right_bytes);
        });
      held.append(node);
    }
    while (left.next(value)) {
      for (const ValueNode* node = held.first; node != nullptr; node = node->next) {
        poll_();
        pair(value, node->bytes());
      }
    }
  }

 private:
  /// The right side, of which `held` and `value` have been read, is put on the disk.
  void run_spilled(ValueSource& left, const ValueList& held, ByteView value, ValueSource& right, void* self,
                   void (*pair)(void* self, ByteView left, ByteView right));

  Account account_;
  Arena arena_;
  StopPoll poll_;
};

}  // namespace weft::runtime
