// Configuration files and assignments.
#include "base/config.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

using namespace std::chrono_literals;

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
