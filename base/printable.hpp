// Text of others on its way to people: records, keys, names of files and columns, what a user's exception says. Such text may hold
// bytes that move a terminal's cursor, end a line, cut it short or turn its direction. Whatever prints a line of weft (errors, the
// log, reports of a command) passes it through here, once more where a part of it was passed before: what is printable stays as it
// is. Pure functions; any thread may call them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

/// The most bytes of one printable() text: more than any line of weft itself has.
inline constexpr std::size_t kMostPrintable = 16u << 10;

/// Returns `text` on one line, in well-formed UTF-8 without anything that acts on a terminal. Control characters become \n, \r, \t
/// or \xNN; bytes that are no UTF-8 become \xNN; controls beyond ASCII and those that turn the direction of text, end lines or are
/// not seen become \u{NNNN}. Everything else, backslashes and quotes too, stays. Of what is longer than `most` bytes the beginning
/// is kept, in whole characters, and then comes "…".
std::string printable(std::string_view text, std::size_t most = kMostPrintable);

/// The same of text that has lines and columns: ends of lines and tabs stay, and so does its length.
std::string printable_lines(std::string_view text);

/// Returns the text itself where it has at most `most` bytes, and of a longer one what printable() keeps: for text that is stored.
std::string bounded(std::string text, std::size_t most = kMostPrintable);

/// Returns the number of bytes of the well-formed character that `text` begins with (Unicode, table 3-7); 0 when there is none.
std::size_t utf8_length(std::string_view text);
/// Returns the code point of a character of utf8_length() bytes.
char32_t code_point(std::string_view character);
/// Returns whether the character acts on a terminal or on the text around it rather than being seen.
bool is_invisible(char32_t code);

/// Appends the character or the byte that `text` begins with as printable() has it, and returns how many bytes it took. `text` is
/// not empty.
std::size_t append_printable(std::string& out, std::string_view text);

}  // namespace weft
