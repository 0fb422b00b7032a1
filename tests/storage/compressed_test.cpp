// Compressed text: whatever way its file is cut gives the lines of the text once and in order; what is damaged or cut off is an
// error.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "base/random.hpp"
#include "base/vector_state.hpp"
#include "storage/compression/decompressor.hpp"
#include "storage/split.hpp"
#include "storage/text_reader.hpp"
#include "tests/storage/compressed_files.hpp"

namespace weft::storage {
namespace {

using TextLines = std::vector<std::string>;
const auto kAnywhere = [](std::uint64_t) {};

TextLines serial_lines_of(const std::string& text) {
  TextLines lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// TextLines of all lengths, some over many blocks, of words that repeat so that blocks are small.
std::string text_of_words(Random& random, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) {
    std::size_t words = random.below(random.chance(0.02) ? bytes / 16 + 1 : 12);
    for (; words > 0; --words) text += "word" + std::to_string(random.below(900)) + " ";
    text += '\n';
  }
  if (random.chance(0.5)) text.pop_back();
  return text;
}

class CompressedTest : public testing::Test {
 protected:
  std::string write(const std::string& bytes, const std::string& name = "file") const {
    const std::string path = directory_.path() / name;
    EXPECT_TRUE(write_file(path, bytes));
    return path;
  }
  static Result<TextLines> read(const std::vector<Split>& splits) {
    TextReader reader;
    TextLines lines;
    for (const Split& split : splits)
      WEFT_TRY(reader.for_each_line(split, kAnywhere, [&](std::string_view line) { lines.emplace_back(line); }));
    return lines;
  }
  Result<TextLines> read_all(const std::string& bytes) const {
    const std::string path = write(bytes);
    return read({{path, 0, bytes.size(), {}}});
  }
  /// A split for each two neighbours of the cuts.
  static std::vector<Split> splits_at(const std::string& path, Format format, std::vector<std::uint64_t> cuts) {
    std::sort(cuts.begin(), cuts.end());
    std::vector<Split> splits;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) splits.push_back({path, cuts[i], cuts[i + 1] - cuts[i], {}, format});
    return splits;
  }
  const TempDir directory_ = TempDir::create().value();
};

/// The text in blocks of all sizes; `begins` has where they begin.
std::string of_many(Format format, const std::string& text, Random& random, std::vector<std::uint64_t>& begins) {
  std::string file;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size =
        std::min<std::size_t>(text.size() - at, 1 + random.below(random.chance(0.3) ? 50 : text.size() / 8 + 1));
    begins.push_back(file.size());
    const std::string_view part = std::string_view(text).substr(at, size);
    file += format == Format::lz4 ? lz4_frame(part, random.chance(0.5)) : compressed(format, part);
    at += size;
    if (random.chance(0.1) && (format == Format::zstd || format == Format::lz4))
      file += std::string("\x5a\x2a\x4d\x18\x05\0\0\0hello", 13);
    if (random.chance(0.1) && format == Format::bgzip) file += compressed(format, "");
  }
  return file;
}

TEST_F(CompressedTest, AnyCutsGiveEveryLineOnceAndInOrder) {
  for (const Format format : kCompressedFormats) {
    for (std::uint64_t seed = 1; seed <= (std::getenv("WEFT_LONG") != nullptr ? 200u : 8u); ++seed) {
      SCOPED_TRACE(std::string(name_of(format)) + " seed " + std::to_string(seed));
      Random random(seed, static_cast<std::uint64_t>(format));
      const std::string text = text_of_words(random, random.below(400'000));
      std::vector<std::uint64_t> begins;
      const std::string file = random.chance(0.2) ? compressed(format, text) : of_many(format, text, random, begins);
      if (file.empty()) continue;
      const std::string path = write(file);
      std::vector<std::uint64_t> cuts = {0, file.size()};
      for (auto n = random.below(30); n > 0; --n) cuts.push_back(random.below(file.size() + 1));
      for (const std::uint64_t begin : begins)
        if (random.chance(0.3)) cuts.push_back(begin + random.below(2));
      if (random.chance(0.2))
        for (std::uint64_t at = 0; at < std::min<std::size_t>(file.size(), 200); ++at) cuts.push_back(at);
      const auto lines = read(splits_at(path, format, cuts));
      ASSERT_TRUE(lines) << lines.error().to_string();
      ASSERT_TRUE(*lines == serial_lines_of(text));
    }
  }
}

TEST_F(CompressedTest, BlocksOfBzip2MayBeginAtAnyBit) {
  Random random(7);
  const std::string text = text_of_words(random, 3'000'000);
  const std::string file = bzipped(text) + bzipped("") + bzipped("one more\n", 9);
  const std::string path = write(file);
  std::vector<std::uint64_t> cuts = {0, file.size()};
  for (std::uint64_t at = 0; at < file.size(); at += 1 + random.below(20'000)) cuts.push_back(at);
  const auto lines = read(splits_at(path, Format::bzip2, cuts));
  ASSERT_TRUE(lines) << lines.error().to_string();
  TextLines expected = serial_lines_of(text);
  if (text.back() != '\n') {
    expected.back() += "one more";
  } else {
    expected.emplace_back("one more");
  }
  EXPECT_TRUE(*lines == expected);
}

/// Also exactly where a block begins: one of bzip2 four bytes behind the beginning of its stream.
TEST_F(CompressedTest, ASmallFileMayBeCutAtEveryByte) {
  for (const Format format : {Format::bgzip, Format::bzip2, Format::zstd, Format::lz4}) {
    const std::string file = compressed(format, "a\nb") + compressed(format, "c\n") + compressed(format, "d\n");
    const std::string path = write(file);
    for (std::uint64_t cut = 1; cut < file.size(); ++cut) {
      const auto lines = read(splits_at(path, format, {0, cut, file.size()}));
      ASSERT_TRUE(lines) << lines.error().to_string();
      EXPECT_EQ(*lines, (TextLines{"a", "bc", "d"})) << name_of(format) << " cut at " << cut;
    }
  }
}

TEST_F(CompressedTest, BlocksAreFoundAcrossTheBordersOfWhatIsSearchedAtATime) {
  constexpr std::uint64_t kSearched = 256u << 10, kCut = 3;
  const std::string first = zstd_frame("a\n"), second = zstd_frame("b\n");
  for (const std::uint64_t before : {1u, 2u, 3u, 4u}) {
    const std::uint64_t skipped = kCut + kSearched - before - first.size() - 8;
    std::string file = first + "\x50\x2a\x4d\x18";
    for (int shift = 0; shift < 32; shift += 8) file += static_cast<char>(skipped >> shift & 0xff);
    file += std::string(skipped, '\0') + second;
    const auto lines = read(splits_at(write(file), Format::zstd, {0, kCut, file.size()}));
    ASSERT_TRUE(lines) << lines.error().to_string();
    EXPECT_EQ(*lines, (TextLines{"a", "b"})) << before;
  }
}

TEST_F(CompressedTest, FilesAreKnownByTheirContent) {
  for (const Format format : kCompressedFormats) {
    const std::string file = compressed(format, "a\nb\r\n\nlast");
    EXPECT_EQ(compression_of(file), format) << name_of(format);
    const auto lines = read_all(file);
    ASSERT_TRUE(lines) << lines.error().to_string();
    EXPECT_EQ(*lines, (TextLines{"a", "b", "", "last"})) << name_of(format);
  }
  EXPECT_EQ(compression_of(std::string("\x50\x2a\x4d\x18\x04\0\0\0abcd", 12) + zstd_frame("x")), Format::zstd) << "as pzstd writes";
  EXPECT_EQ(compression_of(std::string("\x50\x2a\x4d\x18\x04\0\0\0abcd", 12) + lz4_frame("x")), Format::lz4);
  for (const std::string text : {"", "text\n", "BZh9 is text\n", "Pz*M\n", "\x1f\x8b text\n"})
    EXPECT_EQ(compression_of(text), std::nullopt) << text;
}

TEST_F(CompressedTest, FramesOfSomebodysOwnInFrontMayBeOfAnyLength) {
  const std::string own = std::string("\x5f\x2a\x4d\x18\xe8\x03\0\0", 8) + std::string(1000, 'x');
  for (const Format format : {Format::zstd, Format::lz4}) {
    const std::string file = own + own + compressed(format, "a\nb") + own + compressed(format, "c\n") + own;
    const auto lines = read_all(file);
    ASSERT_TRUE(lines) << name_of(format) << ": " << lines.error().to_string();
    EXPECT_EQ(*lines, (TextLines{"a", "bc"})) << name_of(format);
  }
}

TEST_F(CompressedTest, WhatHoldsNoTextHasNoLines) {
  for (const Format format : {Format::gzip, Format::bzip2, Format::zstd, Format::lz4, Format::xz})
    EXPECT_EQ(read_all(compressed(format, "")).value(), TextLines{}) << name_of(format);
}

TEST_F(CompressedTest, MembersAndStreamsThatFollowEachOtherAreOneText) {
  for (const Format format : kCompressedFormats)
    EXPECT_EQ(read_all(compressed(format, "a\nb") + compressed(format, "c\n") + compressed(format, "d")).value(),
              (TextLines{"a", "bc", "d"}));
}

TEST_F(CompressedTest, ZerosMayFollowWhatEachFormatHas) {
  for (const Format format : kCompressedFormats) {
    for (const std::size_t count : {std::size_t{4}, std::size_t{1024}, std::size_t{600'000}}) {
      const std::string zeros(count, '\0');
      const auto padded = read_all(compressed(format, "a\n") + zeros + compressed(format, "b\n") + zeros);
      ASSERT_TRUE(padded) << name_of(format) << ": " << padded.error().to_string();
      EXPECT_EQ(*padded, (TextLines{"a", "b"})) << name_of(format) << ", as tapes pad them";
    }
    const auto odd = read_all(compressed(format, "a\n") + std::string(5, '\0'));
    if (format == Format::xz)
      EXPECT_NE(odd.error().to_string().find("5 zeros follow the xz stream that ends here, which is no multiple of 4"),
                std::string::npos)
          << odd.error().to_string();
    else
      EXPECT_TRUE(odd) << name_of(format) << ": " << odd.error().to_string();
    EXPECT_FALSE(read_all(compressed(format, "a\n") + std::string(4, '\0') + "rest")) << name_of(format);
  }
}

TEST_F(CompressedTest, PaddedBlocksMayBeCutAnywhere) {
  for (const Format format : {Format::bgzip, Format::zstd, Format::lz4, Format::bzip2}) {
    const std::string zeros(200'000, '\0');  // more than what convinces of a block
    const std::string file =
        compressed(format, "a\nb") + std::string(7, '\0') + compressed(format, "c\n") + zeros + compressed(format, "d\ne") + zeros;
    const std::string path = write(file);
    for (std::uint64_t cut = 1; cut < file.size(); cut += cut < 300 ? 1 : 9'973) {
      const auto lines = read(splits_at(path, format, {0, cut, file.size()}));
      ASSERT_TRUE(lines) << name_of(format) << " at " << cut << ": " << lines.error().to_string();
      EXPECT_EQ(*lines, (TextLines{"a", "bc", "d", "e"})) << name_of(format) << " at " << cut;
    }
  }
}

TEST_F(CompressedTest, StreamsOfZlibAreKnownByTheirName) {
  // As Hadoop's DefaultCodec writes "a part of Hadoop\n".
  const std::string text = "a part of Hadoop\n", stream = deflated(text);
  const auto named = [&](const std::string& name, const std::string& bytes) {
    const std::string path = write(bytes, name);
    return read({{path, 0, bytes.size(), {}}});
  };
  for (const char* name : {"part-r-00000.deflate", "a.zz", "a.zlib"})
    EXPECT_EQ(named(name, stream).value(), TextLines{"a part of Hadoop"});
  EXPECT_EQ(named("b.deflate", stream + deflated("b\nc", 0) + std::string(9, '\0') + deflated("\n", 9)).value(),
            (TextLines{"a part of Hadoop", "b", "c"}));
  EXPECT_EQ(named("c.deflate", gzipped(text)).value(), TextLines{"a part of Hadoop"}) << "content tells more than names";
  for (std::size_t size = 2; size < stream.size(); ++size) EXPECT_FALSE(named("d.deflate", stream.substr(0, size))) << size;
  std::string damaged = stream;
  damaged.back() ^= 1;
  EXPECT_NE(named("e.deflate", damaged).error().to_string().find("is damaged at byte"), std::string::npos);
  EXPECT_NE(named("f.deflate", "text\n").error().to_string().find("no zlib stream begins here"), std::string::npos);
  EXPECT_NE(
      named("j.deflate", "x! has the method of zlib, and a sum that does not fit\n").error().to_string().find("no zlib stream"),
      std::string::npos);
  const std::string raw = stream.substr(2, stream.size() - 6);  // without header and checksum
  EXPECT_FALSE(named("g.deflate", raw));
  Random random(5);
  const std::string much = text_of_words(random, 3'000'000);
  EXPECT_EQ(named("h.deflate", deflated(much)).value(), serial_lines_of(much));
  const std::string large = write(deflated(much), "i.deflate");
  SplitOptions options;
  options.min_groups = 8;
  const auto groups = split_files(std::vector<std::string>{large}, options).value();
  ASSERT_EQ(groups.size(), 1u) << "it cannot be cut";
  EXPECT_EQ(groups[0][0].format, Format::deflate);
  EXPECT_EQ(read(groups[0]).value(), serial_lines_of(much));
}

TEST_F(CompressedTest, EveryTruncationIsAnErrorThatNamesTheFileAndTheByte) {
  Random random(3);
  const std::string text = text_of_words(random, 5'000);
  for (const Format format : kCompressedFormats) {
    const std::string file = compressed(format, text);
    for (std::size_t size = 40; size < file.size(); size += 1 + random.below(file.size() / 10)) {
      const auto lines = read_all(file.substr(0, size));
      ASSERT_FALSE(lines) << name_of(format) << " of " << size << " of " << file.size() << " bytes";
      EXPECT_EQ(lines.error().code(), Code::invalid_argument);
      const std::string message = lines.error().to_string();
      EXPECT_TRUE(message.find("it ends at byte " + std::to_string(size) + ", inside of") != std::string::npos) << message;
    }
  }
}

TEST_F(CompressedTest, NoChangedByteGoesUnnoticedInsideOfTheData) {
  Random random(4);
  const std::string text = text_of_words(random, 30'000);
  const TextLines expected = serial_lines_of(text);
  for (const Format format : kCompressedFormats) {
    // zstd_frame() has no checksum; what weft writes has one.
    std::string file = compressed(format, text);
    if (format == Format::zstd) {
      file.clear();
      ASSERT_TRUE(make_compressor(Compression::zstd)->compress(as_bytes(text), file));
    }
    std::size_t noticed = 0;
    for (int round = 0; round < 40; ++round) {
      std::string changed = file;
      changed[random.below(file.size())] ^= static_cast<char>(1 << random.below(8));
      const auto lines = read_all(changed);
      noticed += lines ? 0 : 1;
      // Dates, names and flags in headers may change without a loss; what is read must be right then. The first bytes say what
      // the file is at all.
      if (!lines || !compression_of(changed)) continue;
      EXPECT_TRUE(*lines == expected) << name_of(format) << " round " << round;
    }
    EXPECT_GT(noticed, 30u) << name_of(format);
  }
}

TEST_F(CompressedTest, ABlockThatIsBrokenIsFoundByOneOfTheSplits) {
  Random random(5);
  const std::string text = text_of_words(random, 100'000);
  for (const Format format : {Format::bgzip, Format::bzip2, Format::zstd, Format::lz4}) {
    std::vector<std::uint64_t> begins;
    const std::string file = of_many(format, text, random, begins);
    const TextLines expected = serial_lines_of(text);
    for (int round = 0; round < 20; ++round) {
      std::string changed = file;
      const std::size_t at = 20 + random.below(file.size() - 20);
      changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ (1 + random.below(255)));
      const std::string path = write(changed);
      std::vector<std::uint64_t> cuts = {0, file.size(), at, at + 1};
      for (int n = 0; n < 6; ++n) cuts.push_back(random.below(file.size() + 1));
      const auto lines = read(splits_at(path, format, cuts));
      // Only zstd_frame() is without checksums: a byte of a literal may differ there, but no line may be lost.
      if (!lines || format == Format::zstd) continue;
      ASSERT_TRUE(*lines == expected) << name_of(format) << " changed at " << at;
    }
  }
}

TEST_F(CompressedTest, ABlockThatOnlyOneOfTwoNeighboursSeesIsAnError) {
  // The length in a header of bgzip: who comes from the member before never looks at it, who searches for members does.
  const std::string first = compressed(Format::bgzip, "one\ntwo\n");
  std::string file = first + compressed(Format::bgzip, "three\nfour\n") + compressed(Format::bgzip, "five\n");
  file[first.size() + 16] = static_cast<char>(file[first.size() + 16] ^ 16);
  const std::string path = write(file);
  EXPECT_EQ(read(splits_at(path, Format::bgzip, {0, file.size()})).value().size(), 5u);
  const auto lines = read(splits_at(path, Format::bgzip, {0, first.size(), file.size()}));
  ASSERT_FALSE(lines) << lines->size() << " lines";
  EXPECT_NE(lines.error().to_string().find("is damaged at byte " + std::to_string(first.size())), std::string::npos)
      << lines.error().to_string();
}

TEST_F(CompressedTest, DamageIsToldWithItsByte) {
  std::string file = gzipped(std::string(100'000, 'x') + "\n") + "no member";
  auto lines = read_all(file);
  ASSERT_FALSE(lines);
  EXPECT_EQ(lines.error().to_string(), "input " + (directory_.path() / "file").string() + " is damaged at byte " +
                                           std::to_string(file.size() - 9) +
                                           ": no gzip member begins here, and the file does not end");
  file = zstd_frame("some text that is not so short\n");
  file[5] = '\xff';
  EXPECT_FALSE(read_all(file));
}

TEST_F(CompressedTest, BombsTakeTimeAndNoMemory) {
  const std::string zeros = std::string(1u << 20, 'x') + "\n";
  std::string much;
  for (int i = 0; i < 16; ++i) much += zeros;
  for (const Format format : kCompressedFormats) {
    const std::string path = write(compressed(format, much));
    const std::uint64_t size = std::filesystem::file_size(path);
    EXPECT_LT(size, 1u << 20) << name_of(format);
    TextReader reader(4u << 20);
    std::size_t lines = 0;
    const auto read =
        reader.for_each_line({path, 0, size, {}}, kAnywhere, [&](std::string_view line) { lines += line.size() >> 20; });
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(lines, 16u) << name_of(format);
  }
  // A line that has no end is refused like any line that does not fit.
  const std::string path = write(gzipped(std::string(12u << 20, 'x')));
  TextReader reader(4u << 20);
  const auto read = reader.for_each_line({path, 0, std::filesystem::file_size(path), {}}, kAnywhere, [](std::string_view) {});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), Code::resource_exhausted);
}

TEST_F(CompressedTest, WindowsThatAreTooLargeAreRefused) {
  const auto zstd = [](char window) { return std::string("\x28\xb5\x2f\xfd\0", 5) + window + std::string("\x11\0\0a\n", 5); };
  EXPECT_EQ(read_all(zstd('\x88')).value(), TextLines{"a"}) << "128 MiB";
  const auto too_long = read_all(zstd('\x90'));
  ASSERT_FALSE(too_long);
  EXPECT_NE(too_long.error().to_string().find("its window is larger than 128 MiB"), std::string::npos)
      << too_long.error().to_string();
  std::string xz = xzipped("a\n");
  const std::size_t begin = 12, filter = xz.find("\x21\x01", begin), size = (static_cast<unsigned char>(xz[begin]) + 1u) * 4;
  xz[filter + 2] = 32;  // 256 MiB
  const std::uint32_t checksum = lzma_crc32(reinterpret_cast<const std::uint8_t*>(xz.data()) + begin, size - 4, 0);
  for (std::size_t i = 0; i < 4; ++i) xz[begin + size - 4 + i] = static_cast<char>(checksum >> (8 * i) & 0xff);
  const auto too_large = read_all(xz);
  ASSERT_FALSE(too_large);
  EXPECT_NE(too_large.error().to_string().find("its dictionary is larger than 128 MiB"), std::string::npos)
      << too_large.error().to_string();
}

/// As files of others need not have them.
TEST_F(CompressedTest, WhatIsWrittenHasChecksums) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "line " + std::to_string(i * i) + "\n";
  const TextLines lines = serial_lines_of(text);
  for (const Compression compression : {Compression::gzip, Compression::zstd, Compression::lz4}) {
    std::string file;
    ASSERT_TRUE(make_compressor(compression)->compress(as_bytes(text), file));
    ASSERT_EQ(read_all(file).value(), lines);
    for (std::size_t i = 4; i < file.size(); i += 3) {
      std::string changed = file;
      changed[i] = static_cast<char>(changed[i] ^ 4);
      const auto read = read_all(changed);
      EXPECT_TRUE(!read || *read == lines) << static_cast<int>(compression) << ": byte " << i;
    }
  }
}

TEST_F(CompressedTest, RawReadsTheBytesAsTheyAre) {
  const std::string file = "PK\3\4 is no archive\nbut text\n";
  const std::string path = write(file);
  EXPECT_FALSE(read({{path, 0, file.size(), {}}}));
  EXPECT_EQ(read({{path, 0, file.size(), {}, Format::raw}}).value(), (TextLines{"PK\3\4 is no archive", "but text"}));
  EXPECT_EQ(read(splits_at(path, Format::raw, {0, 3, file.size()})).value(), (TextLines{"PK\3\4 is no archive", "but text"}));
}

TEST_F(CompressedTest, FilesAreCutWhereTheirFormatAllowsIt) {
  Random random(6);
  std::string text;
  while (text.size() < 3'500'000) text += random.chance(0.01) ? '\n' : static_cast<char>('0' + random.below(64));
  for (const Format format : kCompressedFormats) {
    std::vector<std::uint64_t> begins;
    const std::string path = write(of_many(format, text, random, begins), std::string(name_of(format)));
    SplitOptions options;
    options.min_groups = 4;
    const auto groups = split_files(std::vector<std::string>{path}, options);
    ASSERT_TRUE(groups) << groups.error().to_string();
    const bool cut = format != Format::gzip && format != Format::xz && std::filesystem::file_size(path) >= (2u << 20);
    EXPECT_EQ(groups->size() > 1, cut) << name_of(format) << ": " << groups->size();
    std::vector<Split> all;
    for (const SplitGroup& group : *groups) {
      for (const Split& split : group) all.push_back(split);
      EXPECT_EQ(group[0].format, format);
    }
    const auto lines = read(all);
    ASSERT_TRUE(lines) << lines.error().to_string();
    EXPECT_TRUE(*lines == serial_lines_of(text)) << name_of(format);
  }
  const std::string single = write(zstd_frame(text), "single");
  SplitOptions options;
  options.min_groups = 4;
  EXPECT_EQ(split_files(std::vector<std::string>{single}, options).value().size(), 1u) << "one frame is one task's";
  options.format = Format::raw;
  const auto raw = split_files(std::vector<std::string>{single}, options).value();
  EXPECT_GT(raw.size(), 1u);
  EXPECT_EQ(raw[0][0].format, Format::raw);
}

TEST_F(CompressedTest, LeavesNothingInTheUpperHalvesOfVectorRegisters) {
  if (!upper_halves_in_use()) GTEST_SKIP() << "this processor does not tell what its vector registers hold";
  Random random(12);
  const std::string text = text_of_words(random, 300'000);
  for (const Format format : kCompressedFormats) {
    const std::string file = compressed(format, text);
    const Split split{write(file), 0, file.size(), {}};
    TextReader reader;
    std::size_t lines = 0, in_use = 0;
    const auto read = reader.for_each_line(split, kAnywhere, [&](std::string_view) {
      in_use += upper_halves_in_use() == true;
      ++lines;
    });
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_GT(lines, 100u);
    EXPECT_EQ(in_use, 0u) << "lines of " << name_of(format);
  }
}

}  // namespace
}  // namespace weft::storage
