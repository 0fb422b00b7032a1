// Text, JSON, logging and configuration.
#include "base/text.hpp"

#include <cctype>
#include <limits>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "base/config.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
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

TEST(Json, NestsAndSeparates) {
  JsonWriter json;
  json.begin_object().key("a").begin_array().value(1).value("two").value(true).null().value(0.5).end_array();
  json.member("b", std::uint64_t{18446744073709551615ULL}).key("c").begin_object().end_object().end_object();
  EXPECT_EQ(json.text(), R"({"a":[1,"two",true,null,0.5],"b":18446744073709551615,"c":{}})");
  JsonWriter infinite;
  infinite.value(std::numeric_limits<double>::infinity());
  EXPECT_EQ(infinite.text(), "null");
}

TEST(Json, EscapesWhatMustBeEscaped) {
  EXPECT_EQ(json_quoted("a\"b\\c\n\t\x01"), R"("a\"b\\c\n\t\u0001")");
  EXPECT_EQ(json_quoted("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"),
            "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\"");
}

TEST(Json, ReplacesInvalidUtf8) {
  EXPECT_EQ(json_quoted("\xff"), R"("\ufffd")");
  EXPECT_EQ(json_quoted("a\xc3"), R"("a\ufffd")");                             // cut short
  EXPECT_EQ(json_quoted("\xc0\x80"), R"("\ufffd\ufffd")");                     // overlong
  EXPECT_EQ(json_quoted("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");           // surrogate
  EXPECT_EQ(json_quoted("\xf4\x90\x80\x80").find("\xf4"), std::string::npos);  // past U+10FFFF
}

TEST(JsonDeathTest, AValueWithoutAKeyIsABug) { EXPECT_DEATH(JsonWriter().begin_object().value(1), "assertion failed"); }

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

struct Settings {
  std::string name = "default";
  bool fast = false;
  std::uint16_t port = 7070;
  double ratio = 0.5;
  std::uint64_t memory = 1u << 30;
  Duration patience = 5s;
  std::vector<std::string> hosts{"a"};

  void declare(Config& config) {
    config.text("name", name, "What it is called");
    config.flag("worker.fast", fast, "Whether to hurry");
    config.integer("master.port", port, "Where to listen");
    config.real("worker.ratio", ratio, "Share of memory");
    config.size("worker.memory", memory, "Memory of all tasks");
    config.duration("worker.patience", patience, "How long to wait");
    config.list("master.hosts", hosts, "Who may come");
  }
};

TEST(Config, ReadsEveryKind) {
  Settings settings;
  Config config;
  settings.declare(config);
  const auto loaded = config.load_text(R"(
name = "x"
[worker]
fast = true
ratio = 1
memory = "64MiB"
patience = "250ms"
[master]
port = 65535
hosts = ["b", "c"]
)",
                                       "weft.toml");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().to_string();
  EXPECT_EQ(settings.name, "x");
  EXPECT_TRUE(settings.fast);
  EXPECT_EQ(settings.ratio, 1.0);
  EXPECT_EQ(settings.memory, 64u << 20);
  EXPECT_EQ(settings.patience, 250ms);
  EXPECT_EQ(settings.port, 65535);
  EXPECT_EQ(settings.hosts, (std::vector<std::string>{"b", "c"}));
}

TEST(Config, ErrorsNameFileLineKeyAndRemedyAndAssignNothing) {
  std::string nested = "a";
  for (int i = 0; i < 100'000; ++i) nested += ".a";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"name = \"y\"\n[worker]\nmemroy = \"1GiB\"\n", "weft.toml:3: unknown key 'worker.memroy' (did you mean 'worker.memory'?)"},
      {"name = 5\n", "weft.toml:1: name must be text"},
      {"[master]\nport = 65536\n", "weft.toml:2: master.port: 65536 is not between 0 and 65535"},
      {"[master]\nport = 1.5\n", "weft.toml:2: master.port must be an integer"},
      {"[worker]\nmemory = \"lots\"\n", "weft.toml:2: worker.memory: 'lots' is not a size"},
      {"[worker]\npatience = \"soon\"\n", "weft.toml:2: worker.patience: 'soon' is not a duration"},
      {"[name]\nx = 1\n", "weft.toml:1: name is a value, not a table"},
      {"[master]\nhosts = [1]\n", "weft.toml:2: master.hosts must be a list of text"},
      {"a = \n", "weft.toml:1: "},
      {"\n" + nested + " = 1\n", "weft.toml:2: more than 1000 dots in a line"},
      {"[" + nested + "]\n", "weft.toml:1: more than 1000 dots in a line"},
      {"[worker]\nfast = \"true\"\n", "weft.toml:2: worker.fast must be true or false"},
  };
  for (const auto& [toml, expected] : cases) {
    Settings settings;
    Config config;
    settings.declare(config);
    const auto loaded = config.load_text(toml, "weft.toml");
    ASSERT_FALSE(loaded.has_value()) << toml;
    EXPECT_EQ(loaded.error().code(), Code::invalid_argument);
    EXPECT_EQ(loaded.error().to_string().substr(0, expected.size()), expected);
    EXPECT_EQ(settings.name, "default");
  }
}

TEST(Config, TakesSingleAssignments) {
  Settings settings;
  Config config;
  settings.declare(config);
  for (const auto* good : {"name = plain text", "worker.fast=true", "master.port=1", "worker.memory=2GiB", "master.hosts=x, y"}) {
    const auto set = config.set(good);
    EXPECT_TRUE(set.has_value()) << set.error().to_string();
  }
  EXPECT_EQ(settings.name, "plain text");
  EXPECT_EQ(settings.memory, 2ULL << 30);
  EXPECT_EQ(settings.hosts, (std::vector<std::string>{"x", "y"}));
  for (const auto* bad :
       {"name", "nmae=x", "master.port=x", "master.port=-1", "worker.fast=yes", "worker.memory=", "worker.ratio=half"}) {
    EXPECT_FALSE(config.set(bad).has_value()) << bad;
  }
}

TEST(Config, ItsDescriptionIsAFileThatLoads) {
  Settings settings;
  Config config;
  settings.declare(config);
  const auto text = config.describe();
  EXPECT_NE(text.find("# Memory of all tasks (a size such as \"64MiB\")\nmemory = \"1GiB\"\n"), std::string::npos) << text;
  const auto loaded = config.load_text(text, "description");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().to_string() << "\n" << text;
  EXPECT_EQ(settings.memory, 1u << 30);
}

TEST(Config, AMissingFileIsNamed) {
  Config config;
  const auto loaded = config.load_file("/nonexistent/weft.toml");
  ASSERT_FALSE(loaded.has_value());
  EXPECT_NE(loaded.error().to_string().find("/nonexistent/weft.toml"), std::string::npos);
}

std::string utf8(char32_t c) {
  const auto byte = [](char32_t bits) { return static_cast<char>(bits); };
  if (c < 0x800) return {byte(0xc0 | c >> 6), byte(0x80 | (c & 0x3f))};
  return {byte(0xe0 | c >> 12), byte(0x80 | (c >> 6 & 0x3f)), byte(0x80 | (c & 0x3f))};
}

/// A sample of all, closer where toml++ looks closer.
TEST(Config, LettersOfAllScriptsAreTextAndCommentsAndNothingElse) {
  for (char32_t c = 0xa0; c <= 0xffff; c += c < 0x500 || c > 0xfb00 ? 9 : 97) {
    if (c >= 0xd800 && c < 0xe000) continue;  // surrogates
    const std::string letter = utf8(c);
    std::string name;
    const auto load = [&](const std::string& text) {
      Config config;
      config.text("name", name, "");
      return config.load_text(text, "weft.toml");
    };
    SCOPED_TRACE(static_cast<unsigned>(c));
    const auto loaded = load("name = \"" + letter + "\"  # " + letter + "\n");
    ASSERT_TRUE(loaded) << loaded.error().to_string();
    EXPECT_EQ(name, letter);
    const auto after_backslash = load("name = \"\"\"a\\\n  " + letter + "b\"\"\"\n");
    ASSERT_TRUE(after_backslash) << after_backslash.error().to_string();
    EXPECT_TRUE(name.starts_with('a') && name.ends_with('b')) << name;
    for (const std::string& bad : {letter + " = 'x'\n", "name" + letter + " = 'x'\n", "name = " + letter + "\n",
                                   "name = 'x'" + letter + "\n", "[" + letter + "]\n", "[name]" + letter + "\n"}) {
      const auto refused = load(bad);
      ASSERT_FALSE(refused) << bad;
      const std::string message = refused.error().to_string();
      EXPECT_TRUE(message.starts_with("weft.toml:1: ") && message.find('\n') == std::string::npos) << message;
    }
  }
}

}  // namespace
}  // namespace weft
