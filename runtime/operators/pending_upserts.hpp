// Hides memory latency of large tables: an update waits in a short queue while the slot, then the entry of its key are fetched
// into the cache. Updates of one key stay in order.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "runtime/operators/aggregation_table.hpp"

namespace weft::runtime {

template <class K, class Acc, class Payload>
class PendingUpserts {
 public:
  using Table = AggregationTable<K, Acc>;
  using Ref = typename Table::Form::Ref;

  /// Only plain payloads can wait cheaply.
  static constexpr bool kPossible = std::is_trivially_copyable_v<Payload> && sizeof(Payload) <= 32;

  /// This update should wait: the table has outgrown the near caches (or others are waiting, and must not be overtaken), and the
  /// key is held by the reference itself.
  bool useful(const Table& table, const Ref& ref) const {
    return (table.size() >= kFrom || !empty()) && Table::Form::self_contained(ref);
  }
  bool empty() const { return applied_ == pushed_; }

  /// Queues the update; apply(const Ref&, const Payload&) is called for the one that has waited longest.
  template <class Apply>
  void push(const Table& table, const Ref& ref, const Payload& payload, Apply&& apply) {
    table.prefetch_slot(ref.hash);
    Item& place = items_[pushed_ % kWaiting];
    if (pushed_ - applied_ == kWaiting) {
      ++applied_;
      apply(place.ref, place.payload);
    }
    place = {ref, payload};
    if (pushed_ - applied_ >= kWaiting / 2) table.prefetch_entry(items_[(pushed_ - kWaiting / 2) % kWaiting].ref.hash);
    ++pushed_;
  }

  template <class Apply>
  void drain(Apply&& apply) {
    while (applied_ != pushed_) {
      const Item& item = items_[applied_++ % kWaiting];
      apply(item.ref, item.payload);
    }
  }

 private:
  static constexpr std::uint64_t kWaiting = 16;
  static constexpr std::size_t kFrom = 1U << 14;

  struct Item {
    Ref ref;
    Payload payload;
  };

  std::conditional_t<kPossible, std::array<Item, kWaiting>, std::array<Item, 0>> items_{};
  std::uint64_t pushed_ = 0;
  std::uint64_t applied_ = 0;
};

}  // namespace weft::runtime
