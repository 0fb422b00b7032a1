// A transactional load beside jobs with goals, on the same workers: a client reads and writes a table at a rate that follows the
// hours of a day of half a minute, and says what it leaves of the workers in the file of their --capacity-from.
//
//   beside_jobs_bench DIRECTORY [SCHEDULER …]        (reverse_adaptive and adaptive)
//
//   p99 of the load beside jobs        ≤ 1.3 times what it is alone
//   goals missed                       no more under reverse_adaptive than under adaptive
//
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <numbers>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "base/file.hpp"
#include "benchmarks/e2e/setting.hpp"
#include "benchmarks/storage/table_cluster.hpp"

namespace weft::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kDay = 30;  // seconds
constexpr std::uint64_t kKeys = 5000;
constexpr double kMeanRate = 60;  // operations a second, from a tenth of that to nearly twice as many

double since(Clock::time_point began) { return std::chrono::duration<double>(Clock::now() - began).count(); }
/// f(t), from 0.1 to 1.9.
double busy(double second) { return 1 - 0.9 * std::cos(2 * std::numbers::pi * second / kDay); }

/// Where the load says what it leaves of each worker.
std::string capacity_file(const std::string& directory) {
  test::write_file(directory + "/capacity", "nominal\n");
  return directory + "/capacity";
}

struct Outcome {
  double p99 = 0;
  int missed = 0, jobs = 0;
};

class Bench {
 public:
  Bench(std::string bin, const std::string& directory, const std::string& scheduler)
      : bin_(std::move(bin)),
        capacity_(capacity_file(directory)),
        cluster_(bin_ + "/weft", directory, {{"--scheduler", scheduler}, {"--slots", "2", "--capacity-from", capacity_}}) {
    cluster_.fill(0, kKeys, 1);
  }

  /// A day of the load, and jobs beside it that come in a steady stream.
  Outcome day(bool jobs) {
    Outcome outcome;
    std::atomic<bool> over = false;
    std::atomic<int> missed = 0, ended = 0;
    std::thread submitter([&] {
      std::vector<std::thread> running;
      for (int i = 0; jobs && i < 8 && !over; ++i) {
        running.emplace_back([&, i] {
          const double goal = 14 + 3 * (i % 4);
          const double took = seconds([&] {
            const auto result =
                test::run({bin_ + "/paced", "wordcount", "--maps", "12", "--map-ms", "500", "--reduces", "2", "--reduce-ms", "100",
                           "--cluster", cluster_.address(), "--deadline", fmt::format("{}s", goal)});
            if (result.exit_code == 0) return;
            std::fprintf(stderr, "beside_jobs_bench: %s\n", result.err.c_str());
            std::exit(1);
          });
          missed += took > goal ? 1 : 0;
          ++ended;
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(static_cast<int>(kDay / 10 * 1000)));
      }
      for (std::thread& one : running) one.join();
    });
    outcome.p99 = load();
    over = true;
    submitter.join();
    outcome.missed = missed;
    outcome.jobs = ended;
    return outcome;
  }

 private:
  double load() {
    Random random(7);
    std::vector<double> latencies;
    const auto began = Clock::now();
    int left = -1;
    for (double next = 0; next < kDay;) {
      if (since(began) < next) std::this_thread::sleep_for(std::chrono::duration<double>(next - since(began)));
      const int slots = busy(next) > 1.6 ? 0 : busy(next) > 1 ? 1 : 2;
      if (slots != left) {
        left = slots;
        test::write_file(capacity_ + ".new", fmt::format("slots={}\n", slots));
        std::filesystem::rename(capacity_ + ".new", capacity_);
      }
      const std::string key = TableCluster::key(random.below(kKeys));
      latencies.push_back(1e3 * seconds([&] {
                            if (random.chance(0.5)) {
                              need(cluster_.tables().get("t", {key}));
                            } else {
                              need(cluster_.tables().put("t", {{key, TableCluster::value(random)}}));
                            }
                          }));
      next += 1 / (kMeanRate * busy(next));
    }
    std::sort(latencies.begin(), latencies.end());
    return latencies[latencies.size() * 99 / 100];
  }

  std::string bin_, capacity_;
  TableCluster cluster_;
};

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft::bench;
  if (argc < 2) {
    std::fprintf(stderr, "usage: beside_jobs_bench DIRECTORY [SCHEDULER ...]\n");
    return 2;
  }
  std::vector<std::string> schedulers(argv + 2, argv + argc);
  if (schedulers.empty()) schedulers = {"reverse_adaptive(cycle=2s)", "adaptive"};
  const std::string bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::printf("a load on tables that follows a day of %.0f s, beside eight jobs with goals, on three workers of two slots\n", kDay);
  for (const std::string& scheduler : schedulers) {
    auto directory = need(weft::TempDir::create("weft-beside-jobs-", argv[1]));
    Bench bench(bin, directory.path(), scheduler);
    const Outcome alone = bench.day(false), beside = bench.day(true);
    row(scheduler + ": p99 alone, beside jobs", text("%.2f, %.2f ms", alone.p99, beside.p99),
        at_most(beside.p99 / alone.p99, 1.3, " x"));
    row(scheduler + ": goals missed", text("%d of %d", beside.missed, beside.jobs), "no more than with adaptive");
  }
  return 0;
}
