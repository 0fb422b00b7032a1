// Files that are not on this machine as jobs see them: what readers, splits and outputs need, without saying how. storage/files has
// those of the cluster, storage/objects those of S3 services, storage/hdfs those of HDFS.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "storage/access/file_version.hpp"

namespace weft::storage {

/// What URLs of stores begin with that are neither this machine nor the cluster: S3 services ("s3://bucket/key") and HDFS
/// ("hdfs://host/path"). storage/files/foreign_stores.cpp has the stores.
inline constexpr std::array<std::string_view, 3> kForeignSchemes{"s3://", "hdfs://", "webhdfs://"};

/// Whether a path belongs to such a store.
constexpr bool is_foreign(std::string_view path) {
  for (const std::string_view scheme : kForeignSchemes)
    if (path.starts_with(scheme)) return true;
  return false;
}

/// Whether an input or output of a job is not a local path. ("weft://a/b" is the file or directory /a/b of the cluster.)
inline bool is_remote(std::string_view path) { return path.starts_with("weft://") || is_foreign(path); }

/// What the inputs of a job mean: paths of the files to read, each once, and what a user may not expect of them.
struct InputFiles {
  std::vector<std::string> paths;
  std::vector<FileVersion> versions;  // of `paths`, in their order
  std::vector<std::string> skipped;  // left out of directories: the name begins with '.' or '_' (of a directory its own name alone)
  /// Files that inputs named more than once, or that patterns and directories have in common; names of links to what is read
  /// anyway.
  std::vector<std::string> repeated;
  std::vector<std::string> empty;  // inputs without a file to read, as the user wrote them
  std::size_t unwanted = 0;        // directories that were not listed, for a DirectoryFilter
};

/// Whether a directory of that name (without the path to it) may hold files that are wanted. Empty: all may.
using DirectoryFilter = std::function<bool(std::string_view name)>;

/// Whether reading a directory leaves out the name.
inline bool is_skipped(std::string_view name) { return name.starts_with('.') || name.starts_with('_'); }

/// One thread at a time.
class RemoteFile {
 public:
  virtual ~RemoteFile() = default;
  virtual std::uint64_t size() const = 0;
  /// Fills `into`; fewer bytes only at the file's end.
  virtual Result<std::size_t> read(std::uint64_t offset, MutableBytes into) = 0;
  /// These bytes will be read next, in order, and perhaps a few behind them: worth reading ahead.
  virtual void will_read(std::uint64_t /*begin*/, std::uint64_t /*end*/) {}
};

/// A new file, which appears with close() (one of RemotePublisher::stage() with publish()). Destroyed before, it leaves nothing.
/// One thread at a time.
class RemoteOutput {
 public:
  virtual ~RemoteOutput() = default;
  virtual Result<void> append(ByteView bytes) = 0;
  virtual Result<void> close() = 0;
  /// What publish() needs to know of a file that was staged and closed.
  virtual std::string receipt() const { return {}; }
};

/// A file that publish() makes appear.
struct StagedFile {
  std::string path;
  std::string receipt;  // empty: an empty file
};

/// What says that an output is complete: it appears last.
struct LastFile {
  std::string path;
  std::string text;
};

/// Of what is where an output appears.
enum class Replaced : std::uint8_t {
  nothing,
  directories,  // those that new files are in, with all below them; no new file is in the output's own
  all,
};

/// How a job's output appears in a store that cannot rename: its tasks stage files, wherever they run, and the driver publishes
/// them. Any thread; calls block.
class RemotePublisher {
 public:
  virtual ~RemotePublisher() = default;
  /// An error, in time, when outputs cannot be written there.
  virtual Result<void> check_writable(const std::string& directory) = 0;
  /// A file that close() completes but does not show. Several attempts may stage the same path.
  virtual Result<std::unique_ptr<RemoteOutput>> stage(const std::string& path) = 0;
  /// Makes the files appear below the directory, each whole, then `last`. All other files that are `replaced` are removed before
  /// `last` appears. All else that was staged there is discarded. On failure, what has appeared is removed again, if nothing was to
  /// be replaced and `last` has no text. With one, the same files may be published by another process, too, when the one that began
  /// is killed or meanwhile: what has appeared stays, the rest follows.
  virtual Result<void> publish(const std::string& directory, const std::vector<StagedFile>& files, const LastFile& last,
                               Replaced replaced) = 0;
  /// Discards all that was staged below the directory.
  virtual Result<void> discard(const std::string& directory) = 0;
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
  /// The files that an input means: itself, all below a directory (except names that begin with . or _), those that match a
  /// pattern. Directories below it that `wanted` refuses need not be listed.
  virtual Result<InputFiles> expand(const std::string& input, const DirectoryFilter& wanted) = 0;
  Result<InputFiles> expand(const std::string& input) { return expand(input, {}); }
  /// All of the file, in order; of one that was listed and may grow, as far as it was listed. A file that is no longer what was
  /// listed is the error of check_same(), which may also come when it is read, but before its last byte.
  virtual Result<std::vector<RemotePiece>> pieces(const std::string& path, const FileVersion& listed) = 0;
  virtual Result<std::unique_ptr<RemoteFile>> open(const std::string& path, const FileVersion& listed) = 0;
  /// Of the file as it is now.
  Result<std::vector<RemotePiece>> pieces(const std::string& path);
  Result<std::unique_ptr<RemoteFile>> open(const std::string& path);
  virtual Result<std::unique_ptr<RemoteOutput>> create(const std::string& path) = 0;

  /// One way to write the path; invalid_argument when it is none.
  virtual Result<std::string> normal(const std::string& path) = 0;
  virtual Result<bool> exists(const std::string& path) = 0;
  virtual Result<void> make_directory(const std::string& path) = 0;  // removed when this process ends, unless it was renamed
  /// The same for a directory that a process made which has ended meanwhile, a moment ago. Made when it is not there.
  virtual Result<void> take_over_directory(const std::string& path);
  /// A directory within one of make_directory(), with which it goes and which keeps it. Made when it is not there.
  virtual Result<void> make_subdirectory(const std::string& path);
  /// A directory of make_directory() and what is in it stay for a moment, for another process to take over.
  virtual void leave_directory(const std::string& /*path*/) {}
  /// Names in a directory.
  virtual Result<std::vector<std::string>> names(const std::string& directory) = 0;
  /// In one step; with `replace`, what is at `to` goes.
  virtual Result<void> rename(const std::string& from, const std::string& to, bool replace) = 0;
  /// With all below it.
  virtual Result<void> remove(const std::string& path) = 0;

  /// How outputs of this path appear; null: by renaming.
  virtual RemotePublisher* publisher(const std::string& /*path*/) { return nullptr; }
  /// Directories that make_directory() made stay when this process is killed, so that somebody must remove them.
  virtual bool leaves_directories(const std::string& /*path*/) { return false; }
};

/// What a file, a directory or a prefix of objects is, for people.
struct ForeignEntry {
  std::string url;
  bool directory = false;
  std::uint64_t bytes = 0;
  std::string modified{};  // as the store writes it
};

/// A store that is not the cluster's.
class ForeignFiles : public RemoteFiles {
 public:
  /// What is in a directory, or the file itself; of patterns all that match. not_found when there is nothing.
  virtual Result<std::vector<ForeignEntry>> entries(const std::string& url) = 0;
  /// Whether something copied to the path goes into it. Where directories are only names, a slash at the end says so.
  virtual Result<bool> is_directory(const std::string& /*url*/) { return false; }
};

}  // namespace weft::storage
