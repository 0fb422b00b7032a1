// Reads the records of a journal file one after the other. What it takes of memory depends on the largest record, not on the file.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "engine/master/journal/journal_record.hpp"

namespace weft::master {

/// Owns no descriptor: `fd` must stay open. The file may grow meanwhile; what is behind its size at the start is not read.
class JournalReader {
 public:
  /// Reads the header. Errors: version_mismatch, corrupt (no journal), io. An empty file, and one that a crash cut within its
  /// header or filled with zeros, has no records and offset() is 0.
  static Result<JournalReader> start(int fd);

  /// The next record; nothing at the end of what is whole. Code::corrupt: the record at offset() is damaged, and the message says
  /// in what way.
  Result<std::optional<JournalRecord>> next();
  /// The record that next() gave, as it is in the file.
  ByteView frame() const { return frame_.view(); }

  /// The end of the last record that was read: where the next one begins.
  std::uint64_t offset() const { return offset_; }
  /// Of the file; that of this release where it has no header.
  std::uint32_t version() const { return version_; }
  /// Of the file, when it was opened.
  std::uint64_t size() const { return size_; }
  /// After next() failed: goes on at the next whole record. False when there is none.
  Result<bool> skip_damage();

 private:
  JournalReader(int fd, std::uint64_t size) : fd_(fd), size_(size) {}
  Result<void> read(std::uint64_t offset, MutableBytes to) const;
  Result<std::uint64_t> end_of_content() const;
  Result<bool> torn(std::uint64_t frame_end) const;

  int fd_;
  std::uint64_t size_;
  std::uint64_t offset_ = 0;
  std::uint32_t version_ = kJournalVersion;
  Buffer frame_;
};

}  // namespace weft::master
