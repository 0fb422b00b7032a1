// The compressed bytes that a decompressor is at.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "storage/access/input_file.hpp"

namespace weft::storage {

/// A piece of a file that slides over it. One thread.
class InputBuffer {
 public:
  InputBuffer(InputFile& file, std::size_t capacity) : file_(file), bytes_(capacity) {}

  InputFile& file() const { return file_; }
  /// What was read and not consumed; valid until the next more() or seek().
  ByteView view() const { return bytes_.view().subspan(begin_, end_ - begin_); }
  std::string_view text() const { return as_chars(view()); }
  /// Where in the file it begins.
  std::uint64_t offset() const { return offset_; }
  bool full() const { return end_ - begin_ == bytes_.size(); }

  void consume(std::size_t count) {
    begin_ += count;
    offset_ += count;
  }
  void seek(std::uint64_t offset) {
    offset_ = offset;
    begin_ = end_ = 0;
  }
  /// Adds at least a byte; false at the end of the file. Must not be full().
  Result<bool> more() {
    if (begin_ != 0) {
      std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    constexpr std::size_t kPiece = 256u << 10;
    const std::size_t room = std::min(bytes_.size() - end_, kPiece);
    WEFT_ASSIGN(const std::size_t count, file_.read(offset_ + end_, bytes_.span().subspan(end_, room)));
    end_ += count;
    return count != 0;
  }
  /// At least `count` bytes, unless the file ends before.
  Result<void> hold(std::size_t count) {
    while (end_ - begin_ < count) {
      WEFT_ASSIGN(const bool any, more());
      if (!any) break;
    }
    return {};
  }

  /// Goes to the next byte that is not zero, or to the end of the file. Returns how many there were.
  Result<std::uint64_t> skip_zeros() {
    const std::uint64_t begin = offset_;
    while (true) {
      WEFT_TRY(hold(1));
      const std::string_view bytes = text();
      const std::size_t zeros = std::min(bytes.find_first_not_of('\0'), bytes.size());
      consume(zeros);
      if (zeros == 0 || zeros < bytes.size()) return offset_ - begin;
    }
  }

 private:
  InputFile& file_;
  Buffer bytes_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t offset_ = 0;
};

/// What is wrong with the file, and where. A task that reads it is not tried again, because it would find the same.
inline Error damaged(const InputFile& file, std::uint64_t at, std::string_view reason) {
  return {Code::invalid_argument,
          "input " + file.path() + " is damaged at byte " + std::to_string(at) + ": " + std::string(reason)};
}
inline Error truncated(const InputFile& file, std::string_view noun, std::uint64_t begin) {
  return {Code::invalid_argument, "input " + file.path() + " is truncated: it ends at byte " + std::to_string(file.size()) +
                                      ", inside of the " + std::string(noun) + " that begins at byte " + std::to_string(begin)};
}
/// Two readers of neighbouring splits would not agree.
inline Error disagreement(const InputFile& file, std::uint64_t at, std::string_view noun) {
  return damaged(file, at, "what looks like the beginning of a " + std::string(noun) + " is none, or one is broken");
}

}  // namespace weft::storage
