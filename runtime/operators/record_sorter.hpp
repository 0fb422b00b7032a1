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
  void end(std::uint64_t prefix) {
    poll_();
    const ByteView record = scratch_.view();
    if (store(prefix, record)) [[likely]]
      return;
    spill();
    if (store(prefix, record)) return;
    release_memory();  // perhaps the kept chunks are in the way
    if (!store(prefix, record)) account_.exhausted(record.size() + 3 * kFirstEntries * sizeof(SortEntry));
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

  /// After finish(): goes to the next record in order; false at the end. The record is valid until the next call.
  bool next() {
    poll_();
    if (merger_) return merger_->next();
    return ++position_ <= entries_.size();
  }
  ByteView record() const { return merger_ ? merger_->record() : bytes_of(entries_[position_ - 1]); }
  std::uint64_t prefix() const { return merger_ ? merger_->prefix() : entries_[position_ - 1].prefix; }
  Order& order() { return order_; }

 private:
  static constexpr std::size_t kFirstEntries = 8;

  static ByteView bytes_of(const SortEntry& entry) {
    std::uint32_t size;
    std::memcpy(&size, entry.record, sizeof size);
    return {entry.record + sizeof size, size};
  }

  bool store(std::uint64_t prefix, ByteView record) {
    if (record.size() > UINT32_MAX) return false;
    if (entries_.size() == entries_.capacity() && !grow_entries()) return false;
    std::byte* stored = arena_.try_allocate(sizeof(std::uint32_t) + record.size());
    if (stored == nullptr) return false;
    const auto size = static_cast<std::uint32_t>(record.size());
    std::memcpy(stored, &size, sizeof size);
    if (size != 0) std::memcpy(stored + sizeof size, record.data(), size);
    entries_.push_back({prefix, stored});
    return true;
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
    sort_entries(entries_.data(), scratch.get(), entries_.size(), Order::kPrefixDecides,
                 [&](const SortEntry& a, const SortEntry& b) {
                   poll_();
                   return order_.less(bytes_of(a), bytes_of(b));
                 });
  }

  void spill() {
    if (entries_.empty()) return;
    sort();
    if (!file_) file_ = std::make_unique<SpillFile>(account_.context());
    SpillWriter writer(*file_, account_.block_bytes());
    for (const SortEntry& entry : entries_) writer.write(bytes_of(entry));
    runs_.push_back(writer.finish());
    entries_.clear();
    arena_.clear();
  }

  void release_memory() {
    arena_.release();
    entries_ = std::vector<SortEntry>();
    account_.give_back(std::exchange(taken_, 0));
  }

  /// Each run that is read holds a block.
  std::size_t fan_in() const {
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(account_.limit() / account_.block_bytes() / 2, 2, 256));
  }

  /// Merges neighbouring runs, so that equal records stay in order.
  void merge_pass() {
    auto merged_file = std::make_unique<SpillFile>(account_.context());
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
  std::vector<SortEntry> entries_;
  std::uint64_t taken_ = 0;  // for entries_
  std::unique_ptr<SpillFile> file_;
  std::vector<SpillRun> runs_;
  std::optional<RunMerger<Order>> merger_;
  std::size_t position_ = 0;
};

}  // namespace weft::runtime
