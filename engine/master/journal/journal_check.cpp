#include "engine/master/journal/journal_check.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.hpp"
#include "engine/master/journal/journal_file.hpp"
#include "engine/master/journal/journal_reader.hpp"

namespace weft::master {

namespace {

void count(JournalReport& report, const JournalRecord& record) {
  if (report.records++ == 0) report.checkpoint = record.checkpoint;
  report.marks.merge(record.marks);
  if (!record.cluster.empty()) report.cluster = record.cluster;
  if (record.numbering != 0) report.numbering = record.numbering;
  if (!record.job) return;
  if (record.ended) {
    report.running.erase(*record.job);
    report.ended.insert(*record.job);
  } else {
    report.running.insert(*record.job);
  }
}

/// Everything whole from behind the damage on.
Result<void> look_behind(JournalReader& reader, JournalReport& report) {
  JournalDamage& damage = *report.damage;
  while (true) {
    WEFT_ASSIGN(const bool more, reader.skip_damage());
    if (!more) return {};
    for (auto record = reader.next(); record && *record; record = reader.next()) {
      ++damage.records;
      damage.bytes += reader.frame().size();
      damage.marks.merge((*record)->marks);
      if (report.cluster.empty()) report.cluster = (*record)->cluster;
      if (report.numbering == 0) report.numbering = (*record)->numbering;
      if ((*record)->job) damage.jobs.insert(*(*record)->job);
    }
  }
}

Result<JournalReport> check(int fd) {
  WEFT_ASSIGN(JournalReader reader, JournalReader::start(fd));
  JournalReport report;
  report.bytes = reader.size();
  auto record = reader.next();
  for (; record && *record; record = reader.next()) count(report, **record);
  report.whole_bytes = reader.offset();
  if (record) return report;
  if (record.error().code() != Code::corrupt) return fail(std::move(record).error());
  report.damage.emplace();
  report.damage->what = record.error().to_string();
  WEFT_TRY(look_behind(reader, report));
  return report;
}

/// The name of the copy.
Result<std::string> copy_beside(const std::string& path) {
  namespace fs = std::filesystem;
  std::string copy = path + ".damaged";
  std::error_code error;
  for (int number = 2; fs::exists(fs::symlink_status(copy, error)); ++number) copy = fmt::format("{}.damaged.{}", path, number);
  if (!fs::copy_file(path, copy, error))
    return fail(Code::io, fmt::format("cannot copy {} to {}: {}", path, copy, error.message()));
  const Fd made(::open(copy.c_str(), O_RDONLY | O_CLOEXEC));
  if (!made.valid() || ::fsync(made.get()) != 0) return fail(errno_error(fmt::format("cannot sync {}", copy), errno));
  WEFT_TRY(sync_directory_of(copy));
  return copy;
}

Result<void> cut(int fd, const JournalReport& report) {
  const auto end = static_cast<off_t>(report.whole_bytes);
  if (::ftruncate(fd, end) != 0 || ::lseek(fd, end, SEEK_SET) != end) return fail(errno_error("cannot cut it", errno));
  JournalRecord ids;
  ids.marks = report.marks;
  ids.marks.merge(report.damage->marks);
  ids.cluster = report.cluster;
  ids.numbering = report.numbering;
  WEFT_TRY(write_all(fd, as_bytes(to_frame(ids))));
  if (::fdatasync(fd) != 0) return fail(errno_error("cannot sync it", errno));
  return {};
}

Result<Fd> open_to_read(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0) return fail(errno_error("cannot open " + path, errno));
  if (!S_ISREG(status.st_mode)) return fail(Code::invalid_argument, path + " is no regular file");
  return fd;
}

/// Until `see` says that this was enough.
Result<void> read_until(const std::string& path,
                        const std::function<bool(std::uint64_t offset, const JournalRecord& record)>& see) {
  WEFT_ASSIGN(const Fd fd, open_to_read(path));
  auto reader = JournalReader::start(fd.get());
  if (!reader) return fail(std::move(reader).error().wrap(path));
  while (true) {
    auto record = reader->next();
    if (!record) return fail(damaged_journal(path, reader->offset(), std::move(record).error()));
    if (!*record || see(reader->offset() - reader->frame().size(), **record)) return {};
  }
}

}  // namespace

Result<void> read_journal(const std::string& path,
                          const std::function<void(std::uint64_t offset, const JournalRecord& record)>& see) {
  return read_until(path, [&see](std::uint64_t offset, const JournalRecord& record) {
    see(offset, record);
    return false;
  });
}

Result<std::string> cluster_of_journal(const std::string& path) {
  std::error_code error;
  std::string cluster;
  if (!std::filesystem::exists(path, error)) return cluster;
  WEFT_TRY(read_until(path, [&cluster](std::uint64_t, const JournalRecord& record) {
    cluster = record.cluster;
    return !cluster.empty();
  }));
  return cluster;
}

Result<JournalReport> check_journal(const std::string& path) {
  WEFT_ASSIGN(const Fd fd, open_to_read(path));
  auto report = check(fd.get());
  if (!report) return fail(std::move(report).error().wrap(path));
  return report;
}

Result<JournalRepair> repair_journal(const std::string& path) {
  WEFT_ASSIGN(const Fd fd, open_locked_journal(path, false));
  auto report = check(fd.get());
  if (!report) return fail(std::move(report).error().wrap(path));
  JournalRepair repair{std::move(*report), {}};
  if (!repair.before.damage) return repair;
  WEFT_ASSIGN(repair.copy, copy_beside(path));
  if (auto done = cut(fd.get(), repair.before); !done) return fail(std::move(done).error().wrap(path));
  return repair;
}

}  // namespace weft::master
