// Uploaded job programs, by the hash of their content and the user whose jobs run them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/bytes.hpp"
#include "base/hash.hpp"
#include "base/hasher.hpp"
#include "base/result.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "runtime/protocol/program_id.hpp"

namespace weft::master {

/// That a master keeps besides those of jobs that run.
inline constexpr std::uint64_t kMostProgramBytes = std::uint64_t{4} << 30;
/// Of unfinished uploads of one user.
inline constexpr std::uint64_t kMostUploadBytes = std::uint64_t{8} << 30;

using runtime::protocol::ProgramId;

/// Of a job that brings its own program.
inline ProgramId program_of(const client::Submit& submit) { return {submit.binary, submit.options.user}; }

/// For whose jobs these pieces of a program are, and by which connection they came.
struct Uploader {
  std::string user{};
  const void* connection = nullptr;
};

/// One thread.
class BinaryStore {
 public:
  /// Whether a program that write() accepted is still there after a power failure.
  enum class Keep : std::uint8_t { for_this_run, durably };
  using Wanted = std::function<std::set<ProgramId>()>;

  /// `directory` exists; programs found in it are offered after their content was checked.
  /// `most_begun`: bytes of unfinished uploads that one user may have at a time.
  BinaryStore(std::string directory, Keep keep, std::uint64_t most_begun = kMostUploadBytes)
      : directory_(std::move(directory)), keep_(keep), most_begun_(most_begun) {}

  /// From now on this is called with every program that write() has accepted and that was not known before, or that mention()
  /// names.
  void on_new(std::function<void(const ProgramId&)> call) { on_new_ = std::move(call); }
  /// A program that may be known is needed again.
  void mention(const ProgramId& program);
  /// From now on clean() is done with these whenever a program was added.
  void bound(std::uint64_t most, Wanted wanted) {
    most_ = most;
    wanted_ = std::move(wanted);
  }

  /// Whether the program is complete and its file is there, as workers can fetch it. One whose file was removed, or has another
  /// size than before, is forgotten, so that it is uploaded again.
  bool knows(const ProgramId& program);
  /// As knows(), of a job of the master before. When that was of a release that kept programs under their hash alone, the file with
  /// this hash becomes the user's, too.
  bool recover(const ProgramId& program);
  /// Ends a recovery: what is kept for no user goes, except the `wanted`. Otherwise a job of later could recover it.
  void end_recovery(const std::set<ProgramId>& wanted);
  /// Removes what uploads of earlier masters left and, while the programs take more than `most` bytes together, those that were
  /// needed the longest ago and are not `wanted`, which is called only then. Errors of the disk are passed over.
  void clean(const Wanted& wanted, std::uint64_t most);
  /// One piece of an upload, in order of the offsets. The last one completes the program, if that has the hash it was announced
  /// with: otherwise corrupt. It is then a program of the uploader's user, and of nobody else. One that this user has already is
  /// accepted and dropped. Several may upload the same: those of one user add to one file. invalid_argument: pieces in front of
  /// this one are missing, or it lies outside the program. resource_exhausted: the user's unfinished uploads take too much. After
  /// these and errors of the disk an upload begins again.
  Result<void> write(const Uploader& uploader, const Hash128& binary, std::uint64_t offset, std::uint64_t total, ByteView bytes);
  /// The connection is gone. What was uploaded by it alone, and is unfinished, is removed.
  void forget(const void* connection);
  struct Piece {
    Buffer bytes;
    std::uint64_t total = 0;
  };
  /// At most `most` bytes of a program that knows() has found, or write() accepted; otherwise not_found.
  Result<Piece> read(const ProgramId& program, std::uint64_t offset, std::uint64_t most) const;
  /// The only program with this hash that read() has, for workers of releases that name no user. not_found: there is none.
  /// version_mismatch: several users have one.
  Result<ProgramId> only_with(const Hash128& hash) const;

 private:
  struct Begun {
    std::string path;
    std::uint64_t total = 0;
    std::uint64_t size = 0;  // so far
    Hasher128 hasher{};      // of what came so far
    std::set<const void*> connections{};
  };
  using BegunUploads = std::map<std::pair<std::string, Hash128>, Begun>;  // by user and program

  std::string path(const ProgramId& program) const;
  /// The upload, which may begin here.
  Result<BegunUploads::iterator> begun(const Uploader& uploader, const Hash128& binary, std::uint64_t total);
  std::uint64_t bytes_begun_by(const std::string& user) const;
  Result<void> append(const Begun& begun, ByteView bytes) const;
  /// All of it is there.
  Result<void> complete(BegunUploads::iterator upload);
  void drop(BegunUploads::iterator begun);

  std::string directory_;
  Keep keep_;
  std::uint64_t most_begun_;
  std::map<ProgramId, std::uint64_t> sizes_;  // of the complete ones
  std::function<void(const ProgramId&)> on_new_;
  std::uint64_t most_ = 0;  // bytes of programs
  Wanted wanted_;
  BegunUploads begun_;
  std::uint64_t uploads_ = 0;  // that began
};

}  // namespace weft::master
