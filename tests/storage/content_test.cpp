// Which files are known to be no text, and that nothing else is refused.
#include "storage/access/content.hpp"

#include <string>

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "storage/text_reader.hpp"
#include "tests/storage/compressed_files.hpp"

namespace weft::storage {
namespace {

using namespace std::string_literals;

std::string known_as(const std::string& beginning) {
  const auto content = no_text(beginning);
  return content ? std::string(content->what) : "text";
}

TEST(Content, KnowsWhatIsCompressedInWaysThatCannotBeRead) {
  EXPECT_EQ(known_as("\x02\x21\x4c\x18\0\0\0\x01"s), "is compressed by lz4 in its legacy format");
  EXPECT_EQ(known_as("\xff\x06\0\0sNaPpY\0"s), "is compressed by snappy");
  EXPECT_EQ(known_as("\x1f\x9d\x90\x61"s), "is compressed by compress");
  EXPECT_EQ(known_as("]\0\0\x80\0\xff\xff\xff"s), "is compressed by lzma in its old format");
}

TEST(Content, KnowsArchivesTablesAndPrograms) {
  EXPECT_EQ(known_as("PK\3\4\x14\0"s), "is a zip archive");
  EXPECT_EQ(known_as("a.txt"s + std::string(252, '\0') + "ustar\0"s + "00"), "is a tar archive");
  EXPECT_EQ(known_as("a.txt"s + std::string(252, '\0') + "ustar  \0"s), "is a tar archive") << "of GNU tar";
  EXPECT_EQ(known_as("PAR1\x15\0\x15"s), "is a Parquet file");
  EXPECT_EQ(known_as("ORC\x0a\x06\x12\x04"s), "is an ORC file");
  EXPECT_EQ(known_as("ORC\x46\0\0\x0a\x15"s), "is an ORC file");
  EXPECT_EQ(known_as("Obj\x01\x04\x14"s + "avro.codec"), "is an Avro file");
  EXPECT_EQ(known_as("SEQ\6\x19org"s), "is a Hadoop sequence file");
  EXPECT_EQ(known_as("ARROW1\0\0"s), "is an Arrow file");
  EXPECT_EQ(known_as("SQLite format 3\0"s), "is an SQLite database");
  EXPECT_EQ(known_as("\x7f"s + "ELF\2\1\1"s), "is a program or library (ELF)");
  EXPECT_EQ(known_as("%PDF-1.7\n"s), "is a PDF document");
  EXPECT_EQ(known_as("\x89PNG\r\n\x1a\n"s), "is a PNG image");
}

TEST(Content, KnowsTextOfWideCharacters) {
  EXPECT_EQ(known_as("\xff\xfe"
                     "a\0\n\0"s),
            "is text in UTF-16");
  EXPECT_EQ(known_as("\xfe\xff\0a\0\n"s), "is text in UTF-16");
  EXPECT_EQ(known_as("\xff\xfe\0\0a\0\0\0"s), "is text in UTF-32");
  EXPECT_EQ(known_as("\0\0\xfe\xff\0\0\0a"s), "is text in UTF-32");
}

TEST(Content, TakesEverythingElseForText) {
  for (const std::string& text : {""s,
                                  "\n"s,
                                  "a"s,
                                  "\0"s,
                                  "a\0b\n"s,
                                  "\xef\xbb\xbf with a mark of UTF-8\n"s,
                                  "\xff\n"s,
                                  "\x1f\n"s,
                                  "BZh is a word"s,
                                  "BZh9\n"s,
                                  "PAR1 of three\n"s,
                                  "ORCHESTRA\tand\tescapes \x1b[0m\r\n\f"s,
                                  "Object\n"s,
                                  "SEQ\n"s,
                                  "PK fire\n"s,
                                  "Pz*M\n"s,
                                  "LZIP is short\n"s,
                                  "ustar\n"s,
                                  "%PDF\n"s,
                                  "GIF89a is what it says\n"s,
                                  "caf\xe9 in Latin-1\n"s,
                                  "\x80\x81 random \xfe bytes\n"s}) {
    EXPECT_EQ(known_as(text), "text") << text;
  }
}

class ContentOfFilesTest : public testing::Test {
 protected:
  Result<std::size_t> lines_of(std::uint64_t offset, std::uint64_t length) {
    std::size_t lines = 0;
    WEFT_TRY(for_each_line(
        {path_, offset, length, {}}, [](std::uint64_t) {}, [&](std::string_view) { ++lines; }));
    return lines;
  }
  const TempDir directory_ = TempDir::create().value();
  const std::string path_ = directory_.path() / "file";
};

TEST_F(ContentOfFilesTest, IsRefusedByWhoReadsTheBeginningInOneLineWithARemedy) {
  const std::string zipped = "PK\x03\x04\0\0\0\0\0\3lines\nlines\n"s;
  ASSERT_TRUE(write_file(path_, zipped));
  const auto refused = lines_of(0, zipped.size());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::invalid_argument);
  EXPECT_EQ(refused.error().to_string(),
            "input " + path_ +
                " is a zip archive, which cannot be read as lines of text; extract the files in it first, or read its bytes as "
                "they are with --input-format raw");
  EXPECT_FALSE(lines_of(0, 1)) << "even where the first split is shorter than what tells";
  EXPECT_EQ(lines_of(12, zipped.size() - 12).value(), 1u) << "and is somebody's task to find";
}

TEST_F(ContentOfFilesTest, OfNamesOfCompressionsThatCannotBeReadIsRefused) {
  for (const std::string suffix :
       {".snappy", ".sz", ".lzo", ".lzo_deflate", ".br", ".Z", ".lz", ".lzma", ".7z", ".zip", ".rar", ".lzf", ".lrz"}) {
    const std::string path = path_ + suffix, bytes = "\x0b\x02lines\nlines\n";
    ASSERT_TRUE(write_file(path, bytes));
    const auto refused = for_each_line(
        {path, 0, bytes.size(), {}}, [](std::uint64_t) {}, [](std::string_view) {});
    ASSERT_FALSE(refused) << suffix;
    EXPECT_EQ(refused.error().code(), Code::invalid_argument);
    EXPECT_NE(refused.error().to_string().find("input " + path + " is "), std::string::npos) << refused.error().to_string();
    EXPECT_NE(refused.error().to_string().find(", as its name says, which cannot be read as lines of text; "), std::string::npos);
    EXPECT_TRUE(for_each_line(
        {path, 0, bytes.size(), {}, Format::raw}, [](std::uint64_t) {}, [](std::string_view) {}));
  }
}

TEST_F(ContentOfFilesTest, OfNamesOfCompressionsMayBeTextButNotOtherBytes) {
  for (const std::string suffix : {".gz", ".bz2", ".zst", ".lz4", ".xz", ".bgz"}) {
    const std::string path = path_ + suffix;
    const auto lines = [&](const std::string& bytes) {
      EXPECT_TRUE(write_file(path, bytes));
      return for_each_line(
          {path, 0, bytes.size(), {}}, [](std::uint64_t) {}, [](std::string_view) {});
    };
    EXPECT_TRUE(lines("decompressed on its way\n")) << suffix;
    const auto refused = lines("\x02\x8b garbage\n");
    ASSERT_FALSE(refused) << suffix;
    EXPECT_NE(refused.error().to_string().find("does not begin as what its name says is compressed"), std::string::npos);
  }
}

TEST_F(ContentOfFilesTest, IsRefusedWithinCompressionsToo) {
  std::string archive(512, '\0');
  archive.replace(0, 5, "a.txt").replace(257, 6, "ustar\0"s);
  const std::string bytes = gzipped(archive + "text\n");
  ASSERT_TRUE(write_file(path_, bytes));
  for (const Format format : {Format::detect, Format::gzip}) {
    const auto refused = for_each_line(
        {path_, 0, bytes.size(), {}, format}, [](std::uint64_t) {}, [](std::string_view) {});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().to_string().find("input " + path_ + ", decompressed, is a tar archive"), std::string::npos)
        << refused.error().to_string();
  }
}

TEST_F(ContentOfFilesTest, ThatIsCompressedTwiceIsRefused) {
  const std::string text = "one\ntwo\n";
  const std::string inner[] = {gzipped(text), bzipped(text), zstd_frame(text), lz4_frame(text)};
  const std::string names[] = {"gzip", "bzip2", "zstd", "lz4"};
  for (std::size_t i = 0; i < std::size(inner); ++i) {
    for (const std::string& bytes : {gzipped(inner[i]), zstd_frame(inner[i])}) {
      ASSERT_TRUE(write_file(path_, bytes));
      const auto refused = for_each_line(
          {path_, 0, bytes.size(), {}}, [](std::uint64_t) {}, [](std::string_view) {});
      ASSERT_FALSE(refused) << names[i];
      EXPECT_NE(refused.error().to_string().find("input " + path_ + ", decompressed, is compressed again, by " + names[i]),
                std::string::npos)
          << refused.error().to_string();
      EXPECT_TRUE(for_each_line(
          {path_, 0, bytes.size(), {}, Format::raw}, [](std::uint64_t) {}, [](std::string_view) {}));
    }
  }
}

}  // namespace
}  // namespace weft::storage
