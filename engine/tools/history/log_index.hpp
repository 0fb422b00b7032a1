// A summary of each job of event logs, and its place in them: so that the logs of a day with many jobs open at once, and one job is
// read from its part of the logs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "engine/master/core/core.hpp"
#include "engine/master/log/log_pieces.hpp"
#include "engine/tools/history/history.hpp"

namespace weft::history {

/// A file as it was when it was indexed.
struct IndexedPiece {
  std::string name;  // LogPiece::name
  bool compressed = false;
  std::uint64_t size = 0;  // of the file
  std::int64_t time = 0;   // it was last written, nanoseconds of the calendar
  std::uint64_t end = 0;   // of the text that was read
  std::uint32_t head = 0;  // checksum of the beginning of the text
  std::uint32_t tail = 0;  // of what lies before `end`; 0 of compressed ones
};

struct IndexPlace {
  std::uint32_t piece = 0;  // in LogIndex::pieces
  std::uint64_t offset = 0;
};

struct IndexedJob {
  master::JobStatus status{};  // without stages, counters and estimates
  IndexPlace first{}, last{};  // its lines lie between
  std::uint32_t run = 0;       // of a master
};

struct LogIndex {
  std::vector<IndexedPiece> pieces{};
  std::vector<EventHistory::Workers> runs = std::vector<EventHistory::Workers>(1);  // the workers of each run of a master
  std::map<std::uint64_t, IndexedJob> jobs{};
  Time now{0};
  IndexPlace resume{};           // where reading goes on: no job that is still running began before
  std::uint32_t resume_run = 0;  // there
};

/// The index of these pieces: `kept` where it is right, brought up to date where the last piece has grown or there are later ones,
/// made again otherwise. `changed` is set when it is not what was kept.
Result<LogIndex> index_of(const std::vector<master::LogPiece>& pieces, std::optional<LogIndex> kept, bool& changed);

/// As a file with a checksum. not_found; corrupt when it is damaged, version_mismatch when another release wrote it.
Result<LogIndex> load_index(const std::string& path);
Result<void> save_index(const std::string& path, const LogIndex& index);

}  // namespace weft::history
