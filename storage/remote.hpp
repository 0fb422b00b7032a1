// Files of the cluster as jobs see them: what readers, splits and outputs need, without saying how. storage/files has the real one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace weft::storage {

/// Whether an input or output of a job is no local path. ("weft://a/b" is the file or directory /a/b of the cluster.)
inline bool is_remote(std::string_view path) { return path.starts_with("weft://"); }

/// What the inputs of a job mean: paths of the files to read, each once, and what a user may not expect of them.
struct InputFiles {
  std::vector<std::string> paths;
  std::vector<std::string> skipped;  // left out of directories: the name begins with '.' or '_' (of a directory its own name alone)
  std::vector<std::string> repeated;  // files that inputs named more than once, or that patterns and directories have in common
  std::vector<std::string> empty;     // inputs without a file to read, as the user wrote them
};

/// Whether directories are read without it.
inline bool is_skipped(std::string_view name) { return name.starts_with('.') || name.starts_with('_'); }

/// One thread at a time.
class RemoteFile {
 public:
  virtual ~RemoteFile() = default;
  virtual std::uint64_t size() const = 0;
  /// Fills `into`; fewer bytes only at the file's end.
  virtual Result<std::size_t> read(std::uint64_t offset, MutableBytes into) = 0;
};

/// A new file; it appears with close(). Destroyed before, nothing of it stays. One thread at a time.
class RemoteOutput {
 public:
  virtual ~RemoteOutput() = default;
  virtual Result<void> append(ByteView bytes) = 0;
  virtual Result<void> close() = 0;
};

/// A piece of a file and the hosts that hold it.
struct RemotePiece {
  std::uint64_t offset = 0, length = 0;
  std::vector<std::string> hosts;
};

/// Any thread; calls block. Paths are URLs, and errors name them. Outlives the files it gave.
class RemoteFiles {
 public:
  virtual ~RemoteFiles() = default;
  /// The files that an input means: itself, all below a directory (but names that begin with . or _), those that match a pattern.
  virtual Result<InputFiles> expand(const std::string& input) = 0;
  /// All of the file, in order.
  virtual Result<std::vector<RemotePiece>> pieces(const std::string& path) = 0;
  virtual Result<std::unique_ptr<RemoteFile>> open(const std::string& path) = 0;
  virtual Result<std::unique_ptr<RemoteOutput>> create(const std::string& path) = 0;

  /// One way to write the path; invalid_argument when it is none.
  virtual Result<std::string> normal(const std::string& path) = 0;
  virtual Result<bool> exists(const std::string& path) = 0;
  virtual Result<void> make_directory(const std::string& path) = 0;  // goes when this process does, unless it was renamed
  /// Names in a directory.
  virtual Result<std::vector<std::string>> names(const std::string& directory) = 0;
  /// In one step; with `replace`, what is at `to` goes.
  virtual Result<void> rename(const std::string& from, const std::string& to, bool replace) = 0;
  /// With all below it.
  virtual Result<void> remove(const std::string& path) = 0;
};

}  // namespace weft::storage
