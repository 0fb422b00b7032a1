// Text and logging.
#include "base/text.hpp"

#include <cctype>
#include <limits>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "base/counted.hpp"
#include "base/file.hpp"
#include "base/log.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

TEST(Text, SizesParse) {
  EXPECT_EQ(parse_size("0").value(), 0u);
  EXPECT_EQ(parse_size("65536").value(), 65536u);
  EXPECT_EQ(parse_size("64MiB").value(), 64u << 20);
  EXPECT_EQ(parse_size(" 64 MiB ").value(), 64u << 20);
  EXPECT_EQ(parse_size("1.5GiB").value(), 3u << 29);
  EXPECT_EQ(parse_size("10kB").value(), 10'000u);
  EXPECT_EQ(parse_size("2G").value(), 2ULL << 30);
  for (const auto* bad :
       {"", "MiB", "-1", "1XB", "1.2.3GiB", "99999999999TiB", "1e400", "64mib ", "0x10", "nan", "18446744073709551616"}) {
    EXPECT_FALSE(parse_size(bad).has_value()) << bad;
  }
}

TEST(Text, DurationsParse) {
  EXPECT_EQ(parse_duration("0").value(), 0ns);
  EXPECT_EQ(parse_duration("250ms").value(), 250ms);
  EXPECT_EQ(parse_duration("1.5min").value(), 90s);
  EXPECT_EQ(parse_duration("2 h").value(), 2h);
  for (const auto* bad : {"", "5", "s", "-5s", "5 sec", "99999999999h", "inf s"})
    EXPECT_FALSE(parse_duration(bad).has_value()) << bad;
}

TEST(Text, ExactFormsParseBack) {
  for (const std::uint64_t size : {0ULL, 1ULL, 1500ULL, 1ULL << 16, 3ULL << 29, 1ULL << 40, (1ULL << 40) + 1}) {
    EXPECT_EQ(parse_size(format_size(size)).value(), size) << format_size(size);
  }
  for (const Duration duration : {Duration(0), Duration(1), Duration(1500us), Duration(5s), Duration(90s), Duration(48h)}) {
    EXPECT_EQ(parse_duration(format_duration(duration)).value(), duration) << format_duration(duration);
  }
}

TEST(Text, FormsForPeopleHaveThreeDigits) {
  EXPECT_EQ(human_bytes(17), "17 B");
  EXPECT_EQ(human_bytes(1023), "1.00 KiB");
  EXPECT_EQ(human_bytes(640 << 10), "640 KiB");
  EXPECT_EQ(human_bytes(1'300'000'000), "1.21 GiB");
  EXPECT_EQ(human_bytes(std::numeric_limits<std::uint64_t>::max()), "16.0 EiB");
  EXPECT_EQ(human_duration(850ms), "850 ms");
  EXPECT_EQ(human_duration(12'300ms), "12.3 s");
  EXPECT_EQ(human_duration(245s), "4 min 05 s");
  EXPECT_EQ(human_duration(7380s), "2 h 03 min");
}

TEST(Text, TheNearestWordIsFoundUnlessNoneIsNear) {
  const std::vector<std::string> words{"worker.memory", "worker.slots", "master.port"};
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(nearest("worker.memroy", words), "worker.memory");
  EXPECT_EQ(nearest("completely.different", words), "");
}

TEST(Text, SplitJoinTrimAndEscape) {
  EXPECT_EQ(split("a,,b", ',').size(), 3u);
  EXPECT_EQ(split("", ',').size(), 1u);
  const std::vector<std::string> parts{"a", "b", "c"};
  EXPECT_EQ(join(parts, ", "), "a, b, c");
  EXPECT_EQ(trim(" \t x y\n"), "x y");
  EXPECT_EQ(trim("   "), "");
  EXPECT_EQ(escaped(std::string("a\n\"\\\x01\0b", 7)), "a\\n\\\"\\\\\\x01\\x00b");
}

TEST(Log, WritesOneLinePerEventFromTheLevelUp) {
  const auto directory = TempDir::create().value();
  const auto path = directory.path() / "log";
  {
    const Fd fd(::open(path.c_str(), O_CREAT | O_WRONLY, 0600));
    configure_logging(LogLevel::info, fd.get());
    const Log log("tester");
    log.debug("hidden {}", 1);
    log.info("shown {}", 2);
    log.error("two\nlines {}", "x");
    configure_logging(LogLevel::warn);
  }
  const auto text = read_file(path).value();
  const auto lines = split(text, '\n');
  ASSERT_EQ(lines.size(), 3u) << text;
  constexpr std::string_view kTime = "0000-00-00T00:00:00.000Z";
  EXPECT_EQ(lines[0].substr(kTime.size()), " info  tester: shown 2");
  EXPECT_EQ(lines[1].substr(kTime.size()), " error tester: two\\nlines x");
  EXPECT_EQ(lines[2], "");
  for (std::size_t i = 0; i < kTime.size(); ++i) {
    EXPECT_TRUE(kTime[i] == '0' ? std::isdigit(static_cast<unsigned char>(text[i])) != 0 : text[i] == kTime[i]) << text;
  }
  EXPECT_EQ(parse_log_level("warn").value(), LogLevel::warn);
  EXPECT_FALSE(parse_log_level("loud").has_value());
}

TEST(Counted, IsOneOrSeveral) {
  EXPECT_EQ(counted(1, "rack"), "1 rack");
  EXPECT_EQ(counted(0, "rack"), "0 racks");
  EXPECT_EQ(counted(12, "directory", "directories"), "12 directories");
  EXPECT_EQ(counted(1, "directory", "directories"), "1 directory");
}

}  // namespace
}  // namespace weft
