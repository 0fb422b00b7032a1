// The journal on disk, for one thread: locked, continued, kept short. A restarted master learns from it which jobs ended and which
// ran, and which ids were given (docs/formats/journal.md).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "engine/master/journal/journal_record.hpp"

namespace weft::master {

struct JournalOptions {
  std::size_t jobs_kept = 1000;                // of those that ended, the latest
  std::uint64_t checkpoint_bytes = 16u << 20;  // a file smaller than this is not rewritten
};

/// What is still worth knowing of a series of records: the latest marks, the last record of each job that is alive or among the
/// latest that ended, and what operators have set of workers' capacities. Records are kept as they are in the file.
class JournalFold {
 public:
  explicit JournalFold(std::size_t jobs_kept) : jobs_kept_(jobs_kept) {}

  void add(const JournalRecord& record, std::string frame);
  const JournalMarks& marks() const { return marks_; }
  /// Of all frames that are kept.
  std::uint64_t bytes() const { return bytes_; }
  const std::map<JobId, std::string>& running() const { return running_; }
  /// In the order of their ends.
  std::vector<const std::string*> ended() const;
  /// Capacities that operators have set, by worker.
  const std::map<std::string, std::string>& settings() const { return settings_; }

 private:
  void replace(std::string& kept, std::string frame);
  template <class Key>
  void drop(std::map<Key, std::string>& kept, const Key& key);

  std::size_t jobs_kept_;
  JournalMarks marks_;
  std::map<JobId, std::string> running_, ended_;
  std::map<std::string, std::string> settings_;
  std::deque<JobId> order_;  // of ends
  std::uint64_t bytes_ = 0;
};

/// What a master that starts learns of its predecessor.
struct JournalHistory {
  JournalMarks marks;
  std::vector<JobStatus> ended;    // the latest, in the order of their ends
  std::vector<JobStatus> running;  // as they were seen last, by id
  std::vector<NodeSetting> settings;
};

class JournalFile {
 public:
  /// Locks the file for as long as the object lives, and creates it when there is none. What a crash left at its end is cut off,
  /// with a line in the log. Errors, each naming the file: unavailable (another master has it), corrupt (with the offset and what
  /// to do), version_mismatch, io.
  static Result<JournalFile> open(const std::string& path, const JournalOptions& options);

  JournalHistory history() const;
  /// Appends the records and returns when they are on the disk. Then, when the file has grown too large, makes it short.
  /// resource_exhausted, from a disk that is full: the file is as it was before, and the same records may be tried again. After any
  /// other error the file may end in half a record, and every later call fails.
  Result<void> commit(const std::vector<JournalRecord>& records);
  /// Writes what is still worth knowing to a new file, which takes the old one's place when it is on the disk. A crash at any point
  /// leaves one of the two. When the new file cannot be written the old one is continued, with a line in the log; an error means
  /// that neither can be.
  Result<void> checkpoint();
  std::uint64_t size() const { return size_; }

 private:
  JournalFile(Fd fd, std::string path, const JournalOptions& options)
      : fd_(std::move(fd)), path_(std::move(path)), options_(options), fold_(options.jobs_kept) {}
  Result<void> read();
  Result<void> append(const std::string& bytes);
  Result<void> take_back(Error why);
  Result<Fd> write_beside(const std::string& path) const;
  void schedule_checkpoint();

  Fd fd_;
  std::string path_;
  JournalOptions options_;
  JournalFold fold_;
  std::uint64_t size_ = 0;
  std::uint64_t checkpoint_at_ = 0;  // so large a file is rewritten
  bool broken_ = false;
  Log log_{"journal"};
};

/// Opens the file for reading and writing, creating it when `create`, and locks it; the lock goes with the descriptor.
Result<Fd> open_locked_journal(const std::string& path, bool create);
/// "FILE is damaged at byte N: …; what to do".
Error damaged_journal(const std::string& path, std::uint64_t offset, Error why);
/// Makes the names in the file's directory durable.
Result<void> sync_directory_of(const std::string& path);

}  // namespace weft::master
