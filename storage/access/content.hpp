// What a file is, by its first bytes, so that files without text are refused instead of being read as text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace weft::storage {

/// Kinds of content that lines of text cannot be read from.
struct Content {
  std::string_view what;    // "is a zip archive"
  std::string_view remedy;  // "extract the files in it first"
};

/// How many bytes of the beginning distinguish all kinds.
inline constexpr std::size_t kContentBytes = 512;

/// Archives, binary formats of tables, programs, images, text of 16 or 32 bits a character and what is compressed in ways that weft
/// does not know (those it knows: storage/compression/format.hpp), by their magic numbers. Nothing for text and for what is not
/// known: bytes are text unless they say otherwise, so NULs alone refuse no file. A magic number that text could begin with counts
/// only when control characters follow it.
std::optional<Content> no_text(std::string_view beginning);
/// The same of a file, by its name as well. A name may say that the file is compressed in a way that weft does not know, some of
/// which have no magic number. It may also name a format that weft knows while the file begins with other control characters. (A
/// file that begins with text is text: it was decompressed on its way and kept its name.) Ask compression_of() first.
std::optional<Content> no_text(std::string_view path, std::string_view beginning);

/// One line that names the file, what it is and what to do.
Error refuse(const std::string& path, const Content& content);

}  // namespace weft::storage
