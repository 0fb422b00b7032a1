// Writes a table for the join benchmarks: rows of BYTES bytes (16 at least), a 64-bit key, a 64-bit value (both little-endian),
// filler.
//
//   join_rows BYTES right KEYS FILE            one row for each of KEYS keys, which lie anywhere in 64 bits
//   join_rows BYTES left KEYS FILE ROWS [HOT]  ROWS rows with keys drawn uniformly from those; HOT: the share (0 to 1) with one
//                                              same key
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

void write_row(std::size_t bytes, std::uint64_t key, std::uint64_t value, FileWriter& file) {
  char* row = file.room(bytes);
  std::memcpy(row, &key, 8);
  std::memcpy(row + 8, &value, 8);
  std::memset(row + 16, static_cast<int>('a' + value % 26), bytes - 16);
  file.advance(bytes);
}

std::uint64_t key_of(std::uint64_t number) { return scatter(number + 1); }

}  // namespace

int main(int argc, char** argv) {
  const std::size_t bytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 0;
  const std::string_view table = argc > 2 ? argv[2] : "";
  if (bytes < 16 || !((table == "right" && argc == 5) || (table == "left" && argc >= 6)))
    return std::fprintf(stderr, "usage: join_rows BYTES right KEYS FILE | join_rows BYTES left KEYS FILE ROWS [HOT]\n"), 2;
  const auto keys = static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10));
  FileWriter file(argv[4]);
  if (table == "right") {
    for (std::uint32_t i = 0; i < keys; ++i) write_row(bytes, key_of(i), scatter(i + 7ULL) % 1'000'000, file);
    return 0;
  }
  const std::uint64_t rows = std::strtoull(argv[5], nullptr, 10);
  const double hot = argc > 6 ? std::strtod(argv[6], nullptr) : 0;
  Random random(1);
  for (std::uint64_t i = 0; i < rows; ++i) {
    const bool is_hot = hot > 0 && random.uniform() < hot;
    write_row(bytes, key_of(is_hot ? keys / 2 : random.below(keys)), random.below(1'000'000), file);
  }
  return 0;
}
