// Reads JSON (RFC 8259) from a string by walking it: no tree is built, so a document may be as large as memory allows.
//
//   JsonReader json(text, "trace.json");
//   WEFT_TRY(json.object([&](std::string_view key) -> Result<void> {
//     if (key == "jobs") return json.array([&] { return one_job(json); });
//     return json.skip();
//   }));
//
// Every error is `corrupt` and begins with "source:line: ". After an error the reader must not be used any more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace weft {

class JsonReader {
 public:
  enum class Kind : std::uint8_t { object, array, text, number, flag, null, end, other };

  /// `text` and `source` must outlive the reader. `first_line` is the number of the text's first line within the source.
  JsonReader(std::string_view text, std::string_view source, std::uint64_t first_line = 1)
      : text_(text), source_(source), first_line_(first_line) {}

  /// Returns the kind of the next value without consuming it: `end` at the end of the text, `other` for what begins no value.
  Kind peek();

  /// Reads an object. Calls `member(key)` for each member in order, which must consume the value; the key is valid during the
  /// call. An error of `member` ends the reading and is returned.
  template <class Member>
  Result<void> object(Member&& member) {
    WEFT_TRY(enter('{', "an object"));
    for (bool first = true;; first = false) {
      WEFT_ASSIGN(const bool more, next('}', first));
      if (!more) return {};
      WEFT_ASSIGN(const std::string key, text());
      WEFT_TRY(expect(':'));
      WEFT_TRY(member(std::string_view(key)));
    }
  }
  /// Reads an array. Calls `item()` for each element, which must consume it. An error of `item` ends the reading and is returned.
  template <class Item>
  Result<void> array(Item&& item) {
    WEFT_TRY(enter('[', "an array"));
    for (bool first = true;; first = false) {
      WEFT_ASSIGN(const bool more, next(']', first));
      if (!more) return {};
      WEFT_TRY(item());
    }
  }

  /// Reads a text and resolves its escapes; surrogate pairs become UTF-8, lone surrogates U+FFFD.
  Result<std::string> text();
  Result<double> number();
  /// Reads a number as it is written. Valid as long as the reader's text.
  Result<std::string_view> number_token();
  /// Reads a number without a fraction that fits into int64 (1e3 and 5.0 count).
  Result<std::int64_t> integer();
  /// The same of 0 and above, that fits into uint64.
  Result<std::uint64_t> unsigned_integer();
  Result<bool> flag();
  /// Consumes one value of any kind and checks its form.
  Result<void> skip();
  /// Succeeds when only white space is left.
  Result<void> finish();

  /// Returns "source:line: reason" with the line that the reader has reached.
  Error error(std::string_view reason) const;

 private:
  void skip_space();
  Result<void> enter(char open, std::string_view what);
  /// Before each element: whether there is one; consumes commas and the closing bracket.
  Result<bool> next(char close, bool first);
  Result<void> expect(char c);
  Result<void> word(std::string_view literal);
  Result<void> escape(std::string& out);
  Result<std::uint32_t> hex4();

  std::string_view text_;
  std::string_view source_;
  std::uint64_t first_line_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace weft
