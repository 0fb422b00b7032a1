// Joins two tables of binary rows and sums per key: the work of limits/join_limit.cpp, written against the API.
//
//   join_sum --left left.bin --right right.bin --output sums     lines "key<TAB>sum of left value * right value"
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <weft/weft.h>

namespace {

struct Options {
  std::string left, right, output;
};

void declare(weft::Arguments& arguments, Options& options) {
  arguments.option("--left", options.left, "Rows of 100 bytes: 64-bit key, 64-bit value, filler").required();
  arguments.option("--right", options.right, "The other table").required();
  arguments.option("--output", options.output, "Directory for the sums").required();
}

/// A lambda, because calls through a pointer to a function are not inlined.
constexpr auto kKeyAndValue = [](std::string_view row) {
  std::pair<std::uint64_t, std::uint64_t> result;
  std::memcpy(&result.first, row.data(), 8);
  std::memcpy(&result.second, row.data() + 8, 8);
  return result;
};

void define(weft::Flow& flow, const Options& options) {
  const auto left = flow.read_records<100>(options.left).map(kKeyAndValue);
  const auto right = flow.read_records<100>(options.right).map(kKeyAndValue);
  left.join(right)
      .map_values([](const auto& left_value, const auto& right_value) { return left_value * right_value; })
      .reduce_by_key(std::plus<>())
      .write_text(options.output);
}

}  // namespace

int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Joins two tables and sums per key", declare, define); }
