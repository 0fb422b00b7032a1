// Join and aggregation as one would write them by hand for this machine: rows of 32 bytes start with a 64-bit key and a 64-bit
// value; the left values are summed up (modulo 2^64) by the right value modulo 1,000 of each partner, and written as
// "group<TAB>sum". The threads build one table of the right rows together, and stream their parts of the left ones through it,
// looked up some rows after their cache lines were asked for, into sums of their own. No engine, no failure handling: what weft is
// measured against.
//
//   group_join_limit LEFT RIGHT OUTPUT-DIRECTORY [THREADS]
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "benchmarks/limits/files.hpp"
#include "benchmarks/limits/huge_memory.hpp"

namespace limits {
namespace {

constexpr std::size_t kRow = 32, kGroups = 1000;
struct Pair {
  std::uint64_t key, value;
};

/// A file of rows, read in pieces that the second-level cache holds, each by the thread that asks first.
class Rows {
 public:
  explicit Rows(const char* path) : file_(path), size_(file_.size() / kRow) {}
  std::size_t size() const { return size_; }
  template <class Visit>
  void for_each(const Visit& visit) {
    std::vector<char> buffer(kPiece * kRow);
    for (std::size_t begin = next_.fetch_add(kPiece); begin < size_; begin = next_.fetch_add(kPiece)) {
      const std::size_t rows = std::min(kPiece, size_ - begin);
      file_.read(begin * kRow, rows * kRow, buffer.data());
      for (std::size_t i = 0; i < rows; ++i) {
        Pair pair;
        std::memcpy(&pair, buffer.data() + i * kRow, sizeof pair);
        visit(pair);
      }
    }
  }

 private:
  static constexpr std::size_t kPiece = 8192;  // rows
  InputFile file_;
  const std::size_t size_;
  std::atomic<std::size_t> next_{0};
};

/// Rows on their way to what step(row) will look at.
template <class Step>
class Queue {
 public:
  explicit Queue(Step step) : step_(step) {}
  void pass(const Pair& row) {
    Pair& oldest = rows_[count_ % rows_.size()];
    if (count_++ >= rows_.size()) step_(oldest);
    oldest = row;
  }
  void finish() {
    for (std::size_t i = 0; i < std::min(count_, rows_.size()); ++i) step_(rows_[i]);
  }

 private:
  Step step_;
  std::array<Pair, 32> rows_;
  std::size_t count_ = 0;
};

/// The right table: open addressing by the hash's upper bits. A row takes the first free slot from its home on, so that rows of one
/// key follow each other, perhaps with others between them.
class Table {
 public:
  explicit Table(std::size_t rows)
      : bits_(static_cast<int>(std::bit_width(rows)) + 1), slots_((std::size_t{1} << bits_) + kOverhang) {}
  void prefetch(std::uint64_t key) const { __builtin_prefetch(home(key)); }
  void insert(const Pair& row) {
    for (Slot* slot = home(row.key);; ++slot) {
      std::uint64_t free = 0;
      if (slot->taken.load(std::memory_order_relaxed) != 0 || !slot->taken.compare_exchange_strong(free, row.value + 1)) continue;
      slot->key = row.key;
      return;
    }
  }
  template <class Visit>
  void find(std::uint64_t key, const Visit& visit) const {
    for (const Slot* slot = home(key); slot->taken.load(std::memory_order_relaxed) != 0; ++slot)
      if (slot->key == key) visit(slot->taken.load(std::memory_order_relaxed) - 1);
  }

 private:
  struct Slot {
    std::atomic<std::uint64_t> taken;  // the value and one; 0: free
    std::uint64_t key;
  };
  static constexpr std::size_t kOverhang = 4096;  // runs that reach the end go on here

  Slot* home(std::uint64_t key) const { return slots_.data() + (key * 0x9E3779B97F4A7C15ULL >> (64 - bits_)); }
  int bits_;
  HugeArray<Slot> slots_;
};

struct Sum {
  std::uint64_t sum = 0;
  bool met = false;
};

void build(Rows& right, Table& table) {
  Queue queue([&](const Pair& row) { table.insert(row); });
  right.for_each([&](const Pair& row) {
    table.prefetch(row.key);
    queue.pass(row);
  });
  queue.finish();
}

void add(Rows& left, const Table& table, std::vector<Sum>& sums) {
  Queue queue([&](const Pair& row) {
    table.find(row.key, [&](std::uint64_t value) {
      Sum& sum = sums[value % kGroups];
      sum.sum += row.value;
      sum.met = true;
    });
  });
  left.for_each([&](const Pair& row) {
    table.prefetch(row.key);
    queue.pass(row);
  });
  queue.finish();
}

void write(const std::vector<std::vector<Sum>>& sums, const std::string& path) {
  OutputFile output(path);
  for (std::size_t group = 0; group < kGroups; ++group) {
    Sum all;
    for (const auto& of_thread : sums) {
      all.sum += of_thread[group].sum;
      all.met |= of_thread[group].met;
    }
    if (!all.met) continue;
    char* out = output.room(48);
    out = std::to_chars(out, out + 20, group).ptr;
    *out++ = '\t';
    out = std::to_chars(out, out + 20, all.sum).ptr;
    *out++ = '\n';
    output.advance(out);
  }
}

}  // namespace
}  // namespace limits

int main(int argc, char** argv) {
  using namespace limits;
  if (argc < 4) return std::fprintf(stderr, "usage: group_join_limit LEFT RIGHT OUTPUT-DIRECTORY [THREADS]\n"), 2;
  const std::size_t threads = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 2;
  Rows left(argv[1]), right(argv[2]);
  Table table(right.size());
  in_parallel(threads, threads, [&](std::size_t) { build(right, table); });
  std::vector<std::vector<Sum>> sums(threads, std::vector<Sum>(kGroups));
  in_parallel(threads, threads, [&](std::size_t i) { add(left, table, sums[i]); });
  write(sums, part_path(argv[3], 0));
  std::_Exit(0);  // giving memory back page by page would only cost time
}
