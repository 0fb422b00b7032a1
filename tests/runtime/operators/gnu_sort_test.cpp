// Keys of 128 bits. CMake compiles programs with GNU's extensions unless told otherwise, and with those they are integers.
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/operators/external_sorter.hpp"
#include "tests/runtime/operators/operators_fixture.hpp"

namespace weft::runtime {
namespace {

__extension__ using Wide = __int128;
static_assert(std::is_integral_v<Wide>, "this file is compiled with extensions");

TEST(GnuSort, OrdersIntegersOf128BitsByAllOfThem) {
  TestContext test(1U << 20);
  ExternalSorter<Wide> sorter(test.context);
  ExternalSorter<std::pair<Wide, int>> pairs(test.context);
  for (const Wide number : {Wide(1) << 64, Wide(2), Wide(1), Wide(-1), -(Wide(1) << 100)}) {
    sorter.add(number);
    pairs.add({number, 0});
  }
  std::vector<Wide> sorted, firsts;
  sorter.drain([&](Wide number) { sorted.push_back(number); });
  pairs.drain([&](const std::pair<Wide, int>& pair) { firsts.push_back(pair.first); });
  EXPECT_TRUE(sorted == (std::vector<Wide>{-(Wide(1) << 100), -1, 1, 2, Wide(1) << 64}));
  EXPECT_TRUE(firsts == sorted);
}

}  // namespace
}  // namespace weft::runtime
