// Open addressing with the keys of one kind and their accumulators in the slots, in the order of the keys' hashes: growing a table,
// writing it out and adding one table to another all go from front to back. Linear probing (Knuth, TAOCP 3, 6.4, algorithm L).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/pages.hpp"
#include "runtime/operators/account.hpp"
#include "runtime/operators/stored_key.hpp"

namespace weft::runtime {

/// Where a table takes its memory from.
struct TableMemory {
  Account& account;
  Arena& arena;          // for keys that are held outside the slots
  bool is_part = false;  // of a larger table: small though it is, memory is what costs
};

/// `Key` is one of the kinds in stored_key.hpp.
template <class Key, class Acc>
class SlotTable {
 public:
  explicit SlotTable(const TableMemory& memory) : account_(memory.account), arena_(memory.arena), is_part_(memory.is_part) {}
  ~SlotTable() { release(); }
  SlotTable(const SlotTable&) = delete;
  SlotTable& operator=(const SlotTable&) = delete;

  /// All zeros: free.
  struct Slot {
    Key key;
    union {
      Acc acc;  // lives when the key is not free
    };
    Slot() = delete;
    ~Slot() = delete;
  };

  /// `position` is key.hash() shifted left by `shift_out`: it orders the keys. found(Acc&) when the key is there, otherwise it is
  /// inserted with make(). False, and nothing changed, when memory is refused.
  template <class Found, class Make>
  bool upsert(const Key& key, std::uint64_t position, unsigned shift_out, Found&& found, Make&& make) {
    if constexpr (Key::kOdd) {
      if (key.free()) [[unlikely]]
        return upsert_odd(found, make);
    }
    if (size_ >= max_size_) [[unlikely]] {
      if (Acc* acc = find(key, position)) return found(*acc), true;
      if (!grow(shift_out)) return false;
    }
    const std::size_t home = position >> shift_;
    for (std::size_t at = home;; at = (at + 1) & mask_) {
      Slot& slot = slots()[at];
      if (slot.key == key) [[likely]]
        return found(slot.acc), true;
      if (slot.key.free()) return insert(slot, home, (at - home) & mask_, key, make);
    }
  }

  /// Null when the key is not there.
  Acc* find(const Key& key, std::uint64_t position) {
    if constexpr (Key::kOdd) {
      if (key.free()) [[unlikely]]
        return odd_ ? &*odd_ : nullptr;
    }
    if (size_ == 0) return nullptr;
    for (std::size_t at = position >> shift_;; at = (at + 1) & mask_) {
      Slot& slot = slots()[at];
      if (slot.key == key) return &slot.acc;
      if (slot.key.free()) return nullptr;
    }
  }

  // Always inline: GCC 12 takes a function that only prefetches for one without effect, and drops the call.
  [[gnu::always_inline]] void prefetch(std::uint64_t position) const {
    // As a number: an empty table has no slots to point into, and asking whether it is empty costs more than the useless fetch.
    const std::uintptr_t slot = reinterpret_cast<std::uintptr_t>(slots()) + (position >> shift_) * sizeof(Slot);
    __builtin_prefetch(reinterpret_cast<const void*>(slot), 1);
    // Of slots of three words a quarter lies in two lines.
    if constexpr (kCacheLine % sizeof(Slot) != 0) __builtin_prefetch(reinterpret_cast<const void*>(slot + sizeof(Slot) - 1), 1);
  }
  /// The bytes of the key that is there, once the slot has arrived.
  [[gnu::always_inline]] void prefetch_key(std::uint64_t position) const {
    if constexpr (std::is_same_v<Key, LongKey>) {
      if (size_ != 0) __builtin_prefetch(slots()[position >> shift_].key.place);
    }
  }

  /// Calls visit(const Key&, Acc&) in the order of positions, except for a few slots that probing moved past the end.
  template <class Visit>
  void for_each(Visit&& visit) {
    if (size_ != 0) {
      for (Slot *slot = slots(), *end = slot + mask_ + 1; slot != end; ++slot) {
        if constexpr (std::is_same_v<Key, LongKey>) {
          if (end - slot > kAhead) __builtin_prefetch(slot[kAhead].key.place);
        }
        if (!slot->key.free()) visit(std::as_const(slot->key), slot->acc);
      }
    }
    if (odd_) visit(Key(), *odd_);
  }

  /// Forgets everything, keeps the memory.
  void clear() {
    destroy();
    if (size_ != 0) std::memset(memory_.data(), 0, memory_.size());
    size_ = 0;
    max_size_ = memory_.empty() ? 0 : most(mask_ + 1);
  }
  /// Forgets everything and gives the memory back.
  void release() {
    destroy();
    account_.give_back(memory_.size());
    memory_ = Pages();
    size_ = max_size_ = mask_ = 0;
    shift_ = 63;
  }
  std::size_t size() const { return size_ + (odd_ ? 1 : 0); }

  /// Binary logarithm of the number of slots; 0 for none.
  unsigned shape() const { return memory_.empty() ? 0 : static_cast<unsigned>(std::bit_width(mask_)); }
  /// Takes that many slots at once if the table has none and they are no more than half of what its account may use.
  void reserve(unsigned shape) {
    constexpr unsigned kLargest = 40;
    if (!memory_.empty() || shape == 0 || shape > kLargest) return;
    if ((sizeof(Slot) << shape) > account_.limit() / 2) return;
    const std::size_t count = std::size_t{1} << shape;
    Pages memory = zeroed(count);
    if (memory.empty()) return;
    memory_ = std::move(memory);
    use_slots(count);
  }

  static constexpr std::size_t kFirstSlots = 8;

 private:
  static constexpr std::size_t kCacheLine = 64;
  static constexpr std::ptrdiff_t kAhead = 16;      // slots, when keys are fetched during a walk
  static constexpr std::uint64_t kSmall = 4 << 20;  // bytes
  // A run of full slots this long in a table less than half full is no accident.
  static constexpr std::size_t kCrowded = 64;
  static constexpr std::size_t kLargestStep = 64;

  Slot* slots() const { return reinterpret_cast<Slot*>(memory_.data()); }

  template <class Make>
  bool insert(Slot& slot, std::size_t home, std::size_t distance, const Key& key, Make& make) {
    Key kept = key;
    if (!keep_key(kept, arena_)) return false;
    new (&slot.acc) Acc(make());
    slot.key = kept;
    ++size_;
    if (distance >= kCrowded) [[unlikely]]
      foresee(home);
    return true;
  }

  /// Keys come in the order of their positions where another table was written out, and have reached `home` so far: then there will
  /// be as many in every part of the table as there are up to here, and a table is made at once for all of them.
  void foresee(std::size_t home) {
    const double all = static_cast<double>(size_) * static_cast<double>(mask_ + 1) / static_cast<double>(home + 1);
    if (all <= static_cast<double>(mask_ + 1) / 2) return;
    step_ = 2;
    while (step_ < kLargestStep && static_cast<double>(step_ * (mask_ + 1)) < 2 * all) step_ *= 2;
    max_size_ = size_;  // grow with the next key
  }

  /// The key that looks like a free slot.
  template <class Found, class Make>
  bool upsert_odd(Found& found, Make& make) {
    if (odd_) {
      found(*odd_);
    } else {
      odd_.emplace(make());
    }
    return true;
  }

  bool grow(unsigned shift_out) {
    std::size_t count = memory_.empty() ? kFirstSlots : step_ * (mask_ + 1);
    const std::size_t least = memory_.empty() ? kFirstSlots : 2 * (mask_ + 1);
    while (count > least && count * sizeof(Slot) > account_.limit() - account_.used()) count /= 2;
    step_ = 2;
    const std::size_t old_count = memory_.empty() ? 0 : mask_ + 1;
    Pages old = zeroed(count);  // until it is there, the table stays as it is
    if (old.empty()) return false;
    old.swap(memory_);
    use_slots(count);
    for (std::size_t i = 0; i != old_count; ++i) {
      Slot& slot = reinterpret_cast<Slot*>(old.data())[i];
      if (slot.key.free()) continue;
      std::size_t at = (slot.key.hash() << shift_out) >> shift_;
      while (!slots()[at].key.free()) at = (at + 1) & mask_;
      slots()[at].key = slot.key;
      new (&slots()[at].acc) Acc(std::move(slot.acc));
      slot.acc.~Acc();
    }
    account_.give_back(old.size());
    return true;
  }

  /// Memory for `count` free slots; empty when the account refuses it. Throws std::bad_alloc when the system does, with the account
  /// as it was.
  Pages zeroed(std::size_t count) {
    const std::size_t bytes = count * sizeof(Slot);
    if (!account_.try_take(bytes)) return {};
    try {
      return Pages::zeroed(bytes, account_.context().pages);
    } catch (...) {
      account_.give_back(bytes);
      throw;
    }
  }

  /// memory_ has `count` slots from now on.
  void use_slots(std::size_t count) {
    mask_ = count - 1;
    shift_ = static_cast<unsigned>(64 - std::countr_zero(count));
    max_size_ = most(count);
  }

  /// How many of `slots` slots may be filled. In small tables, where memory is not what costs, a quarter: a key that is not in its
  /// first slot is a branch that was not predicted (a join of tables of 1 MiB became 7 % faster).
  std::size_t most(std::size_t count) const {
    const std::uint64_t bytes = count * sizeof(Slot);
    return count / (!is_part_ && bytes <= kSmall && bytes <= account_.limit() / 8 ? 4 : 2);
  }

  void destroy() {
    odd_.reset();
    if constexpr (!std::is_trivially_destructible_v<Acc>) {
      for_each([](const Key&, Acc& acc) { acc.~Acc(); });
    }
  }

  Account& account_;
  Arena& arena_;
  const bool is_part_;
  Pages memory_;
  std::size_t mask_ = 0;
  std::size_t size_ = 0;      // without odd_
  std::size_t max_size_ = 0;  // grow first
  std::size_t step_ = 2;      // by which it grows next
  unsigned shift_ = 63;
  std::optional<Acc> odd_;
};

}  // namespace weft::runtime
