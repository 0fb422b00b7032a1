// Map output: records into partitions, partitions into a segment.
#include <benchmark/benchmark.h>

#include "benchmarks/micro/micro.hpp"
#include "runtime/operators/partitioned_writer.hpp"

namespace weft::micro {
namespace {

/// Arguments: partitions, bytes of a record.
void write_partitions(benchmark::State& state) {
  constexpr std::size_t kBytes = 32 << 20;
  const auto partitions = static_cast<std::uint32_t>(state.range(0));
  const std::string record(static_cast<std::size_t>(state.range(1)), 'x');
  const auto where = numbers(kBytes / record.size(), partitions, false);
  for (auto iteration : state) {
    Task task(kPlenty);
    const auto segment = memory_segment(partitions);
    runtime::PartitionedWriter writer(task.context, *segment, partitions);
    for (const std::uint64_t partition : where) writer.write(static_cast<std::uint32_t>(partition), std::string_view(record));
    writer.finish();
    runtime::value_or_throw(segment->seal());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kBytes));
}
BENCHMARK(write_partitions)->Args({8, 16})->Args({8, 100})->Args({256, 100})->Unit(benchmark::kMillisecond);

/// Argument: bytes of an extent.
void append_extents(benchmark::State& state) {
  constexpr std::size_t kBytes = 64 << 20;
  const std::vector<std::byte> extent(static_cast<std::size_t>(state.range(0)));
  for (auto iteration : state) {
    const auto segment = memory_segment(8);
    for (std::size_t i = 0; i < kBytes / extent.size(); ++i)
      runtime::value_or_throw(segment->append(static_cast<std::uint32_t>(i % 8), extent, 1));
    runtime::value_or_throw(segment->seal());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kBytes));
}
BENCHMARK(append_extents)->Arg(16 << 10)->Arg(256 << 10)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft::micro
