// Integers of 128 bits. CMake compiles programs with GNU's extensions unless told otherwise, and with those they are integers.
#include <type_traits>

#include <gtest/gtest.h>
#include <weft/weft.h>

namespace weft::test {
namespace {

__extension__ using Wide = __int128;
static_assert(std::is_integral_v<Wide>, "this file is compiled with extensions");

TEST(GnuIntegers, Of128BitsAreSummedWhole) {
  const auto ran = run_locally(
      [](Flow& flow) {
        const Wide sum = flow.generate(3, [](std::uint64_t i) { return i; }).aggregate(weft::sum([](std::uint64_t i) {
          return (Wide(1) << 64) * static_cast<Wide>(i) + 5;
        }));
        EXPECT_TRUE(sum == (Wide(3) << 64) + 15);
      },
      {.threads = 1});
  EXPECT_TRUE(ran) << ran.error().to_string();
}

}  // namespace
}  // namespace weft::test
