// Looks at a journal that no master runs with, and cuts off what is damaged (weft journal check|repair).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "engine/master/journal/journal_record.hpp"

namespace weft::master {

/// What lies behind the first damaged record of a journal.
struct JournalDamage {
  std::string what;           // in words
  std::uint64_t records = 0;  // whole ones that lie behind the damage
  std::uint64_t bytes = 0;    // of these
  std::set<JobId> jobs;       // that they are of
  JournalMarks marks;         // the latest of them
};

struct JournalReport {
  std::uint64_t bytes = 0, whole_bytes = 0;  // of the file; of these, up to where all is well
  std::uint64_t records = 0;                 // whole ones, up to there
  bool checkpoint = false;                   // it begins with one
  JournalMarks marks;
  std::set<JobId> ended, running;
  std::string cluster;          // whose files the master keeps; empty: it does not say
  std::uint64_t numbering = 0;  // which series of job ids these are; 0: it does not say

  /// At byte whole_bytes. Without it, what follows whole_bytes is what a crash leaves, and the next master cuts it off.
  std::optional<JournalDamage> damage;
};

/// Errors: no such file, no journal at all, another version, not readable. Damage behind the header is no error.
Result<JournalReport> check_journal(const std::string& path);

/// Every whole record and its offset, in order, up to the first damage, which is the error. A master may be writing to it.
Result<void> read_journal(const std::string& path,
                          const std::function<void(std::uint64_t offset, const JournalRecord& record)>& see);

/// Of the first record that says whose files the master keeps; empty when there is no such file or none says that. Errors are those
/// of read_journal() before that record.
Result<std::string> cluster_of_journal(const std::string& path);

struct JournalRepair {
  JournalReport before;
  std::string copy;  // of the file as it was; empty: there was no damage, and nothing was done
};
/// Cuts the file at its damage, after copying it to FILE.damaged (with a number when there is one). Ids that records behind the
/// damage tell of stay given. Code::unavailable while a master has the journal.
Result<JournalRepair> repair_journal(const std::string& path);

}  // namespace weft::master
