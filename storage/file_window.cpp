#include "storage/file_window.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/timed.hpp"
#include "storage/access/input_file.hpp"
#include "storage/access/remote.hpp"
#include "storage/compression/decompressor.hpp"

namespace weft::storage {
namespace {

constexpr std::size_t kWindowBytes = 256u << 10;
constexpr std::size_t kReadAhead = 4u << 10;  // past the promised end, where usually one line ends

tl::unexpected<Error> shrank(const std::string& path, std::uint64_t size, std::uint64_t promised) {
  return fail(Code::invalid_argument, "input " + path + " changed while the job ran: it ends at byte " + std::to_string(size) +
                                          ", it was at least " + std::to_string(promised) + " bytes long");
}

}  // namespace

struct FileWindow::Source {
  std::unique_ptr<InputFile> file;
  std::unique_ptr<Decompressor> decompressor;  // of a compressed file, which it reads
};

FileWindow::FileWindow(std::uint64_t largest_record, RemoteFiles* remote)
    : largest_record_(largest_record), remote_(remote), source_(std::make_unique<Source>()) {}
FileWindow::~FileWindow() = default;

Result<void> FileWindow::open_file(const std::string& path, const FileVersion& listed) {
  begin_ = end_ = reinterpret_cast<const char*>(buffer_.data());
  source_->decompressor.reset();
  source_->file.reset();
  WEFT_ASSIGN(InputFile file, timed(read_time_, [&] { return InputFile::open(path, remote_, listed); }));
  source_->file = std::make_unique<InputFile>(std::move(file));
  return {};
}

Result<void> FileWindow::finish() { return source_->file ? source_->file->check_unchanged() : Result<void>(); }

/// Of a file that was written to meanwhile: that. It may look damaged or be too short then.
Error FileWindow::cause_of(Error error) const {
  auto unchanged = source_->file->check_unchanged();
  return unchanged ? std::move(error) : std::move(unchanged).error();
}

Result<void> FileWindow::open(const std::string& path, const FileVersion& listed, std::uint64_t offset, std::uint64_t end) {
  WEFT_TRY(open_file(path, listed));
  offset_ = offset;
  promised_ = end;
  sizeless_ = source_->file->size() == 0 && promised_ != 0 && source_->file->is_local();
  stop_ = sizeless_ ? UINT64_MAX : end;
  if (source_->file->size() < promised_ && !sizeless_) return shrank(path, source_->file->size(), promised_);
  source_->file->will_read(offset, end + kReadAhead);
  return {};
}

Result<void> FileWindow::open_compressed(const std::string& path, const FileVersion& listed, Format format, std::uint64_t begin,
                                         std::uint64_t end) {
  WEFT_TRY(open_file(path, listed));
  offset_ = 0;
  promised_ = INT64_MAX;
  stop_ = UINT64_MAX;
  sizeless_ = false;
  if (source_->file->size() < end) return shrank(path, source_->file->size(), end);
  source_->file->will_read(begin, end);
  auto started = timed(read_time_, [&] { return decompress(*source_->file, format, begin, end); });
  if (!started) return fail(cause_of(std::move(started).error()));
  source_->decompressor = *std::move(started);
  return {};
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
    return fail(Code::resource_exhausted, "input " + source_->file->path() + " has a record of more than " + std::to_string(kept) +
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
      return fail(Code::resource_exhausted, "input " + source_->file->path() + " has a record of more than " +
                                                std::to_string(kept) + " bytes at byte " + std::to_string(offset_) +
                                                "; there is no memory for it");
    }
  }
  begin_ = reinterpret_cast<const char*>(buffer_.data());
  end_ = begin_ + kept;
  return {};
}

/// As much as there is room for, but a piece of the split's text or of what follows it.
Result<std::size_t> FileWindow::read_text(MutableBytes into) {
  std::size_t had = 0;
  while (had < into.size()) {
    const bool was_past = source_->decompressor->past_end();
    WEFT_ASSIGN(const std::size_t count, source_->decompressor->read(into.subspan(had)));
    if (count == 0) break;
    if (!was_past && source_->decompressor->past_end()) stop_ = offset_ + size() + had + 1;
    had += count;
  }
  return had;
}

Result<bool> FileWindow::more() {
  WEFT_TRY(make_room());
  const std::uint64_t at = offset_ + size();
  const std::size_t room = std::min(buffer_.size() - size(), std::max(wanted(), kReadAhead));
  const MutableBytes into{buffer_.data() + (reinterpret_cast<const std::byte*>(end_) - buffer_.data()), room};
  const auto read = timed(read_time_, [&] { return source_->decompressor ? read_text(into) : source_->file->read(at, into); });
  if (!read) return fail(cause_of(read.error()));
  const std::size_t count = *read;
  // Not a byte of what was promised: a file that was emptied meanwhile, however it is read.
  if (count == 0 && !source_->decompressor && at < promised_ && (!sizeless_ || at == 0))
    return fail(cause_of(shrank(source_->file->path(), at, promised_).value()));
  end_ += count;
  return count != 0;
}

}  // namespace weft::storage
