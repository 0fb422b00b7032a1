// The files of an event log that is rotated: FILE.000001.zst, FILE.000002, … and FILE itself, which is written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace weft::master {

struct LogPiece {
  std::string path;
  std::string name;          // without directory and .zst; for the one that is written, its future name, "FILE.000003"
  std::uint32_t number = 1;  // they are numbered in the order in which they were written
  bool live = false;         // FILE itself
  bool compressed = false;
};

/// "FILE.000003".
std::string rotated_name(const std::string& log, std::uint32_t number);

/// The pieces of the log that is written to the file `log`, the oldest first. If a piece exists twice, the compressed one counts.
/// not_found when there is none.
Result<std::vector<LogPiece>> pieces_of(const std::string& log);
/// The pieces of all logs in a directory, in the order of the logs' names.
Result<std::vector<LogPiece>> pieces_in(const std::string& directory);
/// pieces_in() of a directory, pieces_of() of anything else.
Result<std::vector<LogPiece>> all_pieces(const std::string& path);

}  // namespace weft::master
