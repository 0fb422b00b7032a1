// Hides memory latency of large tables: updates wait while the slots of their keys are fetched into the cache, and are applied a
// batch at a time. Updates of one key stay in order.
#pragma once

#include <array>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "runtime/operators/aggregation_table.hpp"

namespace weft::runtime {

template <class K, class Acc, class Payload>
class PendingUpserts {
 public:
  using Table = AggregationTable<K, Acc>;
  using Ref = typename Table::Ref;

  /// Only plain payloads can wait cheaply.
  static constexpr bool kPossible = std::is_trivially_copyable_v<Payload> && sizeof(Payload) <= 32;

  /// Queues the update; when there are many of its kind, apply(kind of reference, const Payload&) is called for all in order. A key
  /// that lies elsewhere cannot wait (none equal to it does): it is applied at once.
  template <class Apply>
  void push(Table& table, const Ref& ref, const Payload& payload, Apply&& apply) {
    Table::visit_kind(ref, [&]<class Key>(const typename Table::template KindRef<Key>& kind) {
      if constexpr (!kWaits<Key>) {
        apply(kind, payload);
      } else {
        table.prefetch(kind);
        auto& queue = std::get<Queue<Key>>(queues_);
        queue.items[queue.size] = {kind, payload};
        if (++queue.size == kWaiting) drain(queue, apply);
      }
    });
  }

  bool empty() const {
    return std::apply([](const auto&... queue) { return ((queue.size == 0) && ...); }, queues_);
  }

  /// What apply() throws leaves nothing waiting of that kind.
  template <class Apply>
  void drain(Apply&& apply) {
    std::apply([&](auto&... queue) { (drain(queue, apply), ...); }, queues_);
  }

 private:
  static constexpr std::size_t kWaiting = 32;
  template <class Key>
  static constexpr bool kWaits = kPossible && !std::is_same_v<Key, LongKey>;

  template <class Key>
  struct Queue {
    struct Item {
      typename Table::template KindRef<Key> ref;
      Payload payload;
    };
    std::array<Item, kWaits<Key> ? kWaiting : 0> items;
    std::size_t size = 0;
  };
  template <class Kinds>
  struct QueuesOf;
  template <class... Key>
  struct QueuesOf<std::tuple<Key...>> {
    using type = std::tuple<Queue<Key>...>;
  };

  template <class Key, class Apply>
  static void drain(Queue<Key>& queue, Apply& apply) {
    if constexpr (kWaits<Key>) {
      const std::size_t size = std::exchange(queue.size, 0);
      for (std::size_t i = 0; i < size; ++i) apply(queue.items[i].ref, queue.items[i].payload);
    }
  }

  typename QueuesOf<typename Table::Kinds>::type queues_;
};

}  // namespace weft::runtime
