// The hash table of combiners, reduce tables and joins: a slot table per kind of key, so that short keys have small slots and are
// compared in a word or two. It never spills: it reports that it is full, and its owner decides.
#pragma once

#include <atomic>
#include <tuple>

#include "base/codec.hpp"
#include "runtime/operators/one_of_each.hpp"
#include "runtime/operators/slot_table.hpp"

namespace weft::runtime {

/// How large tables of one stage become: the next task's starts with that. Any thread.
class TableHint {
 public:
  std::uint32_t shape() const { return shape_.load(std::memory_order_relaxed); }
  void set(std::uint32_t shape) { shape_.store(shape, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> shape_{0};
};

template <class K, class Acc>
class AggregationTable {
  static_assert(std::is_nothrow_move_constructible_v<Acc>, "weft: an accumulator must be movable without throwing");
  static_assert(alignof(Acc) <= 16, "weft: an accumulator must not need an alignment of more than 16 bytes");

 public:
  using Form = KeyForm<K>;
  using Ref = typename Form::Ref;

  // The uppermost bits of a hash choose the partition of a shuffle, so they are no help among the keys of one.
  static constexpr unsigned kPartitionBits = 24;
  /// How often a table may be split by four more bits of the hash and still have some left to order its keys by.
  static constexpr unsigned kMaxLevel = 8;

  /// The kinds of key there are.
  using Kinds = std::conditional_t<ScalarKey<K>, std::tuple<NumberKey>, std::tuple<ShortKey, MediumKey, LongKey>>;

  /// `level`: keys agree in 4 * level bits below the partition's.
  explicit AggregationTable(Account& account, unsigned level = 0)
      : arena_(account), shift_out_(kPartitionBits + 4 * level), slots_(TableMemory{account, arena_}) {}
  /// One of several tables that share a large number of keys.
  struct PartOf {
    std::size_t chunk_bytes;  // in which it takes memory for long keys
  };
  AggregationTable(Account& account, PartOf part)
      : arena_(account, part.chunk_bytes), shift_out_(kPartitionBits), slots_(TableMemory{account, arena_, true}) {}

  Ref ref(const K& key) { return Form::ref(key, scratch_); }

  /// A key as its slot table sees it.
  template <class Key>
  struct KindRef {
    Key key;
    std::uint64_t hash;
  };

  /// Calls visit(KindRef) with the key as its kind.
  template <class Visit>
  static auto visit_kind(const Ref& ref, Visit&& visit) {
    if constexpr (ScalarKey<K>) {
      return visit(KindRef<NumberKey>{{ref.bits}, ref.hash});
    } else {
      const std::size_t size = ref.short_size();
      if (size <= ShortKey::kMax) return visit(KindRef<ShortKey>{ShortKey::of(ref.bytes), ref.hash});
      if (size <= kShortBytes) return visit(KindRef<MediumKey>{{ref.bytes}, ref.hash});
      return visit(KindRef<LongKey>{{ref.hash, ref.data, ref.size}, ref.hash});
    }
  }

  /// found(Acc&) when the key is there, otherwise it is inserted with make(). False, and nothing changed, when memory is refused.
  template <class Found, class Make>
  bool upsert(const Ref& ref, Found&& found, Make&& make) {
    return visit_kind(ref, [&](const auto& kind) { return upsert(kind, found, make); });
  }
  template <class Key, class Found, class Make>
  bool upsert(const KindRef<Key>& ref, Found&& found, Make&& make) {
    return table_of<Key>().upsert(ref.key, position(ref.hash), shift_out_, found, make);
  }

  /// Starts loading what upsert() and find() will look at.
  template <class Key>
  [[gnu::always_inline]] void prefetch(const KindRef<Key>& ref) {
    table_of<Key>().prefetch(position(ref.hash));
  }

  /// Some time later: the rest of it.
  template <class Key>
  [[gnu::always_inline]] void prefetch_key(const KindRef<Key>& ref) {
    table_of<Key>().prefetch_key(position(ref.hash));
  }

  /// Null when the key is not there.
  Acc* find(const Ref& ref) {
    return visit_kind(ref, [&](const auto& kind) { return find(kind); });
  }
  template <class Key>
  Acc* find(const KindRef<Key>& ref) {
    return table_of<Key>().find(ref.key, position(ref.hash));
  }

  /// An entry during a walk.
  class Entry {
   public:
    Entry(const std::byte* data, std::size_t size, Acc& acc) : data_(data), size_(size), acc_(&acc) {}
    /// Views in it are valid during the visit.
    K key() const { return Form::load(data_, size_); }
    std::uint64_t hash() const { return Form::hash(data_, size_); }
    void encode_key(Encoder& out) const { Form::encode(data_, size_, out); }
    Acc& acc() const { return *acc_; }

   private:
    const std::byte* data_;
    std::size_t size_;
    Acc* acc_;
  };

  /// Every entry, in the order of the hashes among those of similar length: the same keys always come in the same order.
  template <class Visit>
  void for_each(Visit&& visit) {
    each_table([&](auto& table) { table.for_each([&](const auto& key, Acc& acc) { visit(Entry(key.data(), key.size(), acc)); }); });
  }

  /// Forgets everything, keeps the memory.
  void clear() {
    each_table([](auto& table) { table.clear(); });
    arena_.clear();
  }
  /// Forgets everything and gives the memory back.
  void release() {
    each_table([](auto& table) { table.release(); });
    arena_.release();
  }

  /// Starts as large as the table whose shape the hint has (null: none).
  void reserve(const TableHint* hint) {
    if (hint == nullptr) return;
    const std::uint32_t shape = hint->shape();
    unsigned place = 8 * static_cast<unsigned>(std::tuple_size_v<Kinds>);
    each_table([&](auto& table) { table.reserve(shape >> (place -= 8) & 0xff); });
  }
  /// Has room for about as many keys at once, if they are numbers: of others it is not known which kinds they are.
  void reserve(std::uint64_t keys) {
    if constexpr (ScalarKey<K>) {
      if (keys > 0) slots_.template get<Numbers>().reserve(static_cast<unsigned>(std::bit_width(2 * keys)));
    }
  }
  void tell(TableHint* hint) const {
    if (hint == nullptr) return;
    std::uint32_t shape = 0;
    slots_.for_each([&](const auto& table) { shape = shape << 8 | table.shape(); });
    hint->set(shape);
  }

  std::size_t size() const {
    std::size_t size = 0;
    slots_.for_each([&](const auto& table) { size += table.size(); });
    return size;
  }
  /// What an entry for this key takes at least.
  static std::size_t entry_bytes(const Ref& ref) {
    return visit_kind(ref, [](const auto& kind) { return entry_bytes(kind); });
  }
  template <class Key>
  static std::size_t entry_bytes(const KindRef<Key>& ref) {
    const std::size_t outside = std::is_same_v<Key, LongKey> ? ref.key.size() : 0;
    return outside + SlotTable<Key, Acc>::kFirstSlots * sizeof(typename SlotTable<Key, Acc>::Slot);
  }

 private:
  using Numbers = SlotTable<NumberKey, Acc>;
  using Slots = std::conditional_t<ScalarKey<K>, OneOfEach<Numbers>,
                                   OneOfEach<SlotTable<ShortKey, Acc>, SlotTable<MediumKey, Acc>, SlotTable<LongKey, Acc>>>;

  std::uint64_t position(std::uint64_t hash) const { return hash << shift_out_; }

  template <class Key>
  SlotTable<Key, Acc>& table_of() {
    return slots_.template get<SlotTable<Key, Acc>>();
  }
  template <class Visit>
  void each_table(Visit&& visit) {
    slots_.for_each(visit);
  }

  Arena arena_;
  Encoder scratch_;
  unsigned shift_out_;
  Slots slots_;
};

}  // namespace weft::runtime
