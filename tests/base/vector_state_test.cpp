// The wrappers of libraries that use vector registers leave nothing in their upper halves.
#include "base/vector_state.hpp"

#include <string>

#include <gtest/gtest.h>

#include "base/crc32c.hpp"
#include "base/hash.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft {
namespace {

#if defined(__x86_64__)

/// Code without the compiler's own clean-up, as that of a library written in assembler.
[[gnu::target("avx"), gnu::noinline]] void leave_something() {
  asm volatile("vpcmpeqd %%xmm0, %%xmm0, %%xmm0\n\tvinsertf128 $1, %%xmm0, %%ymm0, %%ymm0" ::: "xmm0");
}

class VectorStateTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!upper_halves_in_use()) GTEST_SKIP() << "this processor does not tell what its vector registers hold";
    clear_upper_halves();
  }
};

TEST_F(VectorStateTest, IsSeenAndCleared) {
  EXPECT_EQ(upper_halves_in_use(), false);
  leave_something();
  const auto before = upper_halves_in_use();
  clear_upper_halves();
  EXPECT_EQ(before, true);
  EXPECT_EQ(upper_halves_in_use(), false);
}

TEST_F(VectorStateTest, IsClearAfterChecksumsOfAnyLength) {
  const std::string bytes(1u << 20, 'x');
  for (std::size_t length = 0; length <= bytes.size(); length = length * 2 + 1) {
    const volatile std::uint64_t sums = crc32c(as_bytes(std::string_view(bytes).substr(0, length)));
    const auto after_crc = upper_halves_in_use();
    const volatile std::uint64_t hash = hash64(as_bytes(std::string_view(bytes).substr(0, length)));
    EXPECT_EQ(after_crc, false) << "crc32c of " << length << " bytes";
    EXPECT_EQ(upper_halves_in_use(), false) << "hash64 of " << length << " bytes";
    (void)sums, (void)hash;
  }
}

#endif

}  // namespace
}  // namespace weft
