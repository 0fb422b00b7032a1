// Tables that the tasks of a process build together, once, and then read together: the sides of joins that every task needs whole.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "runtime/operators/memory.hpp"

namespace weft::runtime {

/// What a table is made of, as far as it is known.
struct SharedInput {
  std::uint32_t maps = 0;   // that wrote it; 0: not known
  std::uint64_t bytes = 0;  // about
};

/// A table that several tasks build together. Its input, the outputs of maps, comes in pieces, and each task takes another piece
/// while there are some. Any thread.
class SharedTable {
 public:
  /// Adjacent maps.
  struct Piece {
    std::uint32_t first_map = 0;
    std::uint32_t end_map = UINT32_MAX;
  };
  enum class State : std::uint8_t {
    building,
    complete,
    refused,  // it needs more memory than there is: each task is to do without
    spoiled,  // a task that built it has failed: another table is to be built
  };

  explicit SharedTable(const SharedInput& input)
      : maps_(input.maps),
        pieces_(maps_ == 0            ? 1
                : maps_ < kMostPieces ? maps_
                                      : kMostPieces) {}
  virtual ~SharedTable() = default;
  SharedTable(const SharedTable&) = delete;
  SharedTable& operator=(const SharedTable&) = delete;

  /// A piece that the caller is to add, then to report by added() or spoil(). Nothing: there is none left, and those of the other
  /// tasks have been added, or the table is given up; it waits for that. Throws TaskCancelled when `context` is asked to stop
  /// meanwhile.
  std::optional<Piece> claim(const OperatorContext& context);
  void added() { end_piece(State::building); }
  void refuse() { give_up(State::refused); }
  /// Instead of added().
  void spoil() { end_piece(State::spoiled); }
  State state() const { return state_.load(std::memory_order_acquire); }

 private:
  /// The table was given up, and nobody adds to it any more.
  virtual void release() = 0;

  static constexpr std::uint32_t kMostPieces = 64;

  void give_up(State why);
  void end_piece(State why);
  Piece piece(std::uint32_t number) const;

  const std::uint32_t maps_, pieces_;
  std::atomic<State> state_{State::building};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint32_t claimed_ = 0;
  std::uint32_t active_ = 0;  // pieces that are being added
};

/// The tables of a process. Any thread.
class SharedTables {
 public:
  struct Key {
    StageId stage;                    // that reads the table
    ShuffleId input;                  // that it is made of
    std::uint32_t first_attempt = 0;  // attempts with smaller numbers may have read other records of it
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  /// Tables take half of `task_memory`, what all tasks of the process may hold, at most. Each of the `slots` tasks of a time is to
  /// count its part of that as its own (TableShare). `pages` outlives it.
  SharedTables(std::uint64_t task_memory, std::uint32_t slots, PagePool& pages)
      : pool_(task_memory / 2), slots_(slots == 0 ? 1 : slots), pages_(pages) {}

  /// The table of that key, made when there is none, or only a spoiled one.
  using Make = std::unique_ptr<SharedTable> (*)(MemoryPool& pool, PagePool& pages, const SharedInput& input);
  std::shared_ptr<SharedTable> get(const Key& key, const SharedInput& input, Make make);
  /// A task begins: tables of other stages, and of attempts that count no more, are dropped when no task reads them now.
  void begin(StageId stage, std::uint32_t first_attempt);

  std::uint64_t limit_bytes() const { return pool_.limit(); }
  std::uint32_t slots() const { return slots_; }

 private:
  MemoryPool pool_;
  const std::uint32_t slots_;
  PagePool& pages_;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<SharedTable>> tables_;
};

/// Encoded records on their way to the parts of a table, a batch at a time. Refers to their bytes.
class WaitingRecords {
 public:
  explicit WaitingRecords(std::size_t parts) : batches_(parts) {}
  /// True: the batch is full, take() must be called.
  bool add(std::size_t part, ByteView record) {
    Batch& batch = batches_[part];
    batch.records[batch.count++] = record;
    return batch.count == kBatch;
  }
  /// Valid until the next add().
  std::span<const ByteView> take(std::size_t part) {
    return {batches_[part].records.data(), std::exchange(batches_[part].count, 0)};
  }

 private:
  static constexpr std::size_t kBatch = 32;
  struct Batch {
    std::array<ByteView, kBatch> records;
    std::size_t count = 0;
  };
  std::vector<Batch> batches_;
};

/// A task's part of a table that it reads, in its grant.
class TableShare {
 public:
  TableShare(OperatorContext& context, std::uint64_t table_bytes);
  ~TableShare() { memory_.give_back(bytes_); }
  TableShare(const TableShare&) = delete;
  TableShare& operator=(const TableShare&) = delete;

 private:
  MemoryGrant& memory_;
  std::uint64_t bytes_;
};

}  // namespace weft::runtime
