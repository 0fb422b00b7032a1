#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/random.hpp"
#include "base/sanitized.hpp"
#include "storage/record_reader.hpp"
#include "storage/text_reader.hpp"

namespace weft::storage {
namespace {

/// The definition: cut at '\n', drop one '\r' before it, no line after the last '\n'.
std::vector<std::string> serial_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::string line;
  const auto end_line = [&] {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(std::move(line));
    line.clear();
  };
  for (const char c : text) {
    if (c == '\n')
      end_line();
    else
      line += c;
  }
  if (!text.empty() && text.back() != '\n') end_line();
  return lines;
}

std::string random_text(Random& random) {
  static constexpr std::size_t kLongest[] = {0, 3, 20, 200, 5'000, 300'000, 1'500'000};
  std::string text;
  const auto lines = random.below(60);
  for (std::uint64_t i = 0; i < lines; ++i) {
    std::size_t length = random.below(kLongest[random.below(random.chance(0.1) ? 7 : 4)] + 1);
    while (length-- > 0) text += static_cast<char>(random.chance(0.02) ? '\r' : random());
    if (random.chance(0.3)) text += '\r';
    if (random.chance(0.95)) text += '\n';
  }
  if (random.chance(0.5) && !text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

class ReadersTest : public testing::Test {
 protected:
  void SetUp() override {
    auto dir = TempDir::create();
    ASSERT_TRUE(dir);
    dir_.emplace(std::move(*dir));
  }
  std::string write(const std::string& text, const std::string& name = "file") {
    const std::string path = dir_->path() / name;
    EXPECT_TRUE(write_file(path, text));
    return path;
  }
  std::optional<TempDir> dir_;
};

const auto kNowhere = [](std::uint64_t) {};

TEST_F(ReadersTest, AnyCutsGiveEveryLineOnceAndInOrder) {
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 40u : 150u); ++seed) {
    SCOPED_TRACE(std::string("seed ") + std::to_string(seed));
    Random random(seed);
    const std::string text = random_text(random);
    const std::string path = write(text);
    std::vector<std::uint64_t> cuts = {0, text.size()};
    for (auto n = random.below(20); n > 0; --n) cuts.push_back(random.below(text.size() + 1));
    if (text.size() < 2'000 && random.chance(0.3))
      for (std::uint64_t i = 0; i < text.size(); ++i) cuts.push_back(i);  // splits of one byte
    std::sort(cuts.begin(), cuts.end());
    TextReader reader;
    std::vector<std::string> lines;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      std::uint64_t at = 0;
      const auto read = reader.for_each_line(
          {path, cuts[i], cuts[i + 1] - cuts[i], {}}, [&](std::uint64_t offset) { at = offset; },
          [&](std::string_view line) {
            ASSERT_EQ(text.compare(at, line.size(), line), 0);
            ASSERT_TRUE(at == 0 || text[at - 1] == '\n');
            ASSERT_TRUE(at >= cuts[i] && at < cuts[i + 1]);
            lines.emplace_back(line);
          });
      ASSERT_TRUE(read) << read.error().to_string();
    }
    ASSERT_TRUE(lines == serial_lines(text));
  }
}

TEST_F(ReadersTest, PiecesOfAnyCutsAreTheTextInWholeLines) {
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 40u : 150u); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const std::string text = random_text(random);
    const std::string path = write(text);
    std::vector<std::uint64_t> cuts = {0, text.size()};
    for (auto n = random.below(20); n > 0; --n) cuts.push_back(random.below(text.size() + 1));
    std::sort(cuts.begin(), cuts.end());
    TextReader reader;
    std::string all;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      const auto read =
          reader.for_each_piece({path, cuts[i], cuts[i + 1] - cuts[i], {}}, [&](std::uint64_t offset, std::string_view lines) {
            ASSERT_EQ(offset, all.size());
            ASSERT_TRUE(offset >= cuts[i] && offset < cuts[i + 1]);
            ASSERT_TRUE(offset == 0 || text[offset - 1] == '\n');
            all += lines;
            ASSERT_TRUE(all.back() == '\n' || all.size() == text.size());
          });
      ASSERT_TRUE(read) << read.error().to_string();
    }
    ASSERT_TRUE(all == text);
  }
}

TEST_F(ReadersTest, TextOfManyKinds) {
  const auto lines_of = [&](const std::string& text) {
    std::vector<std::string> lines;
    const auto path = write(text);
    EXPECT_TRUE(for_each_line({path, 0, text.size(), {}}, kNowhere, [&](std::string_view line) { lines.emplace_back(line); }));
    return lines;
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_of(""), Lines{});
  EXPECT_EQ(lines_of("\n"), Lines{""});
  EXPECT_EQ(lines_of("a"), Lines{"a"});
  EXPECT_EQ(lines_of("a\r\n\r\nb\r"), (Lines{"a", "", "b"}));
  EXPECT_EQ(lines_of("a\r\rb\n\n"), (Lines{"a\r\rb", ""}));
  EXPECT_EQ(lines_of(std::string("\0\xff\xfe\n\x80", 5)), (Lines{std::string("\0\xff\xfe", 3), "\x80"}));
}

TEST_F(ReadersTest, AHugeLineIsReadWholeByItsOwnerAndSkippedByTheOthers) {
  std::string text = "first\n" + std::string(80u << 20, 'x') + "\nlast";
  const std::string path = write(text);
  std::vector<std::size_t> sizes;
  for (std::uint64_t offset = 0; offset < text.size(); offset += 10u << 20)
    ASSERT_TRUE(for_each_line({path, offset, std::min<std::uint64_t>(10u << 20, text.size() - offset), {}}, kNowhere,
                              [&](std::string_view line) { sizes.push_back(line.size()); }));
  EXPECT_EQ(sizes, (std::vector<std::size_t>{5, 80u << 20, 4}));
}

TEST_F(ReadersTest, StopsWhenToldAndLetsExceptionsPass) {
  const std::string path = write("a\nb\nc");
  int seen = 0;
  ASSERT_TRUE(for_each_line({path, 0, 5, {}}, kNowhere, [&](std::string_view) { return ++seen < 2; }));
  EXPECT_EQ(seen, 2);
  EXPECT_THROW(
      static_cast<void>(for_each_line({path, 0, 5, {}}, kNowhere, [](std::string_view) { throw std::runtime_error("no"); })),
      std::runtime_error);
}

TEST_F(ReadersTest, MissingShrunkenAndStrangeFilesAreNamed) {
  const auto ignore = [](std::string_view) {};
  const std::string path = write("a\nb\nc\n");
  auto gone = for_each_line({path + "-gone", 0, 5, {}}, kNowhere, ignore);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code(), Code::not_found);
  EXPECT_NE(gone.error().to_string().find(path + "-gone"), std::string::npos);
  auto shrunk = for_each_line({path, 0, 60, {}}, kNowhere, ignore);
  ASSERT_FALSE(shrunk);
  EXPECT_NE(shrunk.error().to_string().find("changed"), std::string::npos);
  auto device = for_each_line({"/dev/null", 0, 1, {}}, kNowhere, ignore);
  ASSERT_FALSE(device);
  EXPECT_NE(device.error().to_string().find("/dev/null is not a regular file"), std::string::npos);
}

TEST_F(ReadersTest, AFileTruncatedWhileItIsReadIsAnErrorAndNoCrash) {
  std::string text;
  for (int i = 0; i < 1'000'000; ++i) text += "some line\n";
  const std::string path = write(text);
  bool truncated = false;
  const auto read = for_each_line({path, 0, text.size(), {}}, kNowhere, [&](std::string_view) {
    if (!truncated) {
      ASSERT_EQ(::truncate(path.c_str(), 1'000'000), 0);
    }
    truncated = true;
  });
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().to_string().find(path), std::string::npos);
}

TEST_F(ReadersTest, AFileThatClaimsToHaveNoBytesIsReadUntilItEnds) {
  const std::string path = "/proc/self/status";
  std::vector<std::string> lines;
  ASSERT_TRUE(for_each_line({path, 0, 10, {}}, kNowhere, [&](std::string_view line) { lines.emplace_back(line); }));
  EXPECT_EQ(lines.size(), serial_lines(read_file(path).value()).size());
  const auto refused = for_each_record({path, 0, 10, {}}, 5, kNowhere, [](ByteView) {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::invalid_argument);
}

TEST_F(ReadersTest, AFileThatWasEmptiedBeforeItWasReadIsAnError) {
  const std::string path = write("");
  const auto read = for_each_line({path, 0, 10, {}}, kNowhere, [](std::string_view) {});
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().to_string().find(path + " changed while the job ran"), std::string::npos);
}

TEST_F(ReadersTest, FixedRecordsComeWholeAndInOrder) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(std::string("seed ") + std::to_string(seed));
    Random random(seed);
    const std::size_t size = random.chance(0.1) ? 700'000 : 1 + random.below(300);
    const std::size_t count = random.below(size > 1000 ? 5 : 10'000);
    std::string content(size * count, '\0');
    for (auto& c : content) c = static_cast<char>(random());
    const std::string path = write(content);
    const std::size_t half = size * (count / 2);
    std::string read;
    RecordReader reader;
    const auto take = [&](ByteView record) {
      ASSERT_EQ(record.size(), size);
      read += as_chars(record);
    };
    std::uint64_t position = 0;
    ASSERT_TRUE(reader.for_each_record(
        {path, 0, half, {}}, size, [&](std::uint64_t at) { position = at; }, take));
    EXPECT_EQ(position, half != 0 ? half - size : 0);
    ASSERT_TRUE(reader.for_each_record({path, half, content.size() - half, {}}, size, kNowhere, take));
    ASSERT_TRUE(read == content);
  }
}

TEST_F(ReadersTest, RecordsThatAreNotWholeAreRefused) {
  const std::string path = write("123456789");
  const auto ignore = [](ByteView) {};
  EXPECT_EQ(for_each_record({path, 0, 9, {}}, 4, kNowhere, ignore).error().code(), Code::invalid_argument);
  EXPECT_EQ(for_each_record({path, 1, 3, {}}, 3, kNowhere, ignore).error().code(), Code::invalid_argument);
  EXPECT_EQ(for_each_record({path, 0, 9, {}}, 0, kNowhere, ignore).error().code(), Code::invalid_argument);
  EXPECT_EQ(for_each_record({path, 0, 12, {}}, 3, kNowhere, ignore).error().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace weft::storage
