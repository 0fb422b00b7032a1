// The journal: accepted events in order, enough to bring a core back to where it was. Format: docs/formats/journal.md.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "engine/master/core.hpp"
#include "engine/master/events.hpp"

namespace weft::master {

struct JournalEntry {
  Time at{0};
  Event event;
};

/// The payload of one record.
Buffer encode_event(Time at, const Event& event);
/// corrupt, or version_mismatch for an event this version does not know.
Result<JournalEntry> decode_event(ByteView payload);
/// One line of the event log (JSON, no newline). Result bytes are given by size only.
std::string event_json(Time at, const Event& event);

enum class SyncPolicy : std::uint8_t {
  never = 0,       // the operating system writes when it likes: survives a crash of this process only
  on_request = 1,  // on sync(): group commit is the caller's
  each = 2,        // after every append
};

/// Appends records. One thread. After a failed append the journal is unusable (every later call fails): the file may end in half a
/// record.
class Journal {
 public:
  virtual ~Journal() = default;
  virtual Result<void> append(ByteView payload) = 0;
  virtual Result<void> sync() = 0;
  /// Bytes so far, header included.
  virtual std::uint64_t size() const = 0;
};

/// Appends to `bytes`, which outlives the journal and starts empty or holds a journal.
std::unique_ptr<Journal> memory_journal(std::string& bytes);
/// Creates the file, or continues one: `valid_bytes` is where its good part ends (Recovered::valid_bytes); what follows is cut off.
Result<std::unique_ptr<Journal>> file_journal(const std::string& path, SyncPolicy policy, std::uint64_t valid_bytes);

struct Recovered {
  std::vector<JournalEntry> entries;
  std::uint64_t valid_bytes = 0;       // 0 for an empty journal: even the header is to be written
  std::optional<std::string> warning;  // the last record was cut short, as by a crash: it is left out
};

/// Reads a whole journal. A damaged record or header is corrupt (naming its offset), another version a version_mismatch.
Result<Recovered> read_journal(ByteView bytes);
/// not_found when there is no such file.
Result<Recovered> read_journal_file(const std::string& path);

/// Applies an event and appends it when it was accepted. When the journal fails, that error is returned and `commands` is left as
/// it was, but the core has the event: stop the master, its successor replays.
Result<void> apply_journaled(Core& core, Journal& journal, Time now, Event event, std::vector<Command>& commands);
/// Applies all entries to a fresh core. Commands come out as they did the first time. An entry that is refused is an error: the
/// journal belongs to a core of other options or another version.
Result<void> replay(std::vector<JournalEntry> entries, Core& core, std::vector<Command>& commands);

}  // namespace weft::master
