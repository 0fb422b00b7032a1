// What an output says, whatever the order and the files its parts come in.
#pragma once

#include <cstdint>
#include <string>

namespace weft::bench {

struct Digest {
  std::uint64_t records = 0;
  std::uint64_t checksum = 0;  // sum of the records' hashes
  std::uint64_t bytes = 0;
  bool operator==(const Digest&) const = default;
};

/// Of the lines of all files in the directory; names that begin with '.' or '_' are left out.
Digest digest_lines(const std::string& directory);

/// Of records of 100 bytes; `in_order` says whether their first ten bytes never decrease from file to file by name.
Digest digest_sorted(const std::string& directory, bool& in_order);

}  // namespace weft::bench
