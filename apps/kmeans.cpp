// Clusters points by k-means (Lloyd's algorithm): each point goes to the nearest centre, and each centre to the mean of its points,
// until none moves. The points are random, around as many places as there are clusters.
//
//   kmeans --points 1000000 --clusters 64
//
// Tasks that hold a device (weft worker --devices) find the nearest centres by the kernel below. Coordinates are whole numbers of
// 14 bits, so that sums do not depend on their order, and the result is the same everywhere.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <utility>
#include <vector>

#include <weft/kernel.hpp>
#include <weft/weft.h>

namespace {

constexpr std::size_t kDimensions = 8;
constexpr std::uint32_t kRange = 1u << 14;  // of coordinates: the square of a distance is below 2^31
constexpr std::uint32_t kSpread = 1u << 11;

using Point = std::array<std::int32_t, kDimensions>;
using Centres = std::vector<Point>;

struct Assigned {
  std::uint32_t cluster;
  Point point;
};

/// Of the points of a cluster.
struct Sum {
  std::uint64_t points;
  std::array<std::uint64_t, kDimensions> coordinates;
};

/// "lowbias32", C. Wellons.
std::uint32_t hashed(std::uint32_t number) {
  number = (number ^ (number >> 16)) * 0x7feb352d;
  number = (number ^ (number >> 15)) * 0x846ca68b;
  return number ^ (number >> 16);
}

/// Point i lies near place i modulo the number of places.
Point random_point(std::uint64_t i, std::uint32_t places, std::uint32_t seed) {
  const auto place = static_cast<std::uint32_t>(i % places);
  const std::uint32_t of_place = hashed(hashed(seed) ^ place), of_point = hashed(of_place + static_cast<std::uint32_t>(i));
  Point point;
  for (std::uint32_t d = 0; d < kDimensions; ++d)
    point[d] = static_cast<std::int32_t>(hashed(of_place + d) % (kRange - kSpread) + hashed(of_point + d) % kSpread);
  return point;
}

std::uint32_t nearest(const Centres& centres, const Point& point) {
  std::uint32_t best = 0;
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  for (std::uint32_t c = 0; c < centres.size(); ++c) {
    std::int32_t square = 0;
    for (std::size_t d = 0; d < kDimensions; ++d) {
      const std::int32_t away = point[d] - centres[c][d];
      square += away * away;
    }
    if (square >= least) continue;
    least = square;
    best = c;
  }
  return best;
}

/// Gives an Assigned, nine numbers, for each Point, eight.
weft::Kernel kernel(const Centres& centres) {
  return weft::Kernel("nearest", R"(
kernel void nearest(global const int* points, global int* assigned, uint records, global const int* centres, uint clusters) {
  const size_t i = get_global_id(0);
  if (i >= records) return;
  const int8 point = vload8(i, points);
  int best = 0, least = INT_MAX;
  for (uint c = 0; c < clusters; ++c) {
    const int8 away = point - vload8(c, centres), squares = away * away;
    const int4 sums = squares.lo + squares.hi;
    const int square = sums.x + sums.y + sums.z + sums.w;
    if (square < least) {
      least = square;
      best = (int)c;
    }
  }
  assigned[9 * i] = best;
  vstore8(point, 0, assigned + 9 * i + 1);
}
)")
      .with(centres)
      .with(static_cast<std::uint32_t>(centres.size()));
}

Sum added(Sum a, const Sum& b) {
  a.points += b.points;
  for (std::size_t d = 0; d < kDimensions; ++d) a.coordinates[d] += b.coordinates[d];
  return a;
}

/// A centre without points stays where it is.
Centres means(Centres centres, const std::vector<std::pair<std::uint32_t, Sum>>& sums) {
  for (const auto& [cluster, sum] : sums)
    for (std::size_t d = 0; d < kDimensions; ++d) centres[cluster][d] = static_cast<std::int32_t>(sum.coordinates[d] / sum.points);
  return centres;
}

struct Options {
  std::uint64_t points = 1'000'000;
  std::uint32_t clusters = 64, iterations = 10, tasks = 0, seed = 1;
};

void declare(weft::Arguments& arguments, Options& options) {
  arguments.option("--points", options.points, "Points").positive().show_default();
  arguments.option("--clusters", options.clusters, "Clusters").between(1, 4096).show_default();
  arguments.option("--iterations", options.iterations, "Iterations at most").between(1, 1000).show_default();
  arguments.option("--tasks", options.tasks, "Tasks (default: two for each slot)");
  arguments.option("--seed", options.seed, "Other seeds give other points").show_default();
}

void define(weft::Flow& flow, const Options& options) {
  const auto point_of = [places = options.clusters, seed = options.seed](std::uint64_t i) { return random_point(i, places, seed); };
  const auto points = flow.generate(options.points, point_of, options.tasks).cache();
  Centres centres;
  for (std::uint32_t c = 0; c < options.clusters; ++c) centres.push_back(point_of(c));

  std::vector<std::pair<std::uint32_t, Sum>> sums;
  for (std::uint32_t i = 0; i < options.iterations; ++i) {
    sums = points.map([centres](const Point& point) {
                   return Assigned{nearest(centres, point), point};
                 })
               .on(kernel(centres))
               .map([](const Assigned& assigned) {
                 Sum one{1, {}};
                 std::copy(assigned.point.begin(), assigned.point.end(), one.coordinates.begin());
                 return std::pair(assigned.cluster, one);
               })
               .reduce_by_key(added)
               .collect();
    const Centres before = std::exchange(centres, means(centres, sums));
    if (before == centres) break;
  }
  flow.on_driver([&] {
    std::sort(sums.begin(), sums.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [cluster, sum] : sums) {
      std::printf("%u %llu", cluster, static_cast<unsigned long long>(sum.points));
      for (const std::int32_t coordinate : centres[cluster]) std::printf(" %d", coordinate);
      std::printf("\n");
    }
  });
}

}  // namespace

int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Clusters random points by k-means", declare, define); }
