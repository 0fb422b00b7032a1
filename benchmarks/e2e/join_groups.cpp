// Joins two tables of binary rows and sums by a group of the right one: the work of limits/group_join_limit.cpp, written against
// the API.
//
//   join_groups --left left.bin --right right.bin --output sums     lines "group<TAB>sum of the left values"
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <weft/weft.h>

namespace {

struct Options {
  std::string left, right, output, strategy = "automatic";
  bool swapped = false;
};

void declare(weft::Arguments& arguments, Options& options) {
  arguments.option("--left", options.left, "Rows of 32 bytes: 64-bit key, 64-bit value, filler").required();
  arguments.option("--right", options.right, "The other table; the group is its value modulo 1,000").required();
  arguments.option("--output", options.output, "Directory for the sums").required();
  arguments.option("--strategy", options.strategy, "hash, broadcast or automatic").show_default();
  arguments.flag("--swapped", options.swapped, "Join the right table with the left one");
}

weft::JoinStrategy strategy_of(const std::string& name) {
  return name == "hash"        ? weft::JoinStrategy::hash
         : name == "broadcast" ? weft::JoinStrategy::broadcast
                               : weft::JoinStrategy::automatic;
}

/// A lambda, because calls through a pointer to a function are not inlined.
constexpr auto kKeyAndValue = [](std::string_view row) {
  std::pair<std::uint64_t, std::uint64_t> result;
  std::memcpy(&result.first, row.data(), 8);
  std::memcpy(&result.second, row.data() + 8, 8);
  return result;
};

void define(weft::Flow& flow, const Options& options) {
  const auto left = flow.read_records<32>(options.left).map(kKeyAndValue);
  const auto right = flow.read_records<32>(options.right).map(kKeyAndValue);
  const weft::JoinStrategy strategy = strategy_of(options.strategy);
  if (options.swapped) {
    right.join(left, strategy)
        .map([](std::uint64_t, std::uint64_t of_right, std::uint64_t of_left) { return std::pair(of_right % 1000, of_left); })
        .reduce_by_key(std::plus<>())
        .write_text(options.output);
  } else {
    left.join(right, strategy)
        .map([](std::uint64_t, std::uint64_t of_left, std::uint64_t of_right) { return std::pair(of_right % 1000, of_left); })
        .reduce_by_key(std::plus<>())
        .write_text(options.output);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return weft::main<Options>(argc, argv, "Joins two tables and sums by a group of one", declare, define);
}
