// A file that a user named for what weft writes: --stats, --port-file, `weft fs get … FILE`. All of them are written here, so
// that a name means the same everywhere:
//
//   nothing yet, or a regular file   written beside under another name and renamed when it is complete: it is there whole or as it
//                                    was before. Links are followed to the file that they name, also when there is none yet. Only a
//                                    file that is mounted by itself is overwritten.
//   /dev/stdout, /dev/fd/N           the open descriptor, behind what was written to it before
//   a device, a pipe, another's fd   opened and written; opening a pipe waits for its reader
//   a directory                      refused
//
// All functions block, and all errors name the file as the user wrote it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"

namespace weft {

/// Of a regular file that is there. What is opened and written is neither: nothing of it is lost.
enum class IfExists : std::uint8_t {
  replace,
  refuse,  // already_exists, which names --overwrite, also when it appears while ours is written
};

/// The path with its links followed when it means a regular file or none yet, and may be renamed to; nothing when it means
/// something that is opened and written. invalid_argument: a directory, no name, links in a circle.
Result<std::optional<std::string>> replaceable_file(const std::string& path);

/// What will keep the file from being written, as far as that is known without writing it.
Result<void> check_named_file(const std::string& path, IfExists exists);

/// The file while it is written. Destroyed without close(), nothing of a regular file stays. One thread at a time.
class NamedFile {
 public:
  /// A file that takes the place of another has its permissions, and its owner where that is allowed.
  static Result<NamedFile> create(const std::string& path, IfExists exists);
  NamedFile(NamedFile&& other) noexcept { *this = std::move(other); }
  NamedFile& operator=(NamedFile&& other) noexcept;
  ~NamedFile() { discard(); }

  Result<void> append(ByteView bytes);
  /// To write to directly.
  int fd() const { return fd_.get(); }
  /// Makes it durable and gives it its name. Once, last; after an error what was there before is there.
  Result<void> close();

 private:
  explicit NamedFile(std::string path) : path_(std::move(path)) {}
  Result<void> open_beside(const std::string& target);
  Result<void> rename();
  Result<void> copy_over();
  void discard();

  std::string path_;       // as the user wrote it
  std::string target_;     // that it will have; empty: it is written where it is
  std::string temporary_;  // that it has now; empty: none
  IfExists exists_ = IfExists::replace;
  Fd fd_;
};

/// The name, or of one that is too long its beginning and a hash of all of it: so that names may be made of it (at most 75 bytes
/// more), such as that of a directory that is renamed later. Text stays text.
std::string short_name(std::string_view name);

/// All of it at once.
Result<void> write_named_file(const std::string& path, std::string_view content, IfExists exists);

}  // namespace weft
