#include "engine/master/journal/journal_reader.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.hpp"

namespace weft::master {

namespace {

constexpr std::uint64_t kSector = 512;  // what a disk writes whole or not at all
constexpr std::size_t kBlock = 64u << 10;

}  // namespace

Result<JournalReader> JournalReader::start(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return fail(errno_error("cannot look at it", errno));
  JournalReader reader(fd, static_cast<std::uint64_t>(status.st_size));
  WEFT_ASSIGN(const std::uint64_t content, reader.end_of_content());
  if (content == 0) return reader;
  std::array<std::byte, kJournalHeaderBytes> header{};
  const std::size_t there = std::min<std::size_t>(reader.size_, header.size());
  WEFT_TRY(reader.read(0, std::span(header).first(there)));
  if (there < header.size()) {
    if (!journal_header().starts_with(as_chars(std::span(header).first(there)))) return fail(no_journal());
    return reader;
  }
  WEFT_ASSIGN(reader.version_, read_journal_header(header));
  reader.offset_ = kJournalHeaderBytes;
  return reader;
}

Result<void> JournalReader::read(std::uint64_t offset, MutableBytes to) const {
  while (!to.empty()) {
    const ssize_t got = ::pread(fd_, to.data(), to.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errno_error("cannot read it", errno));
    if (got == 0) return fail(Code::io, "it became shorter while it was read");
    offset += static_cast<std::uint64_t>(got);
    to = to.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

/// Behind the last byte from offset() on that is not zero; offset() when there is none.
Result<std::uint64_t> JournalReader::end_of_content() const {
  Buffer block(kBlock);
  std::uint64_t end = size_;
  while (end > offset_) {
    const std::uint64_t begin = std::max(offset_, end - std::min<std::uint64_t>(end, kBlock));
    const MutableBytes bytes = block.span().first(static_cast<std::size_t>(end - begin));
    WEFT_TRY(read(begin, bytes));
    const auto last = std::find_if(bytes.rbegin(), bytes.rend(), [](std::byte byte) { return byte != std::byte{0}; });
    if (last != bytes.rend()) return begin + static_cast<std::uint64_t>(bytes.rend() - last);
    end = begin;
  }
  return offset_;
}

/// Whether what makes the record at offset() bad is what a crash leaves: sectors from some point within it to the end of the file
/// were never written and are zero.
Result<bool> JournalReader::torn(std::uint64_t frame_end) const {
  WEFT_ASSIGN(const std::uint64_t content, end_of_content());
  return content == offset_ || (content + kSector - 1) / kSector * kSector < frame_end;
}

Result<std::optional<JournalRecord>> JournalReader::next() {
  const std::uint64_t rest = size_ - offset_;
  if (offset_ == 0 || rest < kRecordHeaderBytes) return std::nullopt;
  std::array<std::byte, kRecordHeaderBytes> head{};
  WEFT_TRY(read(offset_, head));
  const auto header = read_record_header(head);
  if (!header) {
    WEFT_ASSIGN(const bool by_crash, torn(offset_ + kRecordHeaderBytes));
    if (by_crash) return std::nullopt;
    return fail(Code::corrupt, "the checksum of a record's header is wrong");
  }
  if (rest - kRecordHeaderBytes < header->length) return std::nullopt;
  Buffer frame(kRecordHeaderBytes + header->length);
  WEFT_TRY(read(offset_, frame.span()));
  const ByteView payload = frame.view().subspan(kRecordHeaderBytes);
  if (crc32c(payload) != header->checksum) {
    WEFT_ASSIGN(const bool by_crash, torn(offset_ + frame.size()));
    if (by_crash) return std::nullopt;
    return fail(Code::corrupt, "the checksum of a record is wrong");
  }
  WEFT_ASSIGN(JournalRecord record, decode_record(payload));
  offset_ += frame.size();
  frame_ = std::move(frame);
  return record;
}

Result<bool> JournalReader::skip_damage() {
  Buffer block(kBlock);
  for (std::uint64_t begin = offset_ + 1; begin + kRecordHeaderBytes <= size_; begin += kBlock - kRecordHeaderBytes + 1) {
    const MutableBytes bytes = block.span().first(static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, size_ - begin)));
    WEFT_TRY(read(begin, bytes));
    for (std::size_t at = 0; at + kRecordHeaderBytes <= bytes.size(); ++at) {
      if (!read_record_header(ByteView(bytes).subspan(at, kRecordHeaderBytes))) continue;
      offset_ = begin + at;
      const auto found = next();
      if (found && *found) {
        offset_ = begin + at;
        return true;
      }
      if (!found && found.error().code() != Code::corrupt) return fail(found.error());
    }
  }
  return false;
}

}  // namespace weft::master
