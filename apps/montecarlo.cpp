// Estimates pi as four times the part of random points of a square that lie in its quarter circle: all processor, next to no data.
//
//   montecarlo --points 1000000000
//
// Tasks that hold a device (weft worker --devices) count by the kernel below. Other tasks on nodes with the attribute "accelerator"
// count eight points at a time (AVX2), where the processor has the instructions. The arithmetic is in whole numbers, so the counts
// are the same everywhere.
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <numeric>

#include <weft/kernel.hpp>
#include <weft/weft.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

constexpr std::uint32_t kBlock = 1u << 16;  // points
constexpr std::uint32_t kStep = 0x9e3779b9, kFirst = 0x7feb352d, kSecond = 0x846ca68b;
// A point's coordinates are odd numbers of 15 bits: the middles of the cells of a grid.
constexpr std::uint32_t kGrid = 0x3fff3fff, kMiddle = 0x00010001, kRadius2 = 1u << 30;

/// "lowbias32", C. Wellons.
std::uint32_t hashed(std::uint32_t number) {
  number = (number ^ (number >> 16)) * kFirst;
  number = (number ^ (number >> 15)) * kSecond;
  return number ^ (number >> 16);
}

/// How many points of a block lie in the quarter circle. Point i is the hash of key + i * step.
std::uint64_t one_at_a_time(std::uint32_t key) {
  std::uint64_t inside = 0;
  for (std::uint32_t i = 0; i < kBlock; ++i, key += kStep) {
    const std::uint32_t point = ((hashed(key) & kGrid) << 1) | kMiddle, x = point & 0xffff, y = point >> 16;
    if (x * x + y * y < kRadius2) ++inside;
  }
  return inside;
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] __m256i all(std::uint32_t value) { return _mm256_set1_epi32(static_cast<int>(value)); }

[[gnu::target("avx2")]] std::uint64_t eight_at_a_time(std::uint32_t key) {
  const __m256i first = all(kFirst), second = all(kSecond), grid = all(kGrid), middle = all(kMiddle), radius2 = all(kRadius2);
  __m256i keys = _mm256_add_epi32(all(key), _mm256_mullo_epi32(all(kStep), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
  __m256i inside = _mm256_setzero_si256();
  for (std::uint32_t i = 0; i < kBlock; i += 8) {
    __m256i hash = keys;
    hash = _mm256_mullo_epi32(_mm256_xor_si256(hash, _mm256_srli_epi32(hash, 16)), first);
    hash = _mm256_mullo_epi32(_mm256_xor_si256(hash, _mm256_srli_epi32(hash, 15)), second);
    hash = _mm256_xor_si256(hash, _mm256_srli_epi32(hash, 16));
    const __m256i points = _mm256_or_si256(_mm256_slli_epi32(_mm256_and_si256(hash, grid), 1), middle);
    inside = _mm256_sub_epi32(inside, _mm256_cmpgt_epi32(radius2, _mm256_madd_epi16(points, points)));
    keys = _mm256_add_epi32(keys, all(8 * kStep));
  }
  alignas(32) std::array<std::uint32_t, 8> counts;
  _mm256_store_si256(reinterpret_cast<__m256i*>(counts.data()), inside);
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}
#endif

std::uint64_t accelerated(std::uint32_t key) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return eight_at_a_time(key);
#endif
  return one_at_a_time(key);
}

/// A work group counts the points of a block. The device computes the keys of blocks, too: key_of() below.
weft::Kernel kernel(std::uint32_t seed) {
  return weft::Kernel("count_inside", R"(
uint hashed(uint number) {
  number = (number ^ (number >> 16)) * 0x7feb352du;
  number = (number ^ (number >> 15)) * 0x846ca68bu;
  return number ^ (number >> 16);
}

kernel void count_inside(global const ulong* blocks, global ulong* counts, uint records, uint seed, uint points) {
  local uint sum;
  if (get_local_id(0) == 0) sum = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint key = hashed(seed + (uint)blocks[get_group_id(0)]);
  uint inside = 0;
  for (uint i = get_local_id(0); i < points; i += get_local_size(0)) {
    const uint point = ((hashed(key + i * 0x9e3779b9u) & 0x3fff3fffu) << 1) | 0x00010001u, x = point & 0xffff, y = point >> 16;
    if (x * x + y * y < (1u << 30)) ++inside;
  }
  atomic_add(&sum, inside);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) counts[get_group_id(0)] = sum;
}
)")
      .group(128)
      .batch(1024)
      .with(hashed(seed))
      .with(kBlock);
}

struct Options {
  std::uint64_t points = 1'000'000'000;
  std::uint32_t tasks = 0, seed = 1;
};

void declare(weft::Arguments& arguments, Options& options) {
  arguments.option("--points", options.points, "Points, rounded up to whole blocks of 65536").positive().show_default();
  arguments.option("--tasks", options.tasks, "Tasks (default: two for each slot)");
  arguments.option("--seed", options.seed, "Other seeds give other points").show_default();
}

void define(weft::Flow& flow, const Options& options) {
  const std::uint64_t blocks = options.points / kBlock + (options.points % kBlock != 0 ? 1 : 0);
  const auto key_of = [seed = options.seed](std::uint64_t block) {
    return hashed(hashed(seed) + static_cast<std::uint32_t>(block));
  };
  const std::uint64_t inside =
      flow.generate(
              blocks, [key_of](std::uint64_t block) { return one_at_a_time(key_of(block)); }, options.tasks)
          .on("accelerator", [key_of](std::uint64_t block) { return accelerated(key_of(block)); })
          .on(kernel(options.seed))
          .reduce(0, std::plus<>());
  const std::uint64_t points = blocks * kBlock;
  flow.on_driver([&] {
    std::printf("points %llu\ninside %llu\npi %.6f\n", static_cast<unsigned long long>(points),
                static_cast<unsigned long long>(inside), 4 * static_cast<double>(inside) / static_cast<double>(points));
  });
}

}  // namespace

int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Estimates pi by random points", declare, define); }
