// The journal on disk, for one thread: locked, continued, kept short. A restarted master learns from it which jobs ended and which
// ran, and which ids were given (docs/formats/journal.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "engine/master/journal/journal_fold.hpp"
#include "engine/master/journal/journal_record.hpp"
#include "engine/master/journal/journaled_job.hpp"
#include "engine/master/replication/snapshot.hpp"

namespace weft::master {

struct JournalOptions {
  std::size_t jobs_kept = 1000;                // of those that ended, the latest
  std::uint64_t checkpoint_bytes = 16u << 20;  // a file smaller than this is not rewritten
  std::string cluster{};                       // whose files the master keeps; empty: it keeps none
  bool must_exist = false;                     // that cluster has kept its jobs before: it does not begin without them
};

/// What a master that starts learns of its predecessor.
struct JournalHistory {
  JournalMarks marks;
  std::vector<JobStatus> ended;       // the latest, in the order of their ends
  std::vector<JournaledJob> running;  // by id
  std::vector<NodeSetting> settings;
  std::vector<NodeFact> nodes;  // that were there, by id
  std::uint32_t masters = 0;    // that have had the journal
  std::uint64_t numbering = 0;  // which series of job ids these are; 0: it does not say
};

class JournalFile {
 public:
  /// Locks the file for as long as the object lives, and creates it when there is none. What a crash left at its end is cut off,
  /// with a line in the log, and another says so when a file that is to exist is empty. Errors, each naming the file: unavailable
  /// (another master has it), corrupt (with the offset and what to do), version_mismatch, invalid_argument (it is of another
  /// cluster, or is to exist and does not), io.
  static Result<JournalFile> open(const std::string& path, const JournalOptions& options);

  /// Reads what is kept. Errors of the disk, and records that are no more what they were.
  Result<JournalHistory> history() const;
  /// Appends the records and returns when they are on the disk. Then, when the file has grown too large, makes it short.
  /// resource_exhausted, from a disk that is full: the file is as it was before, and the same records may be tried again. After any
  /// other error the file may end in half a record, and every later call fails.
  Result<void> commit(const std::vector<JournalRecord>& records) { return commit(records, Room::free); }
  /// The same for the first record of a master. There is room for it on a full disk, too: commit() leaves some behind the records.
  Result<void> commit_first(const JournalRecord& record) { return commit({record}, Room::kept); }
  /// The same for records of another journal, as they are in its file: what a later release wrote into them stays. Nothing is
  /// appended when one is wrong.
  Result<void> commit_frames(ByteView frames);
  /// Writes what is still worth knowing to a new file, which takes the old one's place when it is on the disk. A crash at any point
  /// leaves one of the two. When the new file cannot be written the old one is continued, with a line in the log; an error means
  /// that neither can be.
  Result<void> checkpoint();
  /// All records that are in the file now, for a follower. It may be read while the file goes on, and after its end.
  Result<std::unique_ptr<StoreSnapshot>> snapshot() const;
  std::uint64_t size() const { return size_; }

 private:
  JournalFile(Fd fd, std::string path, const JournalOptions& options)
      : fd_(std::move(fd)), path_(std::move(path)), options_(options), fold_(options.jobs_kept) {}
  /// Of the disk: what is free, or also what is kept for the first record of the next master.
  enum class Room : std::uint8_t { free, kept };

  Result<void> check_cluster() const;
  Result<void> read();
  Result<void> commit(const std::vector<JournalRecord>& records, Room room);
  Result<void> append(ByteView bytes, Room room);
  bool reserve(std::uint64_t bytes);
  Error full(const Error& why) const;
  Result<void> shorten_if_large();
  Result<void> take_back(Error why);
  Result<JournalRecord> record_at(Extent where) const;
  JobStatus status_at(Extent where) const;
  Result<JournaledJob> job_at(JobId id, JournalFold::Job job) const;
  Result<std::pair<Fd, JournalFold>> write_beside(const std::string& path) const;
  void schedule_checkpoint();

  Fd fd_;
  std::string path_;
  JournalOptions options_;
  JournalFold fold_;
  std::uint64_t size_ = 0, reserved_ = 0;  // reserved_: up to which the disk has room for it
  std::uint64_t checkpoint_at_ = 0;        // so large a file is rewritten
  bool broken_ = false, old_ = false;      // old_: its header is of an earlier version
  Log log_{"journal"};
};

/// Opens the file for reading and writing, creating it when `create`, and locks it; the lock goes with the descriptor.
Result<Fd> open_locked_journal(const std::string& path, bool create);
/// "FILE is damaged at byte N: …; what to do".
Error damaged_journal(const std::string& path, std::uint64_t offset, Error why);
/// Makes the names in the file's directory durable.
Result<void> sync_directory_of(const std::string& path);

}  // namespace weft::master
