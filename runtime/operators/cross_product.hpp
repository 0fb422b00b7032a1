// All pairs of two groups of values that may both be larger than memory.
#pragma once

#include "runtime/operators/account.hpp"
#include "runtime/operators/spill.hpp"
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
      if (node == nullptr) return run_spilled(left, spill(held, value, right), pair);
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
  /// A spilled right side.
  struct Spilled {
    SpillFile file;
    SpillRun run;
  };

  std::unique_ptr<Spilled> spill(const ValueList& held, ByteView value, ValueSource& rest) {
    auto spilled = std::make_unique<Spilled>(Spilled{SpillFile(account_), {}});
    SpillWriter writer(spilled->file, account_.block_bytes());
    for (const ValueNode* node = held.first; node != nullptr; node = node->next) writer.write(node->bytes());
    do {
      poll_();
      writer.write(value);
    } while (rest.next(value));
    spilled->run = writer.finish();
    return spilled;
  }

  template <class Pair>
  void run_spilled(ValueSource& left, std::unique_ptr<Spilled> right, Pair& pair) {
    ByteView value;
    bool more = left.next(value);
    while (more) {
      arena_.clear();
      ValueList held;
      for (; more; more = left.next(value)) {
        ValueNode* node = try_make_value(arena_, value);
        if (node == nullptr && held.first == nullptr) arena_.release(), node = try_make_value(arena_, value);
        if (node == nullptr && held.first == nullptr) account_.exhausted(value.size());
        if (node == nullptr) break;
        held.append(node);
      }
      SpillReader reader(right->file, right->run);
      ByteView other;
      while (reader.next(other)) {
        for (const ValueNode* node = held.first; node != nullptr; node = node->next) {
          poll_();
          pair(node->bytes(), other);
        }
      }
    }
  }

  Account account_;
  Arena arena_;
  StopPoll poll_;
};

}  // namespace weft::runtime
