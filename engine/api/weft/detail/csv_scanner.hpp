// Cuts text into the records and fields of RFC 4180.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::detail {

/// One text after another: start(), then next() until it is `end`. One thread.
///
/// A field may be in double quotes and then contain the delimiter, quotes (doubled) and, with `multiline`, line ends. Quotes inside
/// of a field that does not begin with one are characters like others. With another `escape` than the quote, quotes in a quoted
/// field have it before them instead (CsvFormat::escape). Lines end with "\n" or "\r\n"; empty ones are skipped.
class CsvScanner {
 public:
  CsvScanner(char delimiter, bool multiline, char quote = '"', char escape = '"')
      : delimiter_(delimiter), quote_(quote), escape_(escape), multiline_(multiline) {}

  enum class Found : std::uint8_t {
    end,
    record,
    malformed,  // a line that is not a record; why() gives the reason
    unclosed,   // without `multiline`: a line that ends inside of quotes, which may continue behind it
    partial,    // multiline: the text ends inside of quotes; rest() is to be scanned again with what follows
  };

  /// `text` begins with a record, outlives the scan, and, unless it is the last of its file, ends with a line's end.
  void start(std::string_view text);
  Found next();
  /// Ends a partial record behind which nothing follows: its first line is malformed, and the next line begins another record.
  void end_partial() { give_up("a quoted field does not end", record_); }

  /// The fields of the record, without quotes. Valid until next() and while the text lives.
  std::span<const std::string_view> fields() const { return fields_; }
  std::string_view rest() const { return {record_, static_cast<std::size_t>(end_ - record_)}; }
  const char* why() const { return why_; }
  /// Where the last record began.
  std::size_t offset() const { return static_cast<std::size_t>(record_ - begin_); }

 private:
  struct Unescaped {
    std::size_t field, offset, size;
  };

  void look_at(const char* from);
  /// The next delimiter, quote or newline; the end of the text when there is none.
  const char* special();
  Found scan();
  Found finish(const char* field, const char* newline);
  /// Skips the line that contains `from`.
  Found give_up(const char* why, const char* from);
  /// Skips a line whose quoted `field` has no end.
  Found unclosed(const char* field);
  /// From the opening quote to behind the closing one; null when there is none where it must be.
  const char* quoted(const char* opening);
  /// Whether the quote has an escape before it that is not escaped itself.
  bool is_escaped(const char* begin, const char* quote) const;
  void unescape(std::string_view content);

  const char delimiter_, quote_, escape_;
  const bool multiline_;
  const char *begin_ = nullptr, *end_ = nullptr, *at_ = nullptr, *record_ = nullptr;
  const char* block_ = nullptr;
  std::uint64_t mask_ = 0;  // of the block's bytes that are special and not yet seen
  std::vector<std::string_view> fields_;
  std::vector<Unescaped> unescaped_;  // fields whose text lies in texts_
  std::string texts_;
  const char* why_ = "";
  bool any_quotes_ = false;  // in the record
};

}  // namespace weft::detail
