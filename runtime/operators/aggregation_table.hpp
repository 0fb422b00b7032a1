// The hash table of combiners, reduce tables and joins: open addressing, linear probing, one word per slot (16 bits of the hash
// and the address of the entry). Entries lie in an arena in order of insertion:
//
//   header (key's size and hash, or the number itself) | accumulator | padding to 8 | tail (key bytes)
//
// The table never spills; it says when it is full and its owner decides.
#pragma once

#include <memory>
#include <new>
#include <type_traits>

#include "base/assert.hpp"
#include "base/codec.hpp"
#include "runtime/operators/account.hpp"
#include "runtime/operators/arena.hpp"
#include "runtime/operators/stored_key.hpp"

namespace weft::runtime {

template <class K, class Acc>
class AggregationTable {
  static_assert(std::is_nothrow_move_constructible_v<Acc>, "weft: an accumulator must be movable without throwing");
  static_assert(alignof(Acc) <= Arena::kAlignment, "weft: an accumulator must not need an alignment of more than 8 bytes");

 public:
  using Form = KeyForm<K>;

  explicit AggregationTable(Account& account) : account_(account), arena_(account) {}
  ~AggregationTable() {
    destroy_accumulators();
    give_back_slots();
  }
  AggregationTable(const AggregationTable&) = delete;
  AggregationTable& operator=(const AggregationTable&) = delete;

  typename Form::Ref ref(const K& key) { return Form::ref(key, scratch_); }

  /// found(Acc&) when the key is there, otherwise it is inserted with make(). False, and nothing changed, when memory is refused.
  template <class Found, class Make>
  bool upsert(const typename Form::Ref& key, Found&& found, Make&& make) {
    if (size_ >= max_size_) [[unlikely]] {
      if (std::byte* entry = find_entry(key)) return found(acc_of(entry)), true;
      if (!grow()) return false;
    }
    std::size_t slot = key.hash & mask_;
    const std::uint64_t tag = tag_of(key.hash);
    for (;; slot = (slot + 1) & mask_) {
      const std::uint64_t word = slots_[slot];
      if ((word & kTagMask) == tag && word != 0) [[likely]] {
        std::byte* entry = address(word);
        if (Form::equal(key, entry, tail_of(entry))) [[likely]]
          return found(acc_of(entry)), true;
      } else if (word == 0) {
        return insert(slot, tag, key, make());
      }
    }
  }

  /// Starts loading what upsert() will look at.
  void prefetch_slot(std::uint64_t hash) const { __builtin_prefetch(slots_.get() + (hash & mask_)); }
  /// Worth it only when the slot has arrived.
  void prefetch_entry(std::uint64_t hash) const {
    const std::byte* entry = address(slots_[hash & mask_]);
    __builtin_prefetch(entry);
    __builtin_prefetch(entry + kTail + kShortBytes - 1);  // it may straddle two lines
  }

  /// Null when the key is not there.
  Acc* find(const typename Form::Ref& key) {
    std::byte* entry = find_entry(key);
    return entry == nullptr ? nullptr : &acc_of(entry);
  }

  /// An entry during a walk.
  class Entry {
   public:
    explicit Entry(std::byte* at) : at_(at) {}
    K key() const { return Form::load(at_, tail_of(at_)); }
    std::uint64_t hash() const { return Form::hash(at_, tail_of(at_)); }
    void encode_key(Encoder& out) const { Form::encode(at_, tail_of(at_), out); }
    Acc& acc() const { return acc_of(at_); }

   private:
    std::byte* at_;
  };

  /// Every entry in order of insertion.
  template <class Visit>
  void for_each(Visit&& visit) {
    arena_.for_each_piece([&](std::byte* at, const std::byte* end) {
      while (at != end) {
        std::byte* entry = at;
        at += kTail + Form::stored_tail_bytes(entry);
        visit(Entry(entry));
      }
    });
  }

  /// Forgets everything, keeps the memory.
  void clear() {
    destroy_accumulators();
    arena_.clear();
    if (size_ != 0) std::fill_n(slots_.get(), mask_ + 1, 0);
    size_ = 0;
  }
  /// Forgets everything and gives the memory back.
  void release() {
    destroy_accumulators();
    arena_.release();
    give_back_slots();
    slots_.reset();
    size_ = max_size_ = mask_ = 0;
  }

  std::size_t size() const { return size_; }
  /// What an entry for this key takes.
  static std::size_t entry_bytes(const typename Form::Ref& key) {
    return kTail + Form::tail_bytes(key) + kFirstSlots * sizeof(std::uint64_t);
  }

 private:
  static constexpr std::size_t kTail = (Form::kHeader + sizeof(Acc) + 7) & ~std::size_t{7};
  static constexpr std::size_t kFirstSlots = 8;
  static constexpr std::uint64_t kTagMask = 0xffffULL << 48;

  static std::uint64_t tag_of(std::uint64_t hash) { return (hash << 16) & kTagMask; }  // bits 32 to 47: neither slot nor partition
  static std::byte* address(std::uint64_t word) { return reinterpret_cast<std::byte*>(word & ~kTagMask); }
  static Acc& acc_of(std::byte* entry) { return *std::launder(reinterpret_cast<Acc*>(entry + Form::kHeader)); }
  static std::byte* tail_of(std::byte* entry) { return entry + kTail; }

  std::byte* find_entry(const typename Form::Ref& key) {
    if (size_ == 0) return nullptr;
    const std::uint64_t tag = tag_of(key.hash);
    for (std::size_t slot = key.hash & mask_; slots_[slot] != 0; slot = (slot + 1) & mask_) {
      if ((slots_[slot] & kTagMask) != tag) continue;
      std::byte* entry = address(slots_[slot]);
      if (Form::equal(key, entry, tail_of(entry))) return entry;
    }
    return nullptr;
  }

  bool insert(std::size_t slot, std::uint64_t tag, const typename Form::Ref& key, Acc acc) {
    std::byte* entry = arena_.try_allocate(kTail + Form::tail_bytes(key));
    if (entry == nullptr) return false;
    const auto word = reinterpret_cast<std::uint64_t>(entry);
    WEFT_ASSERT((word & kTagMask) == 0);
    new (entry + Form::kHeader) Acc(std::move(acc));
    Form::store(key, entry, tail_of(entry));
    slots_[slot] = tag | word;
    ++size_;
    return true;
  }

  bool grow() {
    const std::size_t count = slots_ == nullptr ? kFirstSlots : 2 * (mask_ + 1);
    if (!account_.try_take(count * sizeof(std::uint64_t))) return false;
    std::unique_ptr<std::uint64_t[]> grown(new std::uint64_t[count]());
    const std::size_t mask = count - 1;
    for (std::size_t i = 0; size_ != 0 && i <= mask_; ++i) {
      if (slots_[i] == 0) continue;
      std::size_t slot = Form::table_hash(address(slots_[i])) & mask;
      while (grown[slot] != 0) slot = (slot + 1) & mask;
      grown[slot] = slots_[i];
    }
    give_back_slots();
    slots_ = std::move(grown);
    mask_ = mask;
    max_size_ = count / 2;
    return true;
  }

  void give_back_slots() {
    if (slots_ != nullptr) account_.give_back((mask_ + 1) * sizeof(std::uint64_t));
  }

  void destroy_accumulators() {
    if constexpr (!std::is_trivially_destructible_v<Acc>) {
      for_each([](Entry entry) { entry.acc().~Acc(); });
    }
  }

  Account& account_;
  Arena arena_;
  Encoder scratch_;
  std::unique_ptr<std::uint64_t[]> slots_;
  std::size_t mask_ = 0;
  std::size_t size_ = 0;
  std::size_t max_size_ = 0;
};

}  // namespace weft::runtime
