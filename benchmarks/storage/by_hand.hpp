// What storage_bench measures weft against: the same bytes without weft.
#pragma once

#include <string>

#include "base/result.hpp"

namespace weft::bench {

/// Maps the file and computes the CRC32C of each 64 KiB of it.
Result<void> map_and_sum(const std::string& path);

/// Writes three files below `directory` as a careful program would: all bytes, fsync, rename, fsync of the folder.
Result<void> write_three(const std::string& directory, unsigned number, const std::string& content);

/// Sends the file `times` times to the first that connects; prints the port first.
int send_bare(const char* path, int times);
/// Seconds from the connection to the last of `bytes`; negative when they do not come.
double receive_all(unsigned short port, std::size_t bytes);

}  // namespace weft::bench
