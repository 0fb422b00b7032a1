// A window that slides over a regular file, or one of the cluster, or over the text of a compressed one: what the record readers
// look at.
//
// Bytes are copied with pread, not mapped. Measured here on cached files: pread in pieces of 64–256 KiB gives 8 GB/s because the
// window stays in the CPU's cache, a mapping 4.5 GB/s populated and less when it faults page by page. And a file that shrinks
// while it is mapped kills the process with SIGBUS; pread just comes back short, which becomes an error that names the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "storage/compression/format.hpp"

namespace weft::storage {

class RemoteFiles;
struct FileVersion;

/// One thread. May be opened again and again; the memory is kept.
class FileWindow {
 public:
  /// A record may not take more than `largest_record` bytes: resource_exhausted.
  /// `remote` has the files that are not local; it outlives the window.
  explicit FileWindow(std::uint64_t largest_record = UINT64_MAX, RemoteFiles* remote = nullptr);
  ~FileWindow();
  FileWindow(const FileWindow&) = delete;
  FileWindow& operator=(const FileWindow&) = delete;

  /// Starts at `offset`. The file must be regular, be what was `listed`, and reach to `end` at least: bytes up to there are
  /// promised, those after it are readable as well. Errors name the path. A file that claims to have no bytes, as those of /proc
  /// do, keeps no such promise: it is `sizeless()`, and has what more() finds.
  Result<void> open(const std::string& path, const FileVersion& listed, std::uint64_t offset, std::uint64_t end);
  bool sizeless() const { return sizeless_; }
  /// The text of the blocks that begin in [begin, end) of a compressed file, and what follows. offset() counts from its first byte.
  Result<void> open_compressed(const std::string& path, const FileVersion& listed, Format format, std::uint64_t begin,
                               std::uint64_t end);
  /// The `end` of open(), or the end of the split's text as far as it is known by now. Records of whole splits are those that begin
  /// before it; the one that begins exactly at the end of the text still is the split's (the next one cannot know that it begins).
  std::uint64_t stop() const { return stop_; }

  /// Read but not consumed. Views die with the next more() or open().
  const char* begin() const { return begin_; }
  const char* end() const { return end_; }
  std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }
  /// Where in the file begin() is.
  std::uint64_t offset() const { return offset_; }
  void consume_to(const char* position) {
    offset_ += static_cast<std::uint64_t>(position - begin_);
    begin_ = position;
  }

  /// Adds at least one byte after end(); false at the end of the file. Unconsumed bytes are kept, in more memory where needed.
  Result<bool> more();
  /// When enough was read: an error when the file was written to meanwhile. (Errors of open() and more() say so by themselves.)
  Result<void> finish();

  /// What was spent until bytes were there, opening files included.
  Duration read_time() const { return read_time_; }

 private:
  struct Source;

  Result<void> open_file(const std::string& path, const FileVersion& listed);
  Error cause_of(Error error) const;
  Result<std::size_t> read_text(MutableBytes into);
  Result<void> make_room();
  std::size_t wanted() const;

  std::uint64_t largest_record_;
  RemoteFiles* remote_;
  const std::unique_ptr<Source> source_;  // what is open
  Buffer buffer_;
  const char* begin_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t offset_ = 0;  // of begin_
  std::uint64_t promised_ = 0;
  std::uint64_t stop_ = 0;
  bool sizeless_ = false;
  Duration read_time_{0};
};

}  // namespace weft::storage
