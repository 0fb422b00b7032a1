// The records that group_by shuffles, and what must come out whatever way they took.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/hash.hpp"
#include "benchmarks/data/random.hpp"

namespace weft::bench {

using Record = std::pair<std::uint64_t, std::string>;

/// Record number `index`: a scattered key that about four records share, and a value that does not compress.
inline Record make_record(std::uint64_t index, std::uint64_t records, std::size_t value_bytes) {
  Record record{scatter(scatter(index) % (records / 4 + 1)), std::string(value_bytes, '\0')};
  Random random(index);
  for (std::size_t at = 0; at < value_bytes; at += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(record.second.data() + at, &word, std::min<std::size_t>(8, value_bytes - at));
  }
  return record;
}

/// The key for a second shuffle: that of the first, but of `strays` in a hundred keys another one.
inline std::uint64_t second_key(std::uint64_t key, std::uint32_t strays) {
  const std::uint64_t scattered = scatter(key);
  return scattered % 100 < strays ? scattered : key;
}

/// A sum over records, hence the same in any order; and how many groups they were in.
struct Digest {
  std::uint64_t groups = 0, records = 0, sum = 0;

  void add(std::uint64_t key, std::string_view value) {
    ++records;
    sum += hash_combine(key, hash64(value));
  }
  void add(const Digest& other) { groups += other.groups, records += other.records, sum += other.sum; }
};

/// As group_by prints it.
inline std::string to_string(const Digest& digest) {
  return std::to_string(digest.groups) + " groups, " + std::to_string(digest.records) + " records, sum " +
         std::to_string(digest.sum);
}

}  // namespace weft::bench
