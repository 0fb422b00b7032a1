// Finds the keys that most records of a map output have, so that the finding of a large partition can name one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/protocol/task_usage.hpp"

namespace weft::runtime {

/// Looks at one of kInterval records and keeps the keys of kKept of them (J. Misra and D. Gries, "Finding repeated elements",
/// 1982): one that more than a kKept-th of the records have is among them. One thread.
class HotKeys {
 public:
  static constexpr std::uint32_t kInterval = 509;  // a prime: keys that come in turns are all seen
  static constexpr std::size_t kKept = 16, kReported = 4, kTextBytes = 64;
  /// A key is reported when at least kLeast of the records that were looked at had it, and one of kPart of them.
  static constexpr std::uint64_t kLeast = 8, kPart = 10;

  explicit HotKeys(TaskUsage& into) : into_(&into) {}
  /// Reports the keys.
  ~HotKeys();
  HotKeys(HotKeys&& other) noexcept
      : into_(std::exchange(other.into_, nullptr)), left_(other.left_), looked_(other.looked_), keys_(std::move(other.keys_)) {}
  HotKeys& operator=(HotKeys&&) = delete;

  /// Whether the record is one that is looked at. To be called once for each.
  bool due() {
    if (--left_ != 0) [[likely]]
      return false;
    left_ = kInterval;
    return true;
  }
  /// It has that key, and goes to the partition.
  void note(std::uint32_t partition, std::string_view text);

 private:
  struct Counted {
    HotKey key;
    std::uint64_t count = 0;
  };

  TaskUsage* into_;
  std::uint32_t left_ = kInterval;
  std::uint64_t looked_ = 0;
  std::vector<Counted> keys_;
};

}  // namespace weft::runtime
