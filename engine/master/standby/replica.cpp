#include "engine/master/standby/replica.hpp"

#include <filesystem>
#include <future>
#include <limits>

#include <fmt/format.h>

#include "base/private_directory.hpp"
#include "base/text.hpp"
#include "engine/master/journal/journaled_job.hpp"
#include "engine/master/profiles/profile_database.hpp"
#include "engine/master/replication/changes.hpp"

namespace weft::master {

namespace {

Result<void> remove(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return fail(Code::io, fmt::format("cannot remove {}: {}", path, error.message()));
  return {};
}

}  // namespace

Result<std::unique_ptr<Replica>> Replica::begin(const StorePaths& paths, Fetch fetch, std::uint64_t most_program_bytes) {
  WEFT_TRY(remove(paths.journal));
  WEFT_TRY(remove(paths.files));
  WEFT_TRY(remove(paths.profiles));
  WEFT_TRY(make_private_directory(paths.programs));
  WEFT_ASSIGN(JournalFile journal, JournalFile::open(paths.journal, {}));
  WEFT_ASSIGN(auto files, storage::NamespaceStore::open(paths.files));
  WEFT_ASSIGN(auto profiles, profile_database(paths.profiles)([](const ProfileRecords&) { return Result<void>(); }));
  BinaryStore programs(paths.programs, BinaryStore::Keep::durably);
  programs.clean({}, std::numeric_limits<std::uint64_t>::max());  // of what could not be fetched to its end
  return std::unique_ptr<Replica>(new Replica(std::move(journal), std::move(files), std::move(profiles), std::move(programs),
                                              most_program_bytes, std::move(fetch)));
}

std::set<ProgramId> Replica::programs_of_jobs() const {
  std::set<ProgramId> programs;
  const auto history = journal_.history();
  if (!history) return programs;
  for (const JournaledJob& job : history->running)
    if (const auto submit = submit_of(job)) programs.insert({program_of(*submit), ProgramId{submit->binary, ""}});
  return programs;
}

Result<void> Replica::apply(const std::vector<LogEntry>& entries) {
  std::string records;
  bool files = false;
  for (const LogEntry& entry : entries) {
    switch (entry.store) {
      case Store::journal:
        records += as_chars(entry.bytes.bytes);
        break;
      case Store::files:
        WEFT_TRY(apply_files(entry));
        files = true;
        break;
      case Store::programs:
        WEFT_TRY(apply_program(entry));
        break;
      case Store::profiles:
        WEFT_TRY(apply_profiles(entry));
        break;
    }
  }
  if (!records.empty()) WEFT_TRY(journal_.commit_frames(as_bytes(records)));
  return files ? await_files() : Result<void>();
}

Result<void> Replica::apply_files(const LogEntry& entry) {
  WEFT_ASSIGN(Changes changes, parse_changes(entry.bytes.bytes));
  std::vector<storage::Change> all;
  for (auto& [key, value] : changes.changes) all.push_back({std::move(key), std::move(value)});
  files_->commit(std::move(all), [](const Result<void>&) {});
  return {};
}

/// Until all that was given to the store is on its disk, or that is full.
Result<void> Replica::await_files() {
  const auto written = std::make_shared<std::promise<Result<void>>>();
  auto result = written->get_future();
  files_->commit({}, [written](Result<void> done) { written->set_value(std::move(done)); });
  while (result.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready)
    if (const auto full = files_->full()) return fail(*full);
  return result.get();
}

Result<void> Replica::apply_profiles(const LogEntry& entry) {
  WEFT_ASSIGN(Changes changes, parse_changes(entry.bytes.bytes));
  std::map<std::string, std::optional<std::string>> records;
  for (auto& [key, value] : changes.changes) records[key] = std::move(value);
  if (profiles_) profiles_->put(std::move(records));
  return {};
}

Result<void> Replica::apply_program(const LogEntry& entry) {
  const std::string name(as_chars(entry.bytes.bytes));
  const auto hash = parse_hash(name);
  if (!hash) return fail(Code::corrupt, fmt::format("'{}' is no hash of a program", escaped(name)));
  const ProgramId program{*hash, entry.user};
  programs_.mention(program);
  std::uint64_t offset = 0;
  while (!programs_.knows(program)) {
    WEFT_ASSIGN(const BinaryStore::Piece piece, fetch_(program, offset));
    WEFT_TRY(programs_.write({program.user}, program.hash, offset, piece.total, piece.bytes.view()));
    offset += piece.bytes.size();
  }
  return {};
}

}  // namespace weft::master
