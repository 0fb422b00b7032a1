// Where a master writes its event log, and how much of it is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/run_directory.hpp"
#include "engine/master/log/log_archive.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace weft::tools {

struct EventLogOptions {
  std::string file;  // empty: the history that every master keeps; "none": no log
  master::LogRotation rotation;
  // Unset: as the log's place says.
  std::optional<std::uint64_t> keep_bytes;
  std::optional<Duration> keep_age;
};

struct EventLogPlace {
  std::string file;  // empty: none is written
  master::LogRotation rotation;
  std::optional<RunDirectory> temporary;  // that the file is in; it goes when the master ends
};

/// Where a master writes its audit log: the file that was named, or one in `data`. Empty: nowhere. An error names the path that
/// cannot be had.
Result<std::string> audit_log_of(const std::string& file, const std::string& data);
/// How it is rotated, and how much of it is kept.
master::LogRotation audit_rotation();

void add_event_log_options(CLI::App& command, EventLogOptions& options);

/// A file that is named is kept as long as its pieces are fewer than 1,000 and smaller than 4 GiB. The history of a master that
/// keeps `data` (a directory) or `journal` (a file) lies beside them, and has 7 days and 1 GiB at most. Without either it is in a
/// temporary directory, and has 64 MiB. An error names the path that cannot be had.
Result<EventLogPlace> event_log_of(const EventLogOptions& options, const std::string& data, const std::string& journal);

}  // namespace weft::tools
