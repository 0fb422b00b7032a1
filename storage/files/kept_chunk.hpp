// The bytes of a chunk that is being written, kept until it is durable. Private to storage/files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"

namespace weft::storage::files {

class KeptChunk {
 public:
  /// In an unlinked file of that directory, which leaves it to the kernel how much of it is in memory; in memory when it is empty.
  /// A small chunk is in memory anyway: it needs no room on a disk that is full.
  explicit KeptChunk(std::string directory) : directory_(std::move(directory)) {}

  std::uint64_t size() const { return size_; }
  /// Errors name the directory.
  Result<void> append(ByteView bytes);
  /// All of them in order, in pieces, until `take` fails.
  Result<void> replay(const std::function<Result<void>(ByteView)>& take) const;
  void clear();

 private:
  static constexpr std::uint64_t kSmall = 64u << 10;

  bool in_memory() const { return memory_.size() == size_; }
  Result<void> append_to_file(ByteView bytes);

  const std::string directory_;
  std::string memory_;
  Fd file_;  // made when it is first needed
  std::uint64_t size_ = 0;
};

}  // namespace weft::storage::files
