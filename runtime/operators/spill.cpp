#include "runtime/operators/spill.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>

#include <fmt/core.h>
#include <lz4.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/crc32c.hpp"
#include "base/unlinked_file.hpp"

namespace weft::runtime {
namespace {

/// The error, or 0.
int write_all(int fd, ByteView bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return 0;
}

int read_all(int fd, MutableBytes bytes, std::uint64_t offset, const std::string& directory) {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0)
      throw TaskError{Error(Code::corrupt, "a spill file in " + directory + " became shorter than what was written to it")};
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return 0;
}

/// The compressed size, or 0 when compression does not pay.
std::size_t compress(ByteView records, Encoder& stored) {
  if (records.size() < 64 || records.size() > LZ4_MAX_INPUT_SIZE) return 0;
  const int bound = LZ4_compressBound(static_cast<int>(records.size()));
  stored.clear();
  auto* target = reinterpret_cast<char*>(stored.grow(static_cast<std::size_t>(bound)));
  const int size =
      LZ4_compress_default(reinterpret_cast<const char*>(records.data()), target, static_cast<int>(records.size()), bound);
  const bool pays = size > 0 && static_cast<std::size_t>(size) < records.size() - records.size() / 8;
  return pays ? static_cast<std::size_t>(size) : 0;
}

}  // namespace

void SpillFile::open() {
  auto file = unlinked_file(context_.spill_directory);
  if (!file) fail(std::move(file).error().wrap("cannot spill"));
  fd_ = std::move(*file);
}

void SpillFile::fail_errno(const char* what, int error) const {
  fail(errno_error(fmt::format("{} {}", what, context_.spill_directory), error));
}

void SpillFile::fail(Error why) const {
  if (owner_ != nullptr)
    why = std::move(why).wrap(fmt::format("{} needs more than the {} bytes of memory it may use", owner_->name(), owner_->limit()));
  throw TaskError{std::move(why)};
}

SpillBlock SpillFile::append(ByteView records) {
  if (!fd_.valid()) open();
  const SystemClock clock;
  const TimePoint start = clock.now();
  ByteView bytes = records;
  if (choice_.try_next()) {
    if (const std::size_t size = compress(records, stored_); size != 0) bytes = stored_.view().first(size);
    choice_.compressed(records.size(), bytes.size(), clock.now() - start);
  }
  const SpillBlock block{end_, bytes.size(), records.size(), crc32c(bytes)};
  const TimePoint writing = clock.now();
  if (const int error = write_all(fd_.get(), bytes, end_)) fail_errno("cannot spill to", error);
  choice_.written(bytes.size(), clock.now() - writing);
  end_ += bytes.size();
  if (context_.spilled_bytes == 0) context_.spill_began = start;
  context_.spilled_bytes += bytes.size();
  context_.spill_time += clock.now() - start;
  return block;
}

ByteView SpillFile::read(const SpillBlock& block, Encoder& space) {
  const bool compressed = block.stored != block.size;
  Encoder& target = compressed ? stored_ : space;
  target.clear();
  const MutableBytes bytes{target.grow(block.stored), block.stored};
  if (const int error = read_all(fd_.get(), bytes, block.offset, context_.spill_directory))
    fail_errno("cannot read a spill file in", error);
  if (crc32c(bytes) != block.crc32c) {
    throw TaskError{
        Error(Code::corrupt, fmt::format("a block of {} bytes of a spill file in {} does not match its checksum; check that disk",
                                         block.stored, context_.spill_directory))};
  }
  if (!compressed) return space.view();
  space.clear();
  auto* records = reinterpret_cast<char*>(space.grow(block.size));
  const int size = LZ4_decompress_safe(reinterpret_cast<const char*>(bytes.data()), records, static_cast<int>(block.stored),
                                       static_cast<int>(block.size));
  if (size < 0 || static_cast<std::uint64_t>(size) != block.size) {
    throw TaskError{Error(Code::corrupt, "a block of a spill file in " + context_.spill_directory + " does not decompress")};
  }
  return space.view();
}

void SpillWriter::end() {
  const std::size_t size = buffer_.size() - start_ - sizeof(std::uint32_t);
  if (size > std::numeric_limits<std::uint32_t>::max()) {
    throw TaskError{Error(Code::resource_exhausted, "a record of more than 4 GiB cannot be spilled")};
  }
  const auto prefix = static_cast<std::uint32_t>(size);
  std::memcpy(buffer_.grow(0) - sizeof(prefix) - size, &prefix, sizeof(prefix));
  ++run_.records;
  if (buffer_.size() < block_bytes_) return;
  run_.blocks.push_back(file_->append(buffer_.view()));
  buffer_.clear();
}

SpillRun SpillWriter::finish() {
  if (!buffer_.empty()) run_.blocks.push_back(file_->append(buffer_.view()));
  buffer_ = Encoder();
  return std::exchange(run_, {});
}

bool SpillReader::next(ByteView& record) {
  while (rest_.empty()) {
    if (next_block_ == run_.blocks.size()) return false;
    rest_ = Decoder(file_->read(run_.blocks[next_block_++], space_));
  }
  const auto size = rest_.take_value<std::uint32_t>();
  record = {rest_.take(size), size};
  return true;
}

}  // namespace weft::runtime
