#include "storage/access/content.hpp"

#include <algorithm>
#include <array>

namespace weft::storage {
namespace {

using namespace std::string_view_literals;

/// A magic number and where it is.
struct Magic {
  std::string_view bytes;
  Content content;
  std::size_t offset = 0;
  bool letters_only = false;  // text may begin like this: something else must be no text
};

constexpr std::string_view kConvert = "convert it to text first, or leave it out";
constexpr std::string_view kExtract = "extract the files in it first";
constexpr std::string_view kLeaveOut = "leave it out of the input";
constexpr std::string_view kUtf16 = "convert it first (iconv -f UTF-16 -t UTF-8)";
constexpr std::string_view kUtf32 = "convert it first (iconv -f UTF-32 -t UTF-8)";

constexpr auto kMagics = std::to_array<Magic>({
    {"\x02\x21\x4c\x18"sv, {"is compressed by lz4 in its legacy format", "compress it again (lz4 -d, then lz4)"}},
    {"\xff\x06\0\0sNaPpY"sv, {"is compressed by snappy", "decompress it first"}},
    {"\x89LZO\0\r\n\x1a\n"sv, {"is compressed by lzop", "decompress it first (lzop -d)"}},
    {"LZIP\x01"sv, {"is compressed by lzip", "decompress it first (lzip -d)"}},
    {"\x1f\x9d\x90"sv, {"is compressed by compress", "decompress it first (gzip -d)"}},
    {"\x5d\0\0"sv, {"is compressed by lzma in its old format", "compress it again (xz -d --format=lzma, then xz)"}},
    {"PK\x03\x04"sv, {"is a zip archive", kExtract}},
    {"PK\x05\x06"sv, {"is an empty zip archive", kLeaveOut}},
    {"7z\xbc\xaf\x27\x1c"sv, {"is a 7z archive", kExtract}},
    {"Rar!\x1a\x07"sv, {"is a rar archive", kExtract}},
    {"ustar\0"sv, {"is a tar archive", kExtract}, 257},
    {"ustar  \0"sv, {"is a tar archive", kExtract}, 257},
    {"!<arch>\n"sv, {"is an archive of ar", kLeaveOut}},
    {"PAR1\x15"sv, {"is a Parquet file", "read it with read_parquet"}},
    {"PARE\x15"sv, {"is an encrypted Parquet file", kConvert}},
    {"ORC"sv, {"is an ORC file", kConvert}, 0, true},
    {"Obj\x01"sv, {"is an Avro file", kConvert}},
    {"SEQ\x04"sv, {"is a Hadoop sequence file", kConvert}},
    {"SEQ\x05"sv, {"is a Hadoop sequence file", kConvert}},
    {"SEQ\x06"sv, {"is a Hadoop sequence file", kConvert}},
    {"RCF\x01"sv, {"is a Hive RCFile", kConvert}},
    {"ARROW1\0\0"sv, {"is an Arrow file", kConvert}},
    {"SQLite format 3\0"sv, {"is an SQLite database", kConvert}},
    {"\x89HDF\r\n\x1a\n"sv, {"is an HDF5 file", kConvert}},
    {"\x93NUMPY"sv, {"is a NumPy array", kConvert}},
    {"\x7f"
     "ELF"sv,
     {"is a program or library (ELF)", kLeaveOut}},
    {"\0asm\x01\0\0\0"sv, {"is a WebAssembly program", kLeaveOut}},
    {"\xca\xfe\xba\xbe\0"sv, {"is a program or Java class", kLeaveOut}},
    {"%PDF-"sv, {"is a PDF document", kConvert}},
    {"\x89PNG\r\n\x1a\n"sv, {"is a PNG image", kLeaveOut}},
    {"\xff\xd8\xff"sv, {"is a JPEG image", kLeaveOut}},
    {"\xff\xfe\0\0"sv, {"is text in UTF-32", kUtf32}},
    {"\0\0\xfe\xff"sv, {"is text in UTF-32", kUtf32}},
    {"\xff\xfe"sv, {"is text in UTF-16", kUtf16}},
    {"\xfe\xff"sv, {"is text in UTF-16", kUtf16}},
});

/// The end of a name, and what it says.
struct Suffix {
  std::string_view end;
  Content content;
};

constexpr auto kUnreadable = std::to_array<Suffix>({
    {".snappy", {"is compressed by snappy, as its name says", "decompress it first"}},
    {".sz", {"is compressed by snappy, as its name says", "decompress it first (snzip -d)"}},
    {".lzo", {"is compressed by lzo, as its name says", "decompress it first (lzop -d)"}},
    {".lzo_deflate", {"is compressed by lzo, as its name says", "decompress it first"}},
    {".br", {"is compressed by brotli, as its name says", "decompress it first (brotli -d)"}},
    {".Z", {"is compressed by compress, as its name says", "decompress it first (gzip -d)"}},
    {".lz", {"is compressed by lzip, as its name says", "decompress it first (lzip -d)"}},
    {".lzma", {"is compressed by lzma in its old format, as its name says", "compress it again (xz -d --format=lzma, then xz)"}},
    {".lzf", {"is compressed by lzf, as its name says", "decompress it first"}},
    {".lrz", {"is compressed by lrzip, as its name says", "decompress it first (lrzip -d)"}},
    {".rz", {"is compressed by rzip, as its name says", "decompress it first (rzip -d)"}},
    {".zpaq", {"is a zpaq archive, as its name says", kExtract}},
    {".zip", {"is a zip archive, as its name says", kExtract}},
    {".7z", {"is a 7z archive, as its name says", kExtract}},
    {".rar", {"is a rar archive, as its name says", kExtract}},
});
/// Of names of what weft can decompress.
constexpr std::array kReadable{".gz"sv,   ".gzip"sv, ".bgz"sv,  ".bgzf"sv, ".tgz"sv,     ".bz2"sv, ".bzip2"sv,
                               ".tbz2"sv, ".zst"sv,  ".zstd"sv, ".lz4"sv,  ".deflate"sv, ".xz"sv,  ".txz"sv};

/// Characters that no text has, as against tabs, ends of lines and pages, and the escapes of terminals.
bool has_control(std::string_view bytes) {
  return std::any_of(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && !(byte >= '\t' && byte <= '\r') && byte != 0x1b;
  });
}

bool matches(std::string_view beginning, const Magic& magic) {
  return beginning.size() >= magic.offset && beginning.substr(magic.offset).starts_with(magic.bytes) &&
         (!magic.letters_only || has_control(beginning.substr(0, kContentBytes)));
}

}  // namespace

std::optional<Content> no_text(std::string_view beginning) {
  const auto* const found =
      std::find_if(kMagics.begin(), kMagics.end(), [&](const Magic& magic) { return matches(beginning, magic); });
  return found == kMagics.end() ? std::nullopt : std::optional(found->content);
}

std::optional<Content> no_text(std::string_view path, std::string_view beginning) {
  if (const auto known = no_text(beginning)) return known;
  const auto* const suffix =
      std::find_if(kUnreadable.begin(), kUnreadable.end(), [&](const Suffix& each) { return path.ends_with(each.end); });
  if (suffix != kUnreadable.end()) return suffix->content;
  const bool readable = std::any_of(kReadable.begin(), kReadable.end(), [&](std::string_view end) { return path.ends_with(end); });
  if (!readable || !has_control(beginning.substr(0, kContentBytes))) return std::nullopt;
  return Content{"does not begin as what its name says is compressed", "look whether it is damaged"};
}

Error refuse(const std::string& path, const Content& content) {
  std::string message = "input " + path + " ";
  message.append(content.what).append(", which cannot be read as lines of text; ").append(content.remedy);
  message.append(", or read its bytes as they are with --input-format raw");
  return {Code::invalid_argument, std::move(message)};
}

}  // namespace weft::storage
