// Combining before the shuffle and reducing behind it.
#include <benchmark/benchmark.h>

#include "benchmarks/micro/micro.hpp"
#include "runtime/operators/combining_writer.hpp"
#include "runtime/operators/reduce_table.hpp"

namespace weft::micro {
namespace {

constexpr std::size_t kRecords = 1 << 20;
constexpr std::uint32_t kPartitions = 8;

struct Sum {
  using Value = std::uint64_t;
  using Acc = std::uint64_t;
  Acc init(Value value) const { return value; }
  void add(Acc& acc, Value value) const { acc += value; }
  void merge(Acc& acc, Acc other) const { acc += other; }
};

/// Argument: distinct keys.
void combine_words(benchmark::State& state) {
  const auto keys = words_of(numbers(kRecords, static_cast<std::uint64_t>(state.range(0)), true));
  for (auto iteration : state) {
    Task task(kPlenty);
    const auto segment = memory_segment(kPartitions);
    runtime::PartitionedWriter out(task.context, *segment, kPartitions);
    runtime::CombiningWriter<std::string_view, Sum> combiner(task.context, out, runtime::HashPartitioner{kPartitions}, Sum{});
    for (const std::string& key : keys) combiner.add(key, 1);
    combiner.finish();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRecords));
}
BENCHMARK(combine_words)->Arg(1'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

template <class Key, class Keys>
void reduce(benchmark::State& state, const Keys& keys, std::uint64_t memory) {
  for (auto iteration : state) {
    Task task(memory);
    runtime::ReduceTable<Key, Sum> table(task.context, Sum{});
    for (const auto& key : keys) table.merge(key, 1);
    std::uint64_t sum = 0;
    table.drain([&sum](const Key&, std::uint64_t count) { sum += count; });
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(keys.size()));
}

void reduce_words(benchmark::State& state) {
  reduce<std::string_view>(state, words_of(numbers(kRecords, static_cast<std::uint64_t>(state.range(0)), false)), kPlenty);
}
BENCHMARK(reduce_words)->Arg(1'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void reduce_numbers(benchmark::State& state) {
  reduce<std::uint64_t>(state, numbers(kRecords, static_cast<std::uint64_t>(state.range(0)), false), kPlenty);
}
BENCHMARK(reduce_numbers)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void reduce_words_spilling(benchmark::State& state) {
  reduce<std::string_view>(state, words_of(numbers(kRecords, 1'000'000, false)), 8 << 20);
}
BENCHMARK(reduce_words_spilling)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft::micro
