// A job of many actions, one after the other, each of one task that does nothing: how long the master's scheduler takes to react.
// One line for each action: its microseconds, from the call to its value.   actions [--actions N]
#include <chrono>
#include <cstdint>
#include <cstdio>

#include <weft/weft.h>

namespace {

struct Options {
  std::uint32_t actions = 1000;
};

void declare(weft::Arguments& arguments, Options& options) {
  arguments.option("--actions", options.actions, "Actions to run").show_default();
}

void define(weft::Flow& flow, const Options& options) {
  for (std::uint32_t i = 0; i < options.actions; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    flow.generate(
            1, [](std::uint64_t index) { return index; }, 1)
        .count();
    const auto took = std::chrono::steady_clock::now() - begin;
    std::printf("%lld\n", static_cast<long long>(std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
  }
}

}  // namespace

int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Measures how long actions take", declare, define); }
