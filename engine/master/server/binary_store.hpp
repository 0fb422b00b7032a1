// Uploaded job programs by the hash of their content.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/bytes.hpp"
#include "base/hash.hpp"
#include "base/result.hpp"

namespace weft::master {

/// That a master keeps besides those of jobs that run.
inline constexpr std::uint64_t kMostProgramBytes = std::uint64_t{4} << 30;

/// One thread.
class BinaryStore {
 public:
  /// Whether a program that write() accepted is still there after a power failure.
  enum class Keep : std::uint8_t { for_this_run, durably };
  using Wanted = std::function<std::set<Hash128>()>;

  /// `directory` exists; programs found in it are offered after their content was checked.
  BinaryStore(std::string directory, Keep keep) : directory_(std::move(directory)), keep_(keep) {}

  /// From now on this is called with every program that write() has accepted and that was not known before, or that mention()
  /// names.
  void on_new(std::function<void(const Hash128&)> call) { on_new_ = std::move(call); }
  /// A program that may be known is needed again.
  void mention(const Hash128& binary);
  /// From now on clean() is done with these whenever a program was added.
  void bound(std::uint64_t most, Wanted wanted) {
    most_ = most;
    wanted_ = std::move(wanted);
  }

  bool knows(const Hash128& binary);
  /// Removes what uploads of earlier masters left and, while the programs take more than `most` bytes together, those that were
  /// needed the longest ago and are not `wanted`, which is called only then. Errors of the disk are passed over.
  void clean(const Wanted& wanted, std::uint64_t most);
  /// One piece of an upload, in order of the offsets; the last one is checked against the hash. A program known already is accepted
  /// and dropped. Several may upload the same.
  Result<void> write(const Hash128& binary, std::uint64_t offset, std::uint64_t total, ByteView bytes);
  struct Piece {
    Buffer bytes;
    std::uint64_t total = 0;
  };
  Result<Piece> read(const Hash128& binary, std::uint64_t offset, std::uint64_t most) const;

 private:
  std::string path(const Hash128& binary) const;

  std::string directory_;
  Keep keep_;
  std::map<Hash128, std::uint64_t> sizes_;  // of the complete ones
  std::function<void(const Hash128&)> on_new_;
  std::uint64_t most_ = 0;  // bytes of programs
  Wanted wanted_;
  std::set<Hash128> begun_;  // of which this object has made the partial file
};

}  // namespace weft::master
