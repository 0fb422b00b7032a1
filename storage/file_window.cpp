#include "storage/file_window.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/timed.hpp"

namespace weft::storage {
namespace {

constexpr std::size_t kWindowBytes = 256u << 10;
constexpr std::size_t kReadAhead = 4u << 10;  // past the promised end, where usually one line ends

tl::unexpected<Error> shrank(const std::string& path, std::uint64_t size, std::uint64_t promised) {
  return fail(Code::io, "input " + path + " changed while the job ran: it ends at byte " + std::to_string(size) +
                            ", it was at least " + std::to_string(promised) + " bytes long");
}

}  // namespace

Result<void> FileWindow::open(const std::string& path, std::uint64_t offset, std::uint64_t end) {
  path_ = path;
  offset_ = offset;
  promised_ = end;
  begin_ = end_ = reinterpret_cast<const char*>(buffer_.data());
  fd_.reset();
  remote_file_.reset();
  WEFT_ASSIGN(const std::uint64_t size, timed(read_time_, [&] { return is_remote(path) ? open_remote() : open_local(); }));
  sizeless_ = size == 0 && promised_ != 0 && fd_.valid();
  if (size < promised_ && !sizeless_) return shrank(path_, size, promised_);
  return {};
}

Result<std::uint64_t> FileWindow::open_remote() {
  if (remote_ == nullptr) return fail(Code::invalid_argument, "input " + path_ + " is no local file");
  WEFT_ASSIGN(remote_file_, remote_->open(path_));
  return remote_file_->size();
}

Result<std::uint64_t> FileWindow::open_local() {
  // O_NONBLOCK: a FIFO put in the file's place must not block the task.
  fd_ = Fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd_.valid()) return fail(errno_error("cannot read input " + path_, errno));
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) return fail(errno_error("cannot read input " + path_, errno));
  if (!S_ISREG(info.st_mode)) return fail(Code::invalid_argument, "input " + path_ + " is not a regular file");
  return static_cast<std::uint64_t>(info.st_size);
}

std::size_t FileWindow::wanted() const {
  const std::uint64_t at = offset_ + size();
  if (at >= promised_) return std::max<std::size_t>(kReadAhead, size());  // a long last line: twice as much each time
  return static_cast<std::size_t>(std::min<std::uint64_t>(kWindowBytes, promised_ - at + kReadAhead));
}

/// Moves what is unconsumed to the front, of a larger buffer when it fills this one.
Result<void> FileWindow::make_room() {
  const std::size_t kept = size();
  if (kept > largest_record_)
    return fail(Code::resource_exhausted, "input " + path_ + " has a record of more than " + std::to_string(kept) +
                                              " bytes at byte " + std::to_string(offset_) + ", which the memory budget of " +
                                              std::to_string(largest_record_) +
                                              " bytes per task cannot hold; give tasks more memory or make the records smaller");
  const std::size_t needed = std::max(std::min(wanted(), kWindowBytes), kReadAhead);
  if (kept + needed <= buffer_.size()) {
    if (kept != 0) std::memmove(buffer_.data(), begin_, kept);
  } else {
    try {
      const std::uint64_t most =
          std::min<std::uint64_t>(2 * std::uint64_t{kept}, std::max(largest_record_, largest_record_ + kWindowBytes));
      Buffer larger(std::max(static_cast<std::size_t>(most), kept + needed));
      if (kept != 0) std::memcpy(larger.data(), begin_, kept);
      buffer_ = std::move(larger);
    } catch (const std::bad_alloc&) {
      return fail(Code::resource_exhausted, "input " + path_ + " has a record of more than " + std::to_string(kept) +
                                                " bytes at byte " + std::to_string(offset_) + "; there is no memory for it");
    }
  }
  begin_ = reinterpret_cast<const char*>(buffer_.data());
  end_ = begin_ + kept;
  return {};
}

Result<std::size_t> FileWindow::read(std::uint64_t offset, MutableBytes into) {
  if (remote_file_) return remote_file_->read(offset, into);
  ssize_t count = 0;
  do {
    count = ::pread(fd_.get(), into.data(), into.size(), static_cast<off_t>(offset));
  } while (count < 0 && errno == EINTR);
  if (count < 0) return fail(errno_error("cannot read input " + path_ + " at byte " + std::to_string(offset), errno));
  return static_cast<std::size_t>(count);
}

Result<bool> FileWindow::more() {
  WEFT_TRY(make_room());
  const std::uint64_t at = offset_ + size();
  const std::size_t room = std::min(buffer_.size() - size(), std::max(wanted(), kReadAhead));
  const MutableBytes into{buffer_.data() + (reinterpret_cast<const std::byte*>(end_) - buffer_.data()), room};
  WEFT_ASSIGN(const std::size_t count, timed(read_time_, [&] { return read(at, into); }));
  // Not a byte of what was promised: a file that was emptied meanwhile, however it is read.
  if (count == 0 && at < promised_ && (!sizeless_ || at == 0)) return shrank(path_, at, promised_);
  end_ += count;
  return count != 0;
}

}  // namespace weft::storage
