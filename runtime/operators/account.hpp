// One operator's share of its task's memory grant.
#pragma once

#include <cstdint>
#include <string>

#include "base/lean/algorithm.hpp"
#include "runtime/operators/fault.hpp"
#include "runtime/operators/memory.hpp"

namespace weft::runtime {

/// Lets its operator use half of what was free when it was made, so that operators chained in one task all get something. A
/// sixteenth of the grant is promised even when the others left nothing. Gives everything back when destroyed. The context and
/// its grant must outlive it.
class Account {
 public:
  Account(OperatorContext& context, const char* operator_name);
  ~Account() { give_back(used_); }
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  /// False: the operator has to spill first.
  bool try_take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes);
  const char* name() const { return name_; }
  std::uint64_t limit() const { return limit_; }
  std::uint64_t used() const { return used_; }

  /// Size of the blocks in which this operator spills.
  std::size_t block_bytes() const { return static_cast<std::size_t>(std::clamp<std::uint64_t>(limit_ / 64, 512, 128U << 10)); }
  /// Size of the pieces in which it takes memory.
  std::size_t chunk_bytes() const { return static_cast<std::size_t>(std::clamp<std::uint64_t>(limit_ / 16, 256, 1U << 20)); }

  /// A single record, key or accumulator does not fit: resource_exhausted, naming the operator and its budget.
  [[noreturn]] void exhausted(std::uint64_t bytes) const;
  /// The user's comparator called both of two records smaller, or disagrees with itself: invalid_argument.
  [[noreturn]] void contradiction() const;

  OperatorContext& context() const { return context_; }

 private:
  OperatorContext& context_;
  const char* name_;
  std::uint64_t promised_;
  std::uint64_t limit_;
  std::uint64_t used_ = 0;
  std::uint64_t overdraft_ = 0;  // the part of used_ that the grant had refused
};

}  // namespace weft::runtime
