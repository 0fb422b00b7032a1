// What the fuzzers start from and what they once tripped over, read again: by any compiler, with every other test.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/random.hpp"
#include "tests/fuzz/text_input.hpp"

namespace weft::fuzz {
namespace {

/// The corpus has a folder for each kind.
TEST(FuzzCorpus, IsReadOrRefusedWithOneLine) {
  std::size_t files = 0;
  for (const auto& kind : std::filesystem::directory_iterator(WEFT_FUZZ_CORPUS)) {
    for (const auto& entry : std::filesystem::directory_iterator(kind.path())) {
      SCOPED_TRACE(entry.path().string());
      const auto text = read_file(entry.path().string());
      ASSERT_TRUE(text) << text.error().to_string();
      read_text(kind.path().filename().string(), *text);
      ++files;
    }
  }
  EXPECT_GT(files, 20u);
}

/// A little of what the fuzzers do: pieces cut out, doubled, and overwritten.
TEST(FuzzCorpus, IsReadOrRefusedWithOneLineWhenDamaged) {
  const bool longer = std::getenv("WEFT_LONG") != nullptr;
  const std::uint64_t seed = longer ? static_cast<std::uint64_t>(::getpid()) : 1;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  for (const auto& kind : std::filesystem::directory_iterator(WEFT_FUZZ_CORPUS)) {
    for (const auto& entry : std::filesystem::directory_iterator(kind.path())) {
      const std::string whole = read_file(entry.path().string()).value();
      Random random(seed, std::hash<std::string>()(entry.path().filename().string()));
      for (int round = 0; round < (longer ? 20'000 : 200); ++round) {
        std::string text = whole;
        for (std::uint64_t changes = 1 + random.below(4); changes > 0 && !text.empty(); --changes) {
          const std::size_t at = random.below(text.size()), length = random.below(16);
          switch (random.below(4)) {
            case 0:
              text.erase(at, length);
              break;
            case 1:
              text.insert(at, text.substr(random.below(text.size()), length));
              break;
            case 2:
              text[at] = static_cast<char>(random.below(256));
              break;
            default:
              text.insert(at, std::to_string(random.below(~std::uint64_t{0})));
          }
        }
        read_text(kind.path().filename().string(), text);
      }
    }
  }
}

}  // namespace
}  // namespace weft::fuzz
