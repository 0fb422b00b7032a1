// Sorting and grouping, within memory and beyond it.
#include <benchmark/benchmark.h>

#include "benchmarks/micro/micro.hpp"
#include "runtime/operators/external_sorter.hpp"
#include "runtime/operators/grouper.hpp"

namespace weft::micro {
namespace {

constexpr std::size_t kRecordBytes = 100, kKeyBytes = 10;

std::string records(std::size_t count) {
  Random random(1, 0);
  std::string bytes(count * kRecordBytes, 'x');
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < kKeyBytes; ++k) bytes[i * kRecordBytes + k] = static_cast<char>(' ' + random.below(95));
  return bytes;
}

struct KeyOf {
  std::string_view operator()(std::string_view record) const { return record.substr(0, kKeyBytes); }
};

void sort_records(benchmark::State& state, std::uint64_t memory) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const std::string bytes = records(count);
  for (auto iteration : state) {
    Task task(memory);
    runtime::ExternalSorter<std::string_view, KeyOf> sorter(task.context);
    for (std::size_t i = 0; i < count; ++i) sorter.add(std::string_view(bytes).substr(i * kRecordBytes, kRecordBytes));
    std::uint64_t sum = 0;
    sorter.drain([&sum](std::string_view record) { sum += static_cast<unsigned char>(record[kRecordBytes - 1]); });
    benchmark::DoNotOptimize(sum);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

void sort_in_memory(benchmark::State& state) { sort_records(state, kPlenty); }
BENCHMARK(sort_in_memory)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

/// An eighth of the data as memory.
void sort_spilling(benchmark::State& state) { sort_records(state, static_cast<std::uint64_t>(state.range(0)) * kRecordBytes / 8); }
BENCHMARK(sort_spilling)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void group(benchmark::State& state) {
  constexpr std::size_t kCount = 1 << 20;
  const auto keys = numbers(kCount, static_cast<std::uint64_t>(state.range(0)), false);
  for (auto iteration : state) {
    Task task(kPlenty);
    runtime::Grouper<std::uint64_t, std::uint64_t> grouper(task.context);
    for (const std::uint64_t key : keys) grouper.add(key, 1);
    std::uint64_t sum = 0;
    grouper.drain([&sum](std::uint64_t, auto& values) {
      for (const std::uint64_t value : values) sum += value;
    });
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kCount));
}
BENCHMARK(group)->Arg(1'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft::micro
