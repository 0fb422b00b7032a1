#include "engine/master/log/log_archive.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "engine/master/log/log_pieces.hpp"
#include "storage/compression/compressor.hpp"

namespace weft::master {

namespace {

namespace fs = std::filesystem;

/// Up to `text`.size() bytes from `offset` on; fewer at the end of the file.
Result<std::size_t> read_block(int file, std::string& text, off_t offset) {
  std::size_t had = 0;
  while (had < text.size()) {
    const ssize_t size = ::pread(file, text.data() + had, text.size() - had, offset + static_cast<off_t>(had));
    if (size < 0) return fail(errno_error("cannot read it", errno));
    if (size == 0) break;
    had += static_cast<std::size_t>(size);
  }
  return had;
}

}  // namespace

LogArchive::LogArchive(std::string log, const LogRotation& rotation)
    : log_(std::move(log)), rotation_(rotation), thread_([this] { run(); }) {}

LogArchive::~LogArchive() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LogArchive::tend() {
  {
    const std::lock_guard lock(mutex_);
    wanted_ = true;
  }
  changed_.notify_all();
}

void LogArchive::settle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !wanted_ && !busy_; });
}

bool LogArchive::stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

void LogArchive::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!wanted_) {
      changed_.wait(lock);
      continue;
    }
    wanted_ = false;
    busy_ = true;
    lock.unlock();
    if (const auto done = see_to_all(); !done)
      say_.warn("{}; it is tried again when the log is next rotated", done.error().to_string());
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

Result<void> LogArchive::see_to_all() {
  auto pieces = pieces_of(log_);
  if (!pieces && pieces.error().code() == Code::not_found) return {};
  if (!pieces) return fail(std::move(pieces).error());
  for (const LogPiece& piece : *pieces) {
    if (stopping()) return {};
    if (piece.live || piece.compressed || !rotation_.compress) continue;
    if (auto made = compress(piece.path, piece.path + ".zst"); !made)
      return fail(std::move(made).error().wrap(fmt::format("the event log {} stays uncompressed", piece.path)));
  }
  return remove_oldest();
}

/// The compressed file has the time of the other: by it indexes know that nothing but its form changed.
Result<void> LogArchive::compress(const std::string& from, const std::string& to) {
  const std::string made = to + ".new";
  const Fd in(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!in.valid() || ::fstat(in.get(), &status) != 0) return fail(errno_error("cannot read " + from, errno));
  Fd out(::open(made.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!out.valid()) return fail(errno_error("cannot write " + made, errno));
  const auto compressor = storage::zstd_compressor();
  std::string text(compressor->block_bytes(), '\0'), block;
  for (off_t at = 0;;) {
    WEFT_ASSIGN(const std::size_t size, read_block(in.get(), text, at));
    if (size == 0) break;
    if (stopping()) {
      ::unlink(made.c_str());
      return {};
    }
    block.clear();
    WEFT_TRY(compressor->compress(as_bytes(std::string_view(text).substr(0, size)), block));
    WEFT_TRY(write_all(out.get(), as_bytes(block)));
    at += static_cast<off_t>(size);
  }
  const std::array<timespec, 2> times{status.st_atim, status.st_mtim};
  if (::futimens(out.get(), times.data()) != 0 || ::fsync(out.get()) != 0) return fail(errno_error("cannot write " + made, errno));
  if (::rename(made.c_str(), to.c_str()) != 0) return fail(errno_error("cannot rename " + made, errno));
  if (::unlink(from.c_str()) != 0) return fail(errno_error("cannot remove " + from, errno));
  return {};
}

Result<void> LogArchive::remove_oldest() {
  WEFT_ASSIGN(const auto pieces, pieces_of(log_));
  const auto now = fs::file_time_type::clock::now();
  std::uint64_t bytes = 0;
  std::uint32_t kept = 0;
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    std::error_code error;
    bytes += fs::file_size(piece->path, error);
    if (piece->live) continue;
    const auto age = now - fs::last_write_time(piece->path, error);
    const std::string why = reason_to_remove(++kept, bytes, std::chrono::duration_cast<Duration>(age));
    if (why.empty()) continue;
    say_.info("the event log {} is removed: {}", piece->path, why);
    if (!fs::remove(piece->path, error) && error)
      return fail(Code::io, fmt::format("cannot remove {}: {}", piece->path, error.message()));
  }
  return {};
}

/// Of the `kept`th piece before the one that is written; all of these and that one have `bytes`. Empty: there is none.
std::string LogArchive::reason_to_remove(std::uint32_t kept, std::uint64_t bytes, Duration age) const {
  if (rotation_.keep > 0 && kept > rotation_.keep) return fmt::format("{} are kept", rotation_.keep);
  if (rotation_.keep_bytes > 0 && bytes > rotation_.keep_bytes) return human_bytes(rotation_.keep_bytes) + " are kept";
  if (rotation_.keep_age > Duration(0) && age > rotation_.keep_age) return format_duration(rotation_.keep_age) + " are kept";
  return {};
}

}  // namespace weft::master
