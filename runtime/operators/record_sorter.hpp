// The machinery below ExternalSorter, Grouper and Joiner: encoded records with 8-byte prefixes are sorted in memory, spilled as
// sorted runs when memory is refused, and merged. Stable.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/operators/account.hpp"
#include "runtime/operators/arena.hpp"
#include "runtime/operators/run_merger.hpp"
#include "runtime/operators/sort_entries.hpp"
#include "runtime/operators/sort_entry.hpp"
#include "runtime/operators/spill.hpp"

namespace weft::runtime {

/// `Order` has kPrefixDecides, prefix(ByteView) and less(ByteView, ByteView) for records of equal prefix.
template <class Order>
class RecordSorter {
 public:
  RecordSorter(OperatorContext& context, const char* operator_name, Order order)
      : account_(context, operator_name), arena_(account_), order_(std::move(order)), poll_(context) {}
  ~RecordSorter() { release_memory(); }
  RecordSorter(const RecordSorter&) = delete;
  RecordSorter& operator=(const RecordSorter&) = delete;

  /// Where to encode one record; end() follows.
  Encoder& begin() {
    scratch_.clear();
    return scratch_;
  }
  void end(std::uint64_t prefix) { add(prefix, scratch_.view()); }

  /// Copies the record.
  void add(std::uint64_t prefix, ByteView record) {
    // Where spilling is not enough, the last owner goes, too: none of its records follow one that is copied.
    add_with([&] { return store(prefix, record); }, record, [this] { release_memory(); });
  }

  /// True: records that `owner` keeps alive may be added by add_borrowed() until the next call. Its `cost` is taken from the grant
  /// for as long as it is held. False (always without an owner): they must be copied.
  bool borrow(const std::shared_ptr<const void>& owner, std::uint64_t cost) {
    if (!owner) return false;
    if (!owners_.empty() && owners_.back().keep == owner) return true;
    if (owners_.size() >= kMostOwners || cost > account_.limit() / 2 || !account_.try_take(cost)) return false;
    owners_.push_back({owner, cost});
    return true;
  }
  /// Refers to the record where it is.
  void add_borrowed(std::uint64_t prefix, ByteView record) {
    add_with([&] { return refer(prefix, record); }, record, [this] { release_entries(); });
  }

  /// Writes what is in memory as a run and frees the memory.
  void spill_all() {
    spill();
    release_memory();
  }

  /// Ends adding.
  void finish() {
    if (runs_.empty()) {
      sort();
      return;
    }
    spill_all();
    while (runs_.size() > fan_in()) merge_pass();
    merger_.emplace(*file_, std::move(runs_), order_);
  }

  /// After finish(): goes to the next record in order; false at the end, as often as it is asked. The record is valid until the
  /// next call.
  bool next() {
    poll_();
    if (merger_) return merger_->next();
    prefetch(position_ + kAhead);
    return ++position_ <= entries_.size();
  }
  ByteView record() const { return merger_ ? merger_->record() : entries_[position_ - 1].record(); }
  std::uint64_t prefix() const { return merger_ ? merger_->prefix() : entries_[position_ - 1].prefix; }
  Order& order() { return order_; }

 private:
  static constexpr std::size_t kFirstEntries = 8;
  static constexpr std::size_t kMostOwners = 4096;  // each may be a mapping and a descriptor
  static constexpr std::size_t kAhead = 16;         // sorted records are anywhere in memory: fetched this long before they are used

  struct Owner {
    std::shared_ptr<const void> keep;
    std::uint64_t cost;
  };

  template <class Store, class Release>
  void add_with(Store&& stored, ByteView record, Release&& release) {
    poll_();
    if (stored()) [[likely]]
      return;
    spill();
    if (stored()) return;
    release();  // perhaps the kept chunks are in the way
    if (!stored()) account_.exhausted(record.size() + 3 * kFirstEntries * sizeof(SortEntry));
  }

  bool room_for_entry() { return entries_.size() < entries_.capacity() || grow_entries(); }

  bool store(std::uint64_t prefix, ByteView record) {
    if (record.size() > UINT32_MAX || !room_for_entry()) return false;
    const bool is_long = record.size() >= SortEntry::kLong;
    std::byte* stored = arena_.try_allocate(record.size() + (is_long ? sizeof(LongRecord) : 0));
    if (stored == nullptr) return false;
    std::byte* bytes = is_long ? stored + sizeof(LongRecord) : stored;
    if (!record.empty()) std::memcpy(bytes, record.data(), record.size());
    enter(prefix, is_long ? stored : nullptr, {bytes, record.size()});
    return true;
  }

  bool refer(std::uint64_t prefix, ByteView record) {
    if (record.size() > UINT32_MAX || !room_for_entry()) return false;
    std::byte* header = nullptr;
    if (record.size() >= SortEntry::kLong) {
      header = arena_.try_allocate(sizeof(LongRecord));
      if (header == nullptr) return false;
    }
    enter(prefix, header, record);
    return true;
  }

  void enter(std::uint64_t prefix, std::byte* long_header, ByteView record) {
    if (long_header != nullptr) [[unlikely]] {
      const LongRecord header{record.data(), record.size()};
      std::memcpy(long_header, &header, sizeof header);
      entries_.push(SortEntry::of(prefix, long_header, SortEntry::kLong));
    } else {
      entries_.push(SortEntry::of(prefix, record.data(), record.size()));
    }
  }

  /// Twice the entries, or a little more when there is no memory for that. The sort needs as much again.
  bool grow_entries() {
    const std::size_t now = entries_.capacity();
    for (const std::size_t wanted : {std::max(2 * now, kFirstEntries), now + now / 4}) {
      if (wanted <= now || !account_.try_take(2 * (wanted - now) * sizeof(SortEntry))) continue;
      entries_.reserve(wanted);
      taken_ += 2 * (wanted - now) * sizeof(SortEntry);
      return true;
    }
    return false;
  }

  void sort() {
    poll_.now();
    if (entries_.size() < 2) return;
    const std::unique_ptr<SortEntry[]> scratch(new SortEntry[entries_.size()]);
    sort_entries<Order::kPrefixDecides>(entries_.data(), scratch.get(), entries_.size(),
                                        [&](const SortEntry& a, const SortEntry& b) {
                                          poll_();
                                          return order_.less(a.record(), b.record());
                                        });
    if constexpr (requires { Order::kUserDefined; }) check_order();
  }

  /// A comparator of the user's that contradicts itself is found out by neighbours, not by how records were compared before.
  void check_order() {
    if (!Order::kUserDefined) return;
    for (std::size_t i = 1; i < entries_.size(); ++i) {
      const SortEntry& before = entries_[i - 1];
      const SortEntry& after = entries_[i];
      if (before.prefix == after.prefix && order_.less(after.record(), before.record())) account_.contradiction();
    }
  }

  /// Inlined by force: GCC takes a function that only prefetches for one without effect, and drops the calls.
  [[gnu::always_inline]] void prefetch(std::size_t position) const {
    if (position >= entries_.size()) return;
    const std::byte* record = entries_[position].address();
    __builtin_prefetch(record);
    __builtin_prefetch(record + 64);
    __builtin_prefetch(record + 128);
  }

  void spill() {
    if (entries_.empty()) return;
    sort();
    if (!file_) file_ = std::make_unique<SpillFile>(account_);
    SpillWriter writer(*file_, account_.block_bytes());
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      prefetch(i + kAhead);
      writer.write(entries_[i].record());
    }
    runs_.push_back(writer.finish());
    entries_.clear();
    arena_.clear();
    if (owners_.size() > 1) drop_owners(owners_.size() - 1);  // more records of the last one may follow
  }

  void release_entries() {
    arena_.release();
    entries_.release();
    account_.give_back(std::exchange(taken_, 0));
  }
  void release_memory() {
    release_entries();
    drop_owners(owners_.size());
  }
  void drop_owners(std::size_t count) {
    const auto end = owners_.begin() + static_cast<std::ptrdiff_t>(count);
    for (auto owner = owners_.begin(); owner != end; ++owner) account_.give_back(owner->cost);
    owners_.erase(owners_.begin(), end);
  }

  /// Each run that is read holds a block.
  std::size_t fan_in() const {
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(account_.limit() / account_.block_bytes() / 2, 2, 256));
  }

  /// Merges neighbouring runs, so that equal records stay in order.
  void merge_pass() {
    auto merged_file = std::make_unique<SpillFile>(account_);
    std::vector<SpillRun> merged;
    for (std::size_t low = 0; low < runs_.size(); low += fan_in()) {
      const std::size_t high = std::min(low + fan_in(), runs_.size());
      std::vector<SpillRun> group(std::make_move_iterator(runs_.begin() + static_cast<std::ptrdiff_t>(low)),
                                  std::make_move_iterator(runs_.begin() + static_cast<std::ptrdiff_t>(high)));
      RunMerger<Order> merger(*file_, std::move(group), order_);
      SpillWriter writer(*merged_file, account_.block_bytes());
      while (merger.next()) {
        poll_();
        writer.write(merger.record());
      }
      merged.push_back(writer.finish());
    }
    runs_ = std::move(merged);
    file_ = std::move(merged_file);
  }

  Account account_;
  Arena arena_;
  Order order_;
  StopPoll poll_;
  Encoder scratch_;
  SortEntries entries_;
  std::uint64_t taken_ = 0;  // for entries_
  std::vector<Owner> owners_;
  std::unique_ptr<SpillFile> file_;
  std::vector<SpillRun> runs_;
  std::optional<RunMerger<Order>> merger_;
  std::size_t position_ = 0;
};

}  // namespace weft::runtime
