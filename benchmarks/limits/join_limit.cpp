// Join and aggregation as one would write them by hand for this machine: rows of 100 bytes start with a 64-bit key and a 64-bit
// value; for each key of both tables the sum of left.value * right.value over the joined rows (modulo 2^64) is written as
// "key<TAB>sum". Each of two threads builds a hash table of the right table and streams its half of the left one through it, adding
// to sums in the table's slots, looked up some rows after their cache lines were asked for. Both tables have the same layout, so
// adding them up is one walk over both. No engine, no failure handling: what weft is measured against.
//
//   join_limit LEFT RIGHT OUTPUT-DIRECTORY [THREADS]
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/limits/files.hpp"
#include "benchmarks/limits/huge_memory.hpp"

namespace limits {
namespace {

constexpr std::size_t kRow = 100;
struct Pair {
  std::uint64_t key, value;
};

/// A file of rows in pieces that the second-level cache holds.
class Rows {
 public:
  explicit Rows(const char* path) : file_(path) {}
  std::size_t size() const { return file_.size() / kRow; }
  std::size_t pieces() const { return (size() + kPiece - 1) / kPiece; }
  template <class Visit>
  void for_each(std::size_t piece, std::vector<char>& buffer, const Visit& visit) const {
    const std::size_t begin = piece * kPiece, rows = std::min(kPiece, size() - begin);
    buffer.resize(kPiece * kRow);
    file_.read(begin * kRow, rows * kRow, buffer.data());
    for (std::size_t i = 0; i < rows; ++i) {
      Pair pair;
      std::memcpy(&pair, buffer.data() + i * kRow, sizeof pair);
      visit(pair);
    }
  }

 private:
  static constexpr std::size_t kPiece = 2600;  // rows
  InputFile file_;
};

/// A right row and the sum over the left rows that met it; two slots to a cache line.
struct Slot {
  std::uint64_t key, value, sum;
  bool used, met;
};
static_assert(sizeof(Slot) == 32);

/// The right table: open addressing by the hash's upper bits. Tables of the same rows are laid out alike.
class Table {
 public:
  explicit Table(const Rows& right)
      : bits_(static_cast<int>(std::bit_width(right.size())) + 1), slots_((std::size_t{1} << bits_) + kOverhang) {
    std::vector<char> buffer;
    Queue queue;
    for (std::size_t piece = 0; piece < right.pieces(); ++piece)
      right.for_each(piece, buffer, [&](const Pair& row) { queue.pass<&Table::insert>(*this, row); });
    queue.finish<&Table::insert>(*this);
  }
  /// Adds the products of the pieces of `left` that no other thread takes.
  void add(const Rows& left, std::atomic<std::size_t>& next_piece) {
    std::vector<char> buffer;
    Queue queue;
    for (std::size_t piece = next_piece++; piece < left.pieces(); piece = next_piece++)
      left.for_each(piece, buffer, [&](const Pair& row) { queue.pass<&Table::meet>(*this, row); });
    queue.finish<&Table::meet>(*this);
  }
  std::size_t size() const { return slots_.size(); }
  const Slot& operator[](std::size_t i) const { return slots_[i]; }

 private:
  static constexpr std::size_t kOverhang = 4096;  // runs that reach the end go on here

  /// Rows on their way to their slots.
  class Queue {
   public:
    template <auto kStep>
    void pass(Table& table, const Pair& row) {
      __builtin_prefetch(table.home(row.key), 1);
      Pair& oldest = rows_[count_ % rows_.size()];
      if (count_++ >= rows_.size()) (table.*kStep)(oldest);
      oldest = row;
    }
    template <auto kStep>
    void finish(Table& table) {
      for (std::size_t i = 0; i < std::min(count_, rows_.size()); ++i) (table.*kStep)(rows_[i]);
    }

   private:
    std::array<Pair, 32> rows_;
    std::size_t count_ = 0;
  };

  Slot* home(std::uint64_t key) const { return slots_.data() + (key * 0x9E3779B97F4A7C15ULL >> (64 - bits_)); }
  /// Right rows of one key add up: the sum over their products is the product with their sum.
  void insert(const Pair& row) {
    Slot* slot = home(row.key);
    while (slot->used && slot->key != row.key) ++slot;
    slot->key = row.key;
    slot->value += row.value;
    slot->used = true;
  }
  void meet(const Pair& left) {
    Slot* slot = home(left.key);
    while (slot->used && slot->key != left.key) ++slot;
    slot->sum += left.value * slot->value;  // nobody looks at the sum of a free slot
    slot->met = true;
  }
  int bits_;
  HugeArray<Slot> slots_;
};

void write_slots(std::size_t begin, std::size_t end, const std::vector<std::unique_ptr<Table>>& tables, const std::string& path) {
  OutputFile output(path);
  for (std::size_t i = begin; i < end; ++i) {
    const Slot& slot = (*tables[0])[i];
    if (!slot.used) continue;
    bool met = false;
    std::uint64_t sum = 0;
    for (const auto& table : tables) {
      met |= (*table)[i].met;
      sum += (*table)[i].sum;
    }
    if (!met) continue;
    char* out = output.room(48);
    out = std::to_chars(out, out + 20, slot.key).ptr;
    *out++ = '\t';
    out = std::to_chars(out, out + 20, sum).ptr;
    *out++ = '\n';
    output.advance(out);
  }
}

}  // namespace
}  // namespace limits

int main(int argc, char** argv) {
  using namespace limits;
  if (argc < 4) return std::fprintf(stderr, "usage: join_limit LEFT RIGHT OUTPUT-DIRECTORY [THREADS]\n"), 2;
  const std::size_t threads = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 2;
  const Rows left(argv[1]), right(argv[2]);
  std::vector<std::unique_ptr<Table>> tables(threads);
  std::atomic<std::size_t> next_piece{0};
  in_parallel(threads, threads, [&](std::size_t i) {
    tables[i] = std::make_unique<Table>(right);
    tables[i]->add(left, next_piece);
  });
  in_parallel(threads, threads, [&](std::size_t i) {
    const std::size_t size = tables[0]->size();
    write_slots(size * i / threads, size * (i + 1) / threads, tables, part_path(argv[3], i));
  });
  std::_Exit(0);  // giving memory back page by page would only cost time
}
