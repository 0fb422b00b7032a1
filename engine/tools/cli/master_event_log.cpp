#include "engine/tools/cli/master_event_log.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/named_file.hpp"
#include "base/private_directory.hpp"
#include "base/text.hpp"
#include "engine/tools/cli/command.hpp"

namespace weft::tools {

namespace {

constexpr const char* kNone = "none";
constexpr std::uint64_t kHistoryBytes = 1ull << 30;
constexpr Duration kHistoryAge = std::chrono::hours(24 * 7);
constexpr std::uint64_t kAuditPiece = 64u << 20;
constexpr Duration kAuditAge = std::chrono::hours(24 * 90);
constexpr std::uint64_t kTemporaryBytes = 64u << 20, kTemporaryPiece = 16u << 20;

/// A directory for the history that ends with the master.
Result<EventLogPlace> temporary_place(master::LogRotation rotation) {
  WEFT_ASSIGN(RunDirectory made, RunDirectory::create("master"));
  std::string file = made.path() / "events";
  rotation.bytes = std::min(rotation.bytes == 0 ? kTemporaryPiece : rotation.bytes, kTemporaryPiece);
  rotation.keep_bytes = kTemporaryBytes;
  rotation.compress = false;  // which costs more than the room is worth
  return EventLogPlace{std::move(file), rotation, std::move(made)};
}

Result<EventLogPlace> history_in(const std::string& directory, master::LogRotation rotation) {
  WEFT_TRY(make_private_directory(directory));
  rotation.keep_bytes = kHistoryBytes;
  rotation.keep_age = kHistoryAge;
  return EventLogPlace{directory + "/events", rotation, std::nullopt};
}

Result<EventLogPlace> place_of(const EventLogOptions& options, const std::string& data, const std::string& journal) {
  if (options.file == kNone) return EventLogPlace{};
  if (!options.file.empty()) {
    auto file = replaceable_file(options.file);  // where its pieces are, for all readers
    if (!file) return fail(std::move(file).error().wrap("cannot open the event log"));
    return EventLogPlace{file->value_or(options.file), options.rotation, std::nullopt};
  }
  if (!data.empty()) return history_in(data + "/history", options.rotation);
  if (!journal.empty()) return history_in(journal + ".history", options.rotation);
  return temporary_place(options.rotation);
}

}  // namespace

Result<std::string> audit_log_of(const std::string& file, const std::string& data) {
  if (file == kNone || (file.empty() && data.empty())) return std::string();
  if (!file.empty()) return file;
  WEFT_TRY(make_private_directory(data + "/audit"));
  return data + "/audit/requests";
}

master::LogRotation audit_rotation() { return {.bytes = kAuditPiece, .keep_bytes = kHistoryBytes, .keep_age = kAuditAge}; }

Result<EventLogPlace> event_log_of(const EventLogOptions& options, const std::string& data, const std::string& journal) {
  WEFT_ASSIGN(EventLogPlace place, place_of(options, data, journal));
  place.rotation.keep_bytes = options.keep_bytes.value_or(place.rotation.keep_bytes);
  place.rotation.keep_age = options.keep_age.value_or(place.rotation.keep_age);
  return place;
}

void add_event_log_options(CLI::App& command, EventLogOptions& options) {
  master::LogRotation& rotation = options.rotation;
  add_value(command, "--event-log", options.file, "FILE|none",
            "File of events as JSON lines, from which the page and `weft job` show tasks and findings; continued when it exists\n"
            "(default: `history/events` in the data directory, else in the journal's name and .history, else a temporary file)");
  add_size_option(command, "--event-log-size", rotation.bytes,
                  "An event log that has grown to this is renamed to FILE.000001 and so on, compressed, and another is begun;\n"
                  "0: never (default: 256MiB)");
  add_duration_option(command, "--event-log-period", rotation.period, Zero::allowed,
                      "So is one in which the day of UTC changes, or whatever period is given; 0s: never (default: 24h)");
  add_value(command, "--event-log-keep", rotation.keep, "COUNT", "How many renamed event logs are kept; 0: all (default: 1000)");
  add_parsed(command, "--event-log-keep-size", options.keep_bytes, "SIZE", parse_size,
             "How much of the event log is kept, the oldest files go first; 0: all (default: 1GiB, 4GiB of a FILE that is\n"
             "named, 64MiB of a temporary one)");
  add_parsed(command, "--event-log-keep-age", options.keep_age, "TIME", parse_duration,
             "How long renamed event logs are kept; 0s: forever (default: 168h; forever for a FILE that is named)");
}

}  // namespace weft::tools
