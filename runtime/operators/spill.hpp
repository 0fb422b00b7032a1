// Where operators put what does not fit in memory: an unlinked temporary file of blocks, each compressed with LZ4 where that
// pays (compression_choice.hpp) and protected by a CRC32C. The index of the blocks stays in memory, so the file itself is never
// parsed.
//
//   block   := stored bytes (LZ4 or plain)        record in a block := u32 size | size bytes
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.hpp"
#include "base/codec.hpp"
#include "base/fd.hpp"
#include "runtime/operators/account.hpp"
#include "runtime/operators/compression_choice.hpp"
#include "runtime/operators/fault.hpp"
#include "runtime/operators/memory.hpp"

namespace weft::runtime {

struct SpillBlock {
  std::uint64_t offset = 0;
  std::uint64_t stored = 0;  // bytes in the file
  std::uint64_t size = 0;    // bytes of records; equal to `stored` when not compressed
  std::uint32_t crc32c = 0;  // of the stored bytes
};

/// Appends and reads blocks. One thread. Throws TaskError: resource_exhausted when the disk is full, corrupt when a block was
/// damaged, io otherwise. The file is created with the first block and vanishes with this object.
class SpillFile {
 public:
  explicit SpillFile(OperatorContext& context) : context_(context) {}
  /// Errors name the account's operator and its budget. The account must outlive the file.
  explicit SpillFile(const Account& owner) : context_(owner.context()), owner_(&owner) {}

  SpillBlock append(ByteView records);
  /// The records of a block, in `space` (which grows as needed) until it is used again.
  ByteView read(const SpillBlock& block, Encoder& space);
  /// The open file, invalid before the first block.
  const Fd& fd() const { return fd_; }

 private:
  void open();
  [[noreturn]] void fail_errno(const char* what, int error) const;
  [[noreturn]] void fail(Error why) const;

  OperatorContext& context_;
  const Account* owner_ = nullptr;
  Fd fd_;
  std::uint64_t end_ = 0;
  CompressionChoice choice_;
  Encoder stored_;
};

/// Records that were written together, to be read in the same order.
struct SpillRun {
  std::vector<SpillBlock> blocks;
  std::uint64_t records = 0;
};

/// Writes one run. Records never straddle blocks; a record larger than a block makes a larger block.
class SpillWriter {
 public:
  SpillWriter(SpillFile& file, std::size_t block_bytes) : file_(&file), block_bytes_(block_bytes) {}

  /// Where to encode the next record; end() follows.
  Encoder& begin() {
    start_ = buffer_.size();
    buffer_.append_value(std::uint32_t{0});
    return buffer_;
  }
  void end();
  void write(ByteView record) {
    begin().append(record);
    end();
  }
  SpillRun finish();

 private:
  SpillFile* file_;
  std::size_t block_bytes_;
  Encoder buffer_;
  std::size_t start_ = 0;
  SpillRun run_;
};

/// Reads one run, block after block.
class SpillReader {
 public:
  SpillReader(SpillFile& file, SpillRun run) : file_(&file), run_(std::move(run)) {}

  /// False at the end. The record is valid until the next call.
  bool next(ByteView& record);

 private:
  SpillFile* file_;
  SpillRun run_;
  std::size_t next_block_ = 0;
  Encoder space_;
  Decoder rest_{ByteView()};
};

}  // namespace weft::runtime
