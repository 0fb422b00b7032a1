// The copy that a master which stands by has of the leader's stores, in its own data directory. When it leads, it is started on
// these as a restarted master is on its own.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "base/result.hpp"
#include "engine/master/journal/journal_file.hpp"
#include "engine/master/profiles/profile_store.hpp"
#include "engine/master/replication/protocol.hpp"
#include "engine/master/server/binary_store.hpp"
#include "storage/namespace/namespace_store.hpp"

namespace weft::master {

/// Where a master keeps what is replicated.
struct StorePaths {
  std::string journal;                    // file
  std::string files, programs, profiles;  // directories
};

/// One thread. Calls block.
class Replica {
 public:
  /// The bytes of a program from an offset on, and how long it is altogether.
  using Fetch = std::function<Result<BinaryStore::Piece>(const ProgramId& program, std::uint64_t offset)>;

  /// Removes what is there, except programs, and begins with nothing. Programs that no running job needs go when all take more than
  /// `most_program_bytes`, those that were named the longest ago first.
  static Result<std::unique_ptr<Replica>> begin(const StorePaths& paths, Fetch fetch,
                                                std::uint64_t most_program_bytes = kMostProgramBytes);
  /// All of the entries are on the disk when it returns.
  Result<void> apply(const std::vector<LogEntry>& entries);

 private:
  Replica(JournalFile journal, std::unique_ptr<storage::NamespaceStore> files, std::unique_ptr<ProfileStore> profiles,
          BinaryStore programs, std::uint64_t most_program_bytes, Fetch fetch)
      : journal_(std::move(journal)),
        files_(std::move(files)),
        profiles_(std::move(profiles)),
        programs_(std::move(programs)),
        fetch_(std::move(fetch)) {
    programs_.bound(most_program_bytes, [this] { return programs_of_jobs(); });
  }
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;
  Result<void> apply_files(const LogEntry& entry);
  Result<void> apply_profiles(const LogEntry& entry);
  Result<void> apply_program(const LogEntry& entry);
  Result<void> await_files();
  /// Of jobs that run, as the journal here has them: the leader sends that before any program. A leader of an earlier release names
  /// no users, so what it sent for these jobs is among them, too.
  std::set<ProgramId> programs_of_jobs() const;

  JournalFile journal_;
  std::unique_ptr<storage::NamespaceStore> files_;
  std::unique_ptr<ProfileStore> profiles_;  // null: it cannot be opened, and the log says why
  BinaryStore programs_;
  Fetch fetch_;
};

}  // namespace weft::master
