// What the fuzzers start from and what they once tripped over, read again: by any compiler, with every other test.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/random.hpp"
#include "tests/fuzz/text_input.hpp"
#include "tests/releases/kinds.hpp"

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

/// Whether it was read.
bool reads(const releases::Kind& kind, std::string_view header, ByteView bulk) {
  rpc::Message message;
  message.header = Buffer::copy_of(as_bytes(header));
  message.bulk = Buffer::copy_of(bulk);
  return kind.describe(message).has_value();
}

TEST(FuzzMessages, AreReadWholeOrRefused) {
  for (const auto& [name, kind] : releases::kinds()) {
    const auto& example = *kind.examples.front();
    const std::string header(as_chars(example.header.view()));
    EXPECT_TRUE(reads(kind, header, example.bulk.view())) << name;
    for (std::size_t bytes = 0; bytes < header.size(); ++bytes)
      ASSERT_FALSE(reads(kind, std::string_view(header).substr(0, bytes), example.bulk.view())) << name << " cut at " << bytes;
    EXPECT_FALSE(reads(kind, header + '\0', example.bulk.view())) << name;
  }
}

/// Each pointer of a message can be null, and each number zero.
TEST(FuzzMessages, AreReadOrRefusedWithoutAnyOfTheirWords) {
  constexpr std::size_t kWord = 8;
  std::size_t read = 0;
  for (const auto& [name, kind] : releases::kinds())
    for (const auto& example : kind.examples)
      for (std::size_t at = 0; at + kWord <= example->header.size(); at += kWord) {
        std::string header(as_chars(example->header.view()));
        header.replace(at, kWord, kWord, '\0');
        read += reads(kind, header, example->bulk.view()) ? 1 : 0;
      }
  EXPECT_GT(read, 1000u);
}

/// A little of what message_fuzz.cpp does.
TEST(FuzzMessages, AreReadOrRefusedWhenDamaged) {
  const bool longer = std::getenv("WEFT_LONG") != nullptr;
  Random random(longer ? static_cast<std::uint64_t>(::getpid()) : 1);
  std::size_t read = 0, refused = 0;
  for (const auto& [name, kind] : releases::kinds()) {
    for (int round = 0; round < (longer ? 100'000 : 500); ++round) {
      const auto& example = *kind.examples[random.below(kind.examples.size())];
      std::string header(as_chars(example.header.view()));
      for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes)
        header[random.below(header.size())] = static_cast<char>(random.chance(0.3) ? 0xff : random.below(256));
      ++(reads(kind, header, example.bulk.view()) ? read : refused);
    }
  }
  EXPECT_GT(read, 1000u);
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace weft::fuzz
