// Writes records of 100 bytes with random printable keys of ten, like the ASCII records of the sort benchmark, into one file.
//
//   tera_records RECORDS FILE [SEED]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "benchmarks/data/file_writer.hpp"
#include "benchmarks/data/random.hpp"

namespace {

constexpr std::size_t kRecord = 100, kKey = 10;
using weft::bench::Random;

void make_record(std::uint64_t index, Random& random, char* record) {
  for (std::size_t i = 0; i < kKey; ++i) record[i] = static_cast<char>(' ' + random.below(95));
  std::uint64_t rest = index;
  for (std::size_t i = kKey + 32; i > kKey; rest /= 16) record[--i] = "0123456789ABCDEF"[rest % 16];
  std::memset(record + kKey + 32, static_cast<int>('A' + index % 26), kRecord - kKey - 32);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: tera_records RECORDS FILE [SEED]\n"), 2;
  const std::uint64_t records = std::strtoull(argv[1], nullptr, 10);
  Random random(argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
  weft::bench::FileWriter file(argv[2]);
  for (std::uint64_t i = 0; i < records; ++i) {
    make_record(i, random, file.room(kRecord));
    file.advance(kRecord);
  }
  return 0;
}
