#include "storage/text_reader.hpp"

#include <algorithm>

#include "storage/access/content.hpp"

namespace weft::storage {
namespace {

/// Text that was decompressed once begins as what is compressed: what would be read are no lines.
Error compressed_again(const std::string& path, Format format) {
  const std::string what = "is compressed again, by " + std::string(name_of(format));
  return refuse(path, {what, "decompress it once first"});
}

}  // namespace

Result<std::string_view> TextReader::beginning(std::uint64_t most) {
  bool more = true;
  while (more && window_.size() < std::min<std::uint64_t>(most, kContentBytes)) {
    WEFT_ASSIGN(more, window_.more());
  }
  return std::string_view(window_.begin(), window_.size());
}

Result<void> TextReader::open_beginning(const Split& split) {
  WEFT_TRY(window_.open(split.path, split.version, 0, split.length));
  WEFT_ASSIGN(const std::string_view bytes, beginning(split.length));
  if (const auto format = compression_of(split.path, bytes)) return open_text(split, *format);
  if (const auto content = no_text(split.path, bytes)) return fail(refuse(split.path, *content));
  return {};
}

Result<void> TextReader::open_text(const Split& split, Format format) {
  WEFT_TRY(window_.open_compressed(split.path, split.version, format, split.offset, split.offset + split.length));
  if (split.offset != 0) return {};
  WEFT_ASSIGN(const std::string_view bytes, beginning(kContentBytes));
  const std::string decompressed = split.path + ", decompressed,";
  if (const auto again = compression_of(bytes)) return fail(compressed_again(decompressed, *again));
  if (const auto content = no_text(bytes)) return fail(refuse(decompressed, *content));
  return {};
}

Result<bool> TextReader::start(const Split& split) {
  if (split.length == 0) return false;
  const std::uint64_t end = split.offset + split.length;
  if (is_compressed(split.format)) {
    WEFT_TRY(open_text(split, split.format));
  } else if (split.offset == 0 && split.format == Format::detect) {
    WEFT_TRY(open_beginning(split));
  } else {
    // A line starts at `offset` exactly when the byte before it ends one; so looking begins at that byte.
    WEFT_TRY(window_.open(split.path, split.version, split.offset - std::min<std::uint64_t>(split.offset, 1), end));
  }
  if (split.offset == 0) return true;
  while (window_.offset() + 1 < window_.stop()) {
    WEFT_ASSIGN(const bool more, window_.more());
    if (!more) return false;
    if (const void* newline = std::memchr(window_.begin(), '\n', window_.size())) {
      window_.consume_to(static_cast<const char*>(newline) + 1);
      return window_.offset() < window_.stop();
    }
    window_.consume_to(window_.end());
  }
  return false;  // a line of the split before reaches past this one
}

const char* TextReader::end_of_lines(std::size_t searched, std::uint64_t stop) const {
  if (window_.size() == searched) return nullptr;
  const char* const begin = window_.begin();
  const auto* last = static_cast<const char*>(::memrchr(begin + searched, '\n', window_.size() - searched));
  if (last == nullptr) return nullptr;
  const std::uint64_t left = stop - window_.offset();  // the last line that starts in them is the last one wanted
  if (static_cast<std::uint64_t>(last + 1 - begin) > left) {
    const std::size_t skip = std::max<std::size_t>(searched, left - 1);
    last = static_cast<const char*>(std::memchr(begin + skip, '\n', window_.size() - skip));
  }
  return last + 1;
}

}  // namespace weft::storage
