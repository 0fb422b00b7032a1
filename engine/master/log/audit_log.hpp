// The audit log: requests, the users who made them, and how they ended, a line of JSON each (docs/security.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "engine/master/log/log_archive.hpp"

namespace weft::master {

/// One request.
struct AuditEntry {
  std::string user{};         // empty: a process of the cluster, or somebody of whom nothing is known
  std::string peer{};         // where he asked from
  std::string_view action{};  // "kill"
  std::optional<JobId> job{};
  std::string owner{};      // of the job or the file
  std::string object{};     // the path, table, worker, …
  std::string error{};      // why it was refused or failed; empty: it was done
  std::uint64_t times = 1;  // how many requests of one peer the line is for: of refusals that are repeated, the last is written
};

/// The line, without its end. `unix_ms`: since 1970.
std::string audit_json(std::int64_t unix_ms, const AuditEntry& entry);

/// Any thread.
class AuditLog {
 public:
  /// Continues the file when it exists. Errors: LogFile::open().
  static Result<std::unique_ptr<AuditLog>> open(const std::string& path, const LogRotation& rotation = {});
  /// Writes what was noted.
  virtual ~AuditLog() = default;

  /// Never blocks: lines are written by a thread of its own. Lines that the disk does not take, and those for which more wait than
  /// a bound allows, are lost; when there is room again, a line says how many.
  virtual void note(AuditEntry entry) = 0;
  /// Waits until what was noted is written, or lost.
  virtual void settle() = 0;
};

}  // namespace weft::master
