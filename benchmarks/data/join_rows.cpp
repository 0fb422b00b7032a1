// Writes a table for the join benchmarks: rows of 100 bytes, a 64-bit key, a 64-bit value (both little-endian), filler.
//
//   join_rows right KEYS FILE                  one row for each of KEYS keys, which lie anywhere in 64 bits
//   join_rows left KEYS FILE ROWS [HOT]        ROWS rows with keys drawn uniformly from those; HOT: the share (0 to 1) with one
//   same key
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "benchmarks/data/file_writer.hpp"
#include "benchmarks/data/random.hpp"

namespace {

using weft::bench::FileWriter;
using weft::bench::Random;
using weft::bench::scatter;

void write_row(std::uint64_t key, std::uint64_t value, FileWriter& file) {
  constexpr std::size_t kRow = 100;
  char* row = file.room(kRow);
  std::memcpy(row, &key, 8);
  std::memcpy(row + 8, &value, 8);
  std::memset(row + 16, static_cast<int>('a' + value % 26), kRow - 16);
  file.advance(kRow);
}

std::uint64_t key_of(std::uint64_t number) { return scatter(number + 1); }

}  // namespace

int main(int argc, char** argv) {
  const std::string_view table = argc > 1 ? argv[1] : "";
  if (!(table == "right" && argc == 4) && !(table == "left" && argc >= 5))
    return std::fprintf(stderr, "usage: join_rows right KEYS FILE | join_rows left KEYS FILE ROWS [HOT]\n"), 2;
  const auto keys = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
  FileWriter file(argv[3]);
  if (table == "right") {
    for (std::uint32_t i = 0; i < keys; ++i) write_row(key_of(i), scatter(i + 7ULL) % 1'000'000, file);
    return 0;
  }
  const std::uint64_t rows = std::strtoull(argv[4], nullptr, 10);
  const double hot = argc > 5 ? std::strtod(argv[5], nullptr) : 0;
  Random random(1);
  for (std::uint64_t i = 0; i < rows; ++i) {
    const bool is_hot = hot > 0 && random.uniform() < hot;
    write_row(key_of(is_hot ? keys / 2 : random.below(keys)), random.below(1'000'000), file);
  }
  return 0;
}
