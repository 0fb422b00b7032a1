// The files of a cluster, for the command line, jobs and users' programs.
//
//   auto files = FileSystem::connect("master:7077");
//   auto writer = (*files)->create("/data/words", {});
//   (*writer)->append(bytes); (*writer)->close();      // now it is there, on as many workers as it should
//
// Paths are absolute, "/a/b" or "weft://a/b" (storage/namespace/path.hpp). Errors name them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "storage/files/protocol.hpp"
#include "storage/transfer/rack_traffic.hpp"

namespace weft::storage::files {

struct FileSystemOptions {
  std::string user;       // for whom it asks, and the owner of what is made; empty: the user of the process
  std::string writer;     // host or name of the worker on this machine: first replicas go there; empty: this machine's name
  std::string directory;  // writers keep the chunk they write in an unlinked file there; empty: in memory
  Duration patience = std::chrono::seconds(30);     // for a master, workers or replicas that are away
  Duration at_first = std::chrono::seconds(5);      // for a master that has not answered yet; `patience` at most
  std::function<void(const std::string&)> waiting;  // called once with what a call waits for, when that takes a while. Any thread
  bool share = true;                                // chunks of workers on this machine are read from their files
  std::shared_ptr<RackTally> racks = std::make_shared<RackTally>();  // as ChunkClientOptions::racks
};

/// Reads a file as it was when it was opened. When it is replaced or removed meanwhile, reads what is still there, then fails with
/// an error that says so. One thread at a time; every byte was checked.
class FileReader {
 public:
  virtual ~FileReader() = default;
  virtual const FileStatus& status() const = 0;
  /// Fills `into` from `offset` on; fewer bytes only at the file's end. A replica that fails is replaced by another.
  virtual Result<std::size_t> read(std::uint64_t offset, MutableBytes into) = 0;
  /// As RemoteFile::will_read(): the file is read on until `end`, and what is behind that is not read ahead. Unless it is
  /// called, a reader that continues where the last call ended reads the whole file ahead.
  virtual void will_read(std::uint64_t end) = 0;
  /// As read(), and continues where no replica is good: what cannot be read is zeros, and its ranges in the file are returned.
  /// Replicas that may come back are waited for once per chunk.
  virtual Salvaged salvage(std::uint64_t offset, MutableBytes into) = 0;
  /// The parts of that range that salvage() could not read. Reads all of it.
  std::vector<ByteRange> missing(ByteRange range);
  /// Bytes read so far from files of this machine, and from elsewhere.
  virtual std::uint64_t local_bytes() const = 0;
  virtual std::uint64_t remote_bytes() const = 0;
};

/// Writes a new file. One thread at a time. It appears with close(), complete; destroyed before, it leaves nothing.
class FileWriter {
 public:
  virtual ~FileWriter() = default;
  /// How many bytes will be appended in all: room is looked for and reserved accordingly. Unless it is called, workers with little
  /// room are taken as well, and a chunk that outgrows one begins again elsewhere. Before the first append().
  virtual void expect(std::uint64_t bytes) = 0;
  virtual Result<void> append(ByteView bytes) = 0;
  /// Returns when every chunk is durable on all its workers, or on fewer if some failed: see short_chunks(). After success the file
  /// is there.
  virtual Result<void> close() = 0;
  virtual std::uint64_t bytes() const = 0;
  /// Chunks with fewer replicas than wanted so far; the master has more made.
  virtual std::uint64_t short_chunks() const = 0;
};

/// "bytes 0 to 99, 300 to 399 and 7 more ranges".
std::string ranges_text(const std::vector<ByteRange>& ranges, std::size_t most);

/// The directory is removed with this object, or a minute after its process died, unless it was renamed by then. Any thread.
class DirectoryLease {
 public:
  virtual ~DirectoryLease() = default;
  /// The directory stays for a minute, as if this process had died.
  virtual void leave() = 0;
};

/// A piece of a file with the hosts that hold it.
struct FilePiece {
  std::uint64_t offset = 0, length = 0;
  std::vector<std::string> hosts;
};
/// A file and all of it in pieces, in order.
struct FileLayout {
  FileStatus file;
  std::vector<FilePiece> pieces;
};
struct FileReport {
  StorageReport storage;
  std::vector<UserStatus> users;
};

/// Any thread. Calls block; a master that is away or restarting is waited for. Outlives its readers and writers.
class FileSystem {
 public:
  /// Waits for a master that is away. `unavailable` names the address when none answers there in time.
  static Result<std::shared_ptr<FileSystem>> connect(const std::string& master, FileSystemOptions options = {});
  virtual ~FileSystem() = default;

  virtual Result<std::unique_ptr<FileReader>> open(const std::string& path) = 0;
  virtual Result<std::unique_ptr<FileWriter>> create(const std::string& path, const CreateOptions& options) = 0;

  virtual Result<FileStatus> stat(const std::string& path) = 0;
  /// All entries of a directory in order of their names, or the file itself.
  virtual Result<std::vector<FileStatus>> list(const std::string& path) = 0;
  /// The chunks of a file as they lie.
  virtual Result<FileLayout> layout(const std::string& path) = 0;
  virtual Result<void> make_directory(const std::string& path, bool parents) = 0;
  /// A new directory, removed with all below it at the end of its lease: for files that have no final name yet. With `take_over`
  /// also one that the user has leased before; the earlier lease is over then, and the directory stays. The name must be one that
  /// no other process makes up, as those of work directories with their tokens are: when a master ended before its answer, a
  /// directory of that name that the user has leased is taken for the one that it made.
  virtual Result<std::unique_ptr<DirectoryLease>> lease_directory(const std::string& path, bool take_over) = 0;
  virtual Result<void> remove(const std::string& path, bool recursive) = 0;
  virtual Result<void> rename(const std::string& from, const std::string& to, bool replace) = 0;
  virtual Result<void> set_replication(const std::string& path, std::uint32_t replication) = 0;
  /// POSIX's digits without groups (0644); `recursive`: also of all below.
  virtual Result<void> set_mode(const std::string& path, std::uint32_t mode, bool recursive) = 0;
  virtual Result<void> set_owner(const std::string& path, const std::string& user, bool recursive) = 0;
  virtual Result<Usage> usage(const std::string& path) = 0;
  /// Calls `visit` for every file below the path, in order, with the nodes that are named in it.
  using Visit = std::function<void(const FileChunks&, const std::vector<NodeSite>&)>;
  virtual Result<void> check(const std::string& path, const Visit& visit) = 0;
  virtual Result<FileReport> report() = 0;
  virtual Result<void> set_quota(const std::string& user, const Quota& quota) = 0;
  virtual Result<void> drain(const std::string& worker, bool on) = 0;
  virtual Result<void> balance(double threshold) = 0;
  virtual Result<void> leave_safe_mode() = 0;

  /// Paths that match a pattern (*, ?, [a-z] within a name), in order; the path itself when it is none. not_found when none
  /// matches.
  Result<std::vector<std::string>> glob(const std::string& pattern);
};

}  // namespace weft::storage::files
