#include "weft/detail/csv_scanner.hpp"

#include <bit>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace weft::detail {
namespace {

constexpr std::size_t kBlock = 64;

/// Which of 64 bytes are the delimiter, a quote or a newline.
std::uint64_t special_mask(const char* from, char delimiter, char quote) {
  std::uint64_t mask = 0;
#if defined(__SSE2__)
  const __m128i delimiters = _mm_set1_epi8(delimiter), quotes = _mm_set1_epi8(quote), newlines = _mm_set1_epi8('\n');
  for (std::size_t i = 0; i < kBlock; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    const __m128i found = _mm_or_si128(_mm_cmpeq_epi8(bytes, delimiters),
                                       _mm_or_si128(_mm_cmpeq_epi8(bytes, quotes), _mm_cmpeq_epi8(bytes, newlines)));
    mask |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm_movemask_epi8(found))) << i;
  }
#else
  for (std::size_t i = 0; i < kBlock; ++i) {
    const char c = from[i];
    mask |= static_cast<std::uint64_t>(c == delimiter || c == quote || c == '\n') << i;
  }
#endif
  return mask;
}

}  // namespace

void CsvScanner::look_at(const char* from) {
  block_ = from;
  const auto left = static_cast<std::size_t>(end_ - from);
  if (left >= kBlock) [[likely]] {
    mask_ = special_mask(from, delimiter_, quote_);
    return;
  }
  char copy[kBlock] = {};
  if (left != 0) std::memcpy(copy, from, left);
  mask_ = special_mask(copy, delimiter_, quote_) & ((std::uint64_t{1} << left) - 1);
}

const char* CsvScanner::special() {
  while (mask_ == 0) [[unlikely]] {
      if (static_cast<std::size_t>(end_ - block_) <= kBlock) return end_;
      look_at(block_ + kBlock);
    }
  const char* const found = block_ + std::countr_zero(mask_);
  mask_ &= mask_ - 1;
  return found;
}

void CsvScanner::start(std::string_view text) {
  begin_ = at_ = record_ = text.data();
  end_ = text.data() + text.size();
  look_at(begin_);
}

CsvScanner::Found CsvScanner::next() {
  while (true) {
    const Found found = scan();
    const bool blank = found == Found::record && fields_.size() == 1 && fields_[0].empty() && !any_quotes_;
    if (!blank) return found;
  }
}

CsvScanner::Found CsvScanner::scan() {
  fields_.clear();
  unescaped_.clear();
  texts_.clear();
  any_quotes_ = false;
  record_ = at_;
  if (at_ == end_) return Found::end;
  const char* field = at_;
  while (true) {
    const char* stop = special();
    if (stop != end_ && *stop == quote_) [[unlikely]] {
      if (stop != field) continue;
      any_quotes_ = true;
      stop = quoted(field);
      if (stop == nullptr) return multiline_ ? Found::partial : unclosed(field);
      const bool newline = stop != end_ && (*stop == '\n' || (*stop == '\r' && (stop + 1 == end_ || stop[1] == '\n')));
      if (stop != end_ && !newline && *stop != delimiter_) return give_up("there is text behind a closing quote", stop);
      if (stop != end_ && *stop == '\r') ++stop;
      if (stop != end_) (void)special();  // the same
      field = stop;                       // its text is noted already
      if (stop == end_ || newline) return finish(nullptr, stop);
      field = stop + 1;
      continue;
    }
    if (stop == end_ || *stop == '\n') return finish(field, stop);
    fields_.emplace_back(field, static_cast<std::size_t>(stop - field));
    field = stop + 1;
  }
}

CsvScanner::Found CsvScanner::finish(const char* field, const char* newline) {
  if (field != nullptr) {
    const char* const stop = newline != field && newline[-1] == '\r' ? newline - 1 : newline;
    fields_.emplace_back(field, static_cast<std::size_t>(stop - field));
  }
  at_ = newline == end_ ? end_ : newline + 1;
  for (const Unescaped& text : unescaped_) fields_[text.field] = std::string_view(texts_).substr(text.offset, text.size);
  return Found::record;
}

CsvScanner::Found CsvScanner::give_up(const char* why, const char* from) {
  why_ = why;
  const auto* newline = static_cast<const char*>(std::memchr(from, '\n', static_cast<std::size_t>(end_ - from)));
  at_ = newline == nullptr ? end_ : newline + 1;
  look_at(at_);
  return Found::malformed;
}

CsvScanner::Found CsvScanner::unclosed(const char* field) {
  const Found found = give_up("a quoted field does not end on its line", field);
  return at_[-1] == '\n' ? Found::unclosed : found;  // behind the last line of the file comes nothing
}

const char* CsvScanner::quoted(const char* opening) {
  bool escaped = false;
  while (true) {
    const char* const found = special();
    if (found == end_ || (*found == '\n' && !multiline_)) return nullptr;
    if (*found != quote_) continue;
    if (escape_ != quote_) {
      if (is_escaped(opening + 1, found)) continue;
      escaped = std::memchr(opening, escape_, static_cast<std::size_t>(found - opening)) != nullptr;
    } else if (found + 1 != end_ && found[1] == quote_) {
      (void)special();
      escaped = true;
      continue;
    }
    const std::string_view content(opening + 1, static_cast<std::size_t>(found - opening - 1));
    if (escaped) unescape(content);
    fields_.push_back(content);
    return found + 1;
  }
}

bool CsvScanner::is_escaped(const char* begin, const char* quote) const {
  const char* at = quote;
  while (at != begin && at[-1] == escape_) --at;
  return (quote - at) % 2 != 0;
}

void CsvScanner::unescape(std::string_view content) {
  const std::size_t offset = texts_.size();
  for (std::size_t i = 0; i < content.size(); ++i) {
    const bool pair = content[i] == escape_ && i + 1 < content.size() && (content[i + 1] == quote_ || content[i + 1] == escape_);
    texts_.push_back(content[pair ? ++i : i]);
  }
  unescaped_.push_back({fields_.size(), offset, texts_.size() - offset});
}

}  // namespace weft::detail
