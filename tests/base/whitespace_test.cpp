#include "base/whitespace.hpp"

#include <cctype>
#include <memory>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/key_hash.hpp"

namespace weft {
namespace {

std::uint64_t mask_by_hand(const char* from, std::size_t size) {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < 64; ++i)
    if (i >= size || std::isspace(static_cast<unsigned char>(from[i])) != 0) mask |= std::uint64_t{1} << i;
  return mask;
}

TEST(Whitespace, EveryByteAtEveryPlaceIsClassified) {
  for (int c = 0; c < 256; ++c) {
    const char byte = static_cast<char>(c);
    EXPECT_EQ(is_whitespace(byte), std::isspace(c) != 0) << c;
    for (std::size_t place = 0; place < 64; ++place) {
      std::string text(64, 'x');
      text[place] = byte;
      ASSERT_EQ(whitespace_mask(text.data(), 64), mask_by_hand(text.data(), 64)) << c << " at " << place;
      ASSERT_EQ(detail::portable_whitespace_mask(text.data()), mask_by_hand(text.data(), 64)) << c << " at " << place;
    }
  }
}

TEST(Whitespace, MasksOfRandomBytesOfAnyLengthAgreeWithIsspace) {
  std::mt19937 random(7);
  std::string text(64, '\0');
  for (int round = 0; round < 20'000; ++round) {
    const std::size_t size = random() % 65;
    for (char& c : text) c = random() % 3 == 0 ? static_cast<char>(random() % 33) : static_cast<char>(random());
    ASSERT_EQ(whitespace_mask(text.data(), size), mask_by_hand(text.data(), size));
    ASSERT_EQ(detail::portable_whitespace_mask(text.data()), mask_by_hand(text.data(), 64));
  }
}

/// A page of text with nothing readable behind it.
class LastPage {
 public:
  LastPage() : memory_(static_cast<char*>(::mmap(nullptr, 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    if (memory_ == MAP_FAILED || ::mprotect(memory_, kPage, PROT_READ | PROT_WRITE) != 0) std::abort();
  }
  ~LastPage() { ::munmap(memory_, 2 * kPage); }
  LastPage(const LastPage&) = delete;
  LastPage& operator=(const LastPage&) = delete;
  char* end() const { return memory_ + kPage; }

 private:
  static constexpr std::size_t kPage = 4096;
  char* memory_;
};

TEST(Whitespace, NothingIsReadBehindTheLastPage) {
  const LastPage page;
  std::memset(page.end() - 64, 'x', 64);
  for (std::size_t size = 0; size <= 64; ++size) {
    const char* from = page.end() - size;
    EXPECT_EQ(whitespace_mask(from, size), mask_by_hand(from, size));
    if (size > kShortBytes) continue;
    const ShortBytes words = load_short(reinterpret_cast<const std::byte*>(from), size);
    std::string expected(16, '\0');
    std::memset(expected.data(), 'x', size);
    expected[15] = static_cast<char>(size);
    EXPECT_EQ(std::memcmp(&words, expected.data(), 16), 0) << size;
  }
}

}  // namespace
}  // namespace weft
