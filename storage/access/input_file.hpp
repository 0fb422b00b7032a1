// A file of this machine or of the cluster, open for reading at any place.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "storage/access/remote.hpp"
#include "storage/access/remote_views.hpp"

namespace weft::storage {

/// One thread at a time. Errors name the path.
class InputFile {
 public:
  /// A local file must be a regular one. `remote` has the files that are not local; it outlives this. When it is known
  /// which file was `listed`, another one is the error of check_same(), and nothing is read behind what was listed.
  static Result<InputFile> open(const std::string& path, RemoteFiles* remote, const FileVersion& listed = {});

  const std::string& path() const { return path_; }
  /// When it was listed or, if that is not known, opened.
  std::uint64_t size() const { return size_; }
  /// An error when it was written to since it was listed: what was read may be of before and after. One that was replaced since it
  /// was opened is still the same. Files that are not local check that themselves.
  Result<void> check_unchanged() const;
  /// As RemoteFile::will_read().
  void will_read(std::uint64_t begin, std::uint64_t end) {
    if (remote_) remote_->will_read(begin, end);
  }
  bool is_local() const { return fd_.valid(); }
  /// Fills `into` from `offset` on; a local file may give less before its end, and at least one byte.
  Result<std::size_t> read(std::uint64_t offset, MutableBytes into);
  /// To read it without a copy; null when it cannot be.
  RemoteViews* views() const { return dynamic_cast<RemoteViews*>(remote_.get()); }

 private:
  std::string path_;
  std::uint64_t size_ = 0;
  FileVersion listed_;
  Fd fd_;                               // of a local file
  std::unique_ptr<RemoteFile> remote_;  // of one of the cluster
};

}  // namespace weft::storage
