#include "engine/master/journal/journal_file.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/named_file.hpp"
#include "base/text.hpp"
#include "engine/master/journal/journal_reader.hpp"

namespace weft::master {

namespace {

constexpr std::size_t kWrite = 1u << 20;     // bytes at a time
constexpr std::uint64_t kKept = 16u << 10;   // for the first records of masters that begin on a full disk
constexpr std::uint64_t kAhead = 64u << 10;  // is reserved at once

/// Its jobs would be gone, and ids of jobs be given again, and nobody would notice.
Result<void> must_exist(const std::string& path, const JournalOptions& options) {
  std::error_code error;
  if (!options.must_exist || std::filesystem::exists(path, error)) return {};
  return fail(
      Code::invalid_argument,
      fmt::format("there is no journal {}, and cluster {}, whose files are here, has one: copy or move it there, or create an "
                  "empty file of that name for a cluster that goes on without its jobs",
                  path, options.cluster));
}

/// Where a checkpoint is written.
std::string beside(const std::string& path) {
  const std::filesystem::path journal(path);
  return journal.parent_path() / (short_name(journal.filename().native()) + ".new");
}

Result<void> sync(int fd) {
  if (::fdatasync(fd) == 0) return {};
  return fail(errno_error("cannot sync it", errno));
}

}  // namespace

Result<Fd> open_locked_journal(const std::string& path, bool create) {
  while (true) {
    Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | (create ? O_CREAT : 0), 0600));
    if (!fd.valid()) return fail(errno_error(fmt::format("cannot open the journal {}", path), errno));
    struct stat mine {
    }, named{};
    if (::fstat(fd.get(), &mine) != 0) return fail(errno_error(fmt::format("cannot look at the journal {}", path), errno));
    if (!S_ISREG(mine.st_mode)) return fail(Code::invalid_argument, fmt::format("the journal {} is no regular file", path));
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return fail(errno_error(fmt::format("cannot lock the journal {}", path), errno));
      return fail(Code::unavailable,
                  fmt::format("the journal {} is in use by a master that runs; end that one, or name another file", path));
    }
    // A checkpoint may have put another file there before the lock was ours.
    if (::stat(path.c_str(), &named) == 0 && named.st_dev == mine.st_dev && named.st_ino == mine.st_ino) return fd;
  }
}

Error damaged_journal(const std::string& path, std::uint64_t offset, Error why) {
  if (why.code() != Code::corrupt) return std::move(why).wrap(fmt::format("the journal {}", path));
  if (offset == 0) return std::move(why).wrap(fmt::format("the journal {} is damaged at byte 0", path));
  return Error(Code::corrupt,
               fmt::format("the journal {} is damaged at byte {}: {}; 'weft journal check {}' tells what lies behind that, "
                           "'weft journal repair {}' cuts it there",
                           path, offset, why.to_string(), path, path));
}

Result<void> sync_directory_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const Fd directory(::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid() || ::fsync(directory.get()) != 0) return fail(errno_error("cannot sync its directory", errno));
  return {};
}

Result<JournalFile> JournalFile::open(const std::string& path, const JournalOptions& options) {
  WEFT_TRY(must_exist(path, options));
  WEFT_ASSIGN(Fd fd, open_locked_journal(path, true));
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);  // a link stays one, whatever is renamed
  JournalFile file(std::move(fd), error ? path : real.string(), options);
  ::unlink(beside(file.path_).c_str());  // of a checkpoint that a crash cut short
  WEFT_TRY(file.read());
  WEFT_TRY(file.check_cluster());
  if (options.must_exist && file.size_ <= kJournalHeaderBytes)
    file.log_.warn(
        "the journal {} is empty: this master begins with no jobs, and their numbers with 1; if the jobs of cluster {} are not to "
        "be forgotten, end this master and put its whole journal there",
        file.path_, options.cluster);
  if (file.size_ == 0) {
    (void)::fchmod(file.fd_.get(), 0600);  // also one that was made by hand
    WEFT_TRY(file.append(as_bytes(journal_header()), Room::free));
    if (auto synced = sync_directory_of(file.path_); !synced)
      return fail(std::move(synced).error().wrap(fmt::format("the journal {}", file.path_)));
  }
  file.schedule_checkpoint();
  if (file.old_) WEFT_TRY(file.checkpoint());
  return file;
}

Result<void> JournalFile::check_cluster() const {
  if (options_.cluster.empty() || fold_.cluster().empty() || fold_.cluster() == options_.cluster) return {};
  return fail(
      Code::invalid_argument,
      fmt::format("the journal {} is of cluster {}, and the files of this master are of cluster {}; name the journal and the "
                  "data directory of one cluster",
                  path_, escaped(fold_.cluster()), options_.cluster));
}

Result<void> JournalFile::read() {
  auto reader = JournalReader::start(fd_.get());
  if (!reader) return fail(damaged_journal(path_, 0, std::move(reader).error()));
  while (true) {
    auto record = reader->next();
    if (!record) return fail(damaged_journal(path_, reader->offset(), std::move(record).error()));
    if (!*record) break;
    const auto length = static_cast<std::uint32_t>(reader->frame().size());
    fold_.add(**record, {reader->offset() - length, length});
  }
  size_ = reader->offset();
  old_ = size_ > 0 && reader->version() < kJournalVersion;
  if (size_ < reader->size())
    log_.warn("{}: its last {} bytes, from byte {} on, are what a crash left of a write that did not end; they are cut off", path_,
              reader->size() - size_, size_);
  const auto end = static_cast<off_t>(size_);
  const bool whole = size_ == reader->size();  // cutting off nothing would give back what is kept behind it
  if ((!whole && ::ftruncate(fd_.get(), end) != 0) || ::lseek(fd_.get(), end, SEEK_SET) != end)
    return fail(errno_error(fmt::format("cannot continue the journal {}", path_), errno));
  return {};
}

Result<JournalRecord> JournalFile::record_at(Extent where) const {
  Buffer frame(where.length);
  const ssize_t got = ::pread(fd_.get(), frame.data(), frame.size(), static_cast<off_t>(where.offset));
  if (got != static_cast<ssize_t>(frame.size()))
    return fail(got < 0 ? errno_error(fmt::format("cannot read the journal {}", path_), errno)
                        : Error(Code::corrupt, fmt::format("the journal {} has become shorter", path_)));
  return decode_record(frame.view().subspan(kRecordHeaderBytes));
}

JobStatus JournalFile::status_at(Extent where) const {
  auto record = record_at(where);
  auto status = record ? decode_status(as_bytes(record->status)) : fail(std::move(record).error());
  if (status) return std::move(*status);
  JobStatus unknown;  // that there was such a job is known at least
  if (record && record->job) unknown.id = *record->job;
  unknown.state = JobState::failed;
  unknown.error = "its status was written by another version of weft";
  return unknown;
}

Result<JournaledJob> JournalFile::job_at(JobId id, JournalFold::Job job) const {
  JournaledJob read;
  if (job.status.length > 0) read.status = status_at(std::exchange(job.status, {}));
  read.status.id = id;
  Result<void> done;
  for_each_of(job, [&](const Extent& where) {
    if (!done) return;
    auto record = record_at(where);
    if (record && record->fact)
      read.add(std::move(*record->fact));
    else if (!record)
      done = fail(std::move(record).error());
  });
  WEFT_TRY(std::move(done));
  return read;
}

Result<JournalHistory> JournalFile::history() const {
  JournalHistory history;
  history.marks = fold_.marks();
  history.masters = fold_.masters();
  history.numbering = fold_.numbering();
  for (const Extent& where : fold_.ended()) history.ended.push_back(status_at(where));
  for (const auto& [id, job] : fold_.running()) {
    WEFT_ASSIGN(JournaledJob read, job_at(id, job));
    history.running.push_back(std::move(read));
  }
  for (const auto& [worker, where] : fold_.settings()) {
    WEFT_ASSIGN(JournalRecord record, record_at(where));
    history.settings.push_back(std::move(record.setting));
  }
  for (const auto& [id, where] : fold_.nodes()) {
    WEFT_ASSIGN(JournalRecord record, record_at(where));
    if (record.node) history.nodes.push_back(std::move(*record.node));
  }
  return history;
}

/// False: the disk is full. Where nothing can be reserved, writing shows that.
bool JournalFile::reserve(std::uint64_t bytes) {
  const std::uint64_t needed = bytes + kKept;
  if (size_ + needed <= reserved_) return true;
  for (const std::uint64_t length : {needed + kAhead, needed}) {
    if (::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(size_), static_cast<off_t>(length)) == 0) {
      reserved_ = size_ + length;
      return true;
    }
    if (errno != ENOSPC && errno != EDQUOT) return true;
  }
  return false;
}

Result<void> JournalFile::append(ByteView bytes, Room room) {
  if (broken_) return fail(Code::io, fmt::format("the journal {} failed before", path_));
  if (room == Room::free && !reserve(bytes.size())) return fail(full(errno_error("cannot write", errno)));
  errno = 0;
  Result<void> done = write_all(fd_.get(), bytes);
  if (done) done = sync(fd_.get());
  const bool no_room = !done && (errno == ENOSPC || errno == EDQUOT);
  if (no_room) done = take_back(std::move(done).error());
  if (no_room && done.error().code() == Code::resource_exhausted) return done;
  broken_ = !done;
  if (!done) return fail(std::move(done).error().wrap(Code::io, fmt::format("the journal {} cannot be continued", path_)));
  size_ += bytes.size();
  return {};
}

/// The disk is full: what was written of the records goes.
Result<void> JournalFile::take_back(Error why) {
  const auto end = static_cast<off_t>(size_);
  if (::ftruncate(fd_.get(), end) != 0 || ::lseek(fd_.get(), end, SEEK_SET) != end)
    return fail(errno_error("cannot take back half a record", errno));
  reserved_ = 0;
  return fail(full(why));
}

Error JournalFile::full(const Error& why) const {
  return {Code::resource_exhausted, fmt::format("the journal {} cannot be written: its disk is full; make room there, and it "
                                                "goes on by itself ({})",
                                                path_, why.to_string())};
}

Result<void> JournalFile::commit(const std::vector<JournalRecord>& records, Room room) {
  std::string bytes;
  std::vector<Extent> frames;
  for (const JournalRecord& record : records) {
    const std::string frame = to_frame(record);
    frames.push_back({size_ + bytes.size(), static_cast<std::uint32_t>(frame.size())});
    bytes += frame;
  }
  WEFT_TRY(append(as_bytes(bytes), room));
  for (std::size_t i = 0; i < records.size(); ++i) fold_.add(records[i], frames[i]);
  return shorten_if_large();
}

Result<void> JournalFile::commit_frames(ByteView frames) {
  WEFT_ASSIGN(const auto records, records_of(frames));
  std::uint64_t at = size_;
  WEFT_TRY(append(frames, Room::free));
  for (const auto& [record, frame] : records) {
    fold_.add(record, {at, static_cast<std::uint32_t>(frame.size())});
    at += frame.size();
  }
  return shorten_if_large();
}

Result<void> JournalFile::shorten_if_large() { return size_ > checkpoint_at_ ? checkpoint() : Result<void>(); }

/// Four times what a checkpoint takes: rewriting costs a third of what is appended, at most.
void JournalFile::schedule_checkpoint() { checkpoint_at_ = std::max(options_.checkpoint_bytes, 4 * fold_.bytes()); }

/// What is kept, and where it is there.
Result<std::pair<Fd, JournalFold>> JournalFile::write_beside(const std::string& path) const {
  ::unlink(path.c_str());
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return fail(errno_error(fmt::format("cannot create {}", path), errno));
  JournalRecord first;
  first.marks = fold_.marks();
  first.checkpoint = true;
  first.masters = fold_.masters();
  first.cluster = fold_.cluster();
  first.numbering = fold_.numbering();
  std::string bytes = journal_header() + to_frame(first);
  std::uint64_t size = bytes.size();
  JournalFold moved = fold_;
  auto written = moved.move_all([&](Extent where) -> Result<Extent> {
    const std::size_t begin = bytes.size();
    bytes.resize(begin + where.length);
    const ssize_t got = ::pread(fd_.get(), bytes.data() + begin, where.length, static_cast<off_t>(where.offset));
    if (got != static_cast<ssize_t>(where.length)) return fail(errno_error("cannot read the old one", got < 0 ? errno : EIO));
    const Extent to{size, where.length};
    size += where.length;
    if (bytes.size() < kWrite) return to;
    const std::string full = std::exchange(bytes, {});
    WEFT_TRY(write_all(file.get(), as_bytes(full)));
    return to;
  });
  if (written) written = write_all(file.get(), as_bytes(bytes));
  if (written) written = sync(file.get());
  if (written && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) written = fail(errno_error("cannot lock it", errno));
  if (!written) return fail(std::move(written).error().wrap(path));
  return std::pair(std::move(file), std::move(moved));
}

Result<void> JournalFile::checkpoint() {
  const std::string made_beside = beside(path_);
  auto made = write_beside(made_beside);
  if (made && ::rename(made_beside.c_str(), path_.c_str()) != 0)
    made = fail(errno_error(fmt::format("cannot rename {}", made_beside), errno));
  if (!made) {
    ::unlink(made_beside.c_str());
    log_.error("{} cannot be made shorter and grows on: {}", path_, made.error().to_string());
    checkpoint_at_ = size_ + options_.checkpoint_bytes;
    return {};
  }
  fd_ = std::move(made->first);
  fold_ = std::move(made->second);
  old_ = false;
  size_ = static_cast<std::uint64_t>(::lseek(fd_.get(), 0, SEEK_CUR));
  reserved_ = 0;
  (void)reserve(0);
  schedule_checkpoint();
  if (auto synced = sync_directory_of(path_); !synced) {
    broken_ = true;
    return fail(std::move(synced).error().wrap(fmt::format("the journal {} cannot be continued", path_)));
  }
  return {};
}

}  // namespace weft::master
