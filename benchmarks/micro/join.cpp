// The hash join, and what becomes of it when the right side does not fit.
#include <benchmark/benchmark.h>

#include "benchmarks/micro/micro.hpp"
#include "runtime/operators/joiner.hpp"

namespace weft::micro {
namespace {

constexpr std::size_t kLeft = 1 << 20;
constexpr auto kInner = runtime::JoinRules::of(runtime::JoinKind::inner, runtime::BuildSide::right);

void join(benchmark::State& state, std::uint64_t memory) {
  const auto right = static_cast<std::uint64_t>(state.range(0));
  const auto keys = numbers(kLeft, right, false);
  for (auto iteration : state) {
    Task task(memory);
    runtime::Joiner<std::uint64_t, std::uint64_t, std::uint64_t> joiner(task.context, kInner);
    std::uint64_t sum = 0;
    const auto emit = [&sum](std::uint64_t, const std::uint64_t* build, const std::uint64_t* probe) { sum += *build * *probe; };
    for (std::uint64_t key = 0; key < right; ++key) joiner.build(key, key);
    for (const std::uint64_t key : keys) joiner.probe(key, 1, emit);
    joiner.finish(emit);
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kLeft));
}

void join_in_memory(benchmark::State& state) { join(state, kPlenty); }
BENCHMARK(join_in_memory)->Arg(1'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void join_spilling(benchmark::State& state) { join(state, 8 << 20); }
BENCHMARK(join_spilling)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft::micro
