// Hides memory latency of large tables: updates wait while the slots of their keys are fetched into the cache, and are applied a
// batch at a time. Updates of one key stay in order.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>

#include "runtime/operators/aggregation_table.hpp"
#include "runtime/operators/one_of_each.hpp"

namespace weft::runtime {

template <class K, class Acc, class Payload, class TableOf = AggregationTable<K, Acc>, bool kRolling = false>
class PendingUpserts {
 public:
  using Table = TableOf;
  using Ref = typename Table::Ref;

  /// Only plain payloads can wait cheaply.
  static constexpr bool kPossible = std::is_trivially_copyable_v<Payload> && sizeof(Payload) <= (kRolling ? 40 : 32);

  /// Queues the update; when there are many of its kind, apply.expect(their number) and then apply(kind of reference, const
  /// Payload&) for all in order are called. Only very long keys don't wait (none equal to one does): they are applied at once.
  template <class Apply>
  void push(Table& table, const Ref& ref, const Payload& payload, Apply&& apply) {
    Table::visit_kind(ref, [&]<class Key>(const typename Table::template KindRef<Key>& kind) {
      if constexpr (std::is_same_v<Key, LongKey>) {
        if (kind.key.size() > kLongest) {
          apply.expect(1);
          return apply(kind, payload);
        }
      }
      if constexpr (kPossible) {
        table.prefetch(kind);
        auto& queue = queues_.template get<Queue<Key>>();
        if constexpr (kRolling) return roll(table, queue, kind, payload, apply);
        queue.items[queue.size].set(kind, payload);
        if (++queue.size < kWaiting) return;
        if constexpr (std::is_same_v<Key, LongKey>) {
          for (const auto& item : queue.items) table.prefetch_key(item.ref);
        }
        drain(queue, apply);
      }
    });
  }

  bool empty() const {
    bool empty = true;
    queues_.for_each([&](const auto& queue) { empty = empty && queue.size == 0; });
    return empty;
  }

  /// What apply() throws leaves nothing waiting of that kind.
  template <class Apply>
  void drain(Apply&& apply) {
    queues_.for_each([&](auto& queue) { drain(queue, apply); });
  }

 private:
  static constexpr std::size_t kWaiting = 32;
  static constexpr std::size_t kLongest = 64;

  template <class Key>
  struct Item {
    typename Table::template KindRef<Key> ref;
    Payload payload;

    void set(const typename Table::template KindRef<Key>& key, const Payload& value) {
      ref = key;
      payload = value;
    }
  };
  /// With a copy of the key, whose bytes may be gone when its turn comes.
  struct LongItem : Item<LongKey> {
    std::array<std::byte, kLongest> bytes;

    void set(const typename Table::template KindRef<LongKey>& key, const Payload& value) {
      Item<LongKey>::set(key, value);
      std::memcpy(bytes.data(), key.key.place, key.key.length);
      this->ref.key.place = bytes.data();
    }
  };
  template <class Key>
  struct Queue {
    using ItemType = std::conditional_t<std::is_same_v<Key, LongKey>, LongItem, Item<Key>>;
    std::array<ItemType, kPossible ? kWaiting : 0> items;
    std::size_t size = 0;
    std::size_t oldest = 0;  // only if it rolls
  };
  template <class Kinds>
  struct QueuesOf;
  template <class... Key>
  struct QueuesOf<std::tuple<Key...>> {
    using type = OneOfEach<Queue<Key>...>;
  };

  /// Applies the oldest when there are many.
  template <class Key, class Apply>
  static void roll(Table& table, Queue<Key>& queue, const typename Table::template KindRef<Key>& kind, const Payload& payload,
                   Apply& apply) {
    auto& item = queue.items[queue.oldest];
    if (queue.size == kWaiting) [[likely]] {
      apply.expect(1);
      apply(item.ref, item.payload);
      if constexpr (std::is_same_v<Key, LongKey>) table.prefetch_key(queue.items[(queue.oldest + kWaiting / 2) % kWaiting].ref);
    } else {
      ++queue.size;
    }
    item.set(kind, payload);
    queue.oldest = (queue.oldest + 1) % kWaiting;
  }

  template <class Key, class Apply>
  static void drain(Queue<Key>& queue, Apply& apply) {
    if constexpr (kPossible) {
      const std::size_t size = std::exchange(queue.size, 0);
      queue.oldest = 0;
      if (size == 0) return;
      apply.expect(size);
      for (std::size_t i = 0; i < size; ++i) apply(queue.items[i].ref, queue.items[i].payload);
    }
  }

  typename QueuesOf<typename Table::Kinds>::type queues_;
};

}  // namespace weft::runtime
