// Many jobs on a network, first without any fault, then with workers that are killed and stopped, links that are unplugged, and
// ones of 5 Mbit/s: outputs are right, no job takes over two minutes, and nobody dies who was not killed. Seeds are printed;
// WEFT_LONG=1 runs fifty of each job on a quarter of a gigabyte, and eighty with faults.
#include <chrono>
#include <cstdlib>
#include <random>

#include "base/sanitized.hpp"
#include "tests/cluster/network_cluster.hpp"
#include "tests/cluster/network_data.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Words = std::vector<std::string>;

constexpr int kFaultyWorkers = 3;
bool long_run() { return std::getenv("WEFT_LONG") != nullptr; }

/// The three jobs on one set of data, and whether an output is theirs.
class Jobs {
 public:
  explicit Jobs(std::size_t records) {
    const std::size_t count = records / 20;
    const std::string unsorted = mixed_records(records, 1), left = users(count), right = mixed_orders(records, count, 2);
    const std::string text = some_words(records * 2, 3);
    for (const auto& [name, content] : {std::pair("records", &unsorted), {"left", &left}, {"right", &right}, {"text", &text}})
      write_file(scratch_ / name, *content);
    sorted_ = std::hash<std::string>()(reference::terasort(unsorted));
    joined_ = fingerprint(joined(left, right));
    counts_ = fingerprint(reference::wordcount({text}));
  }
  static constexpr int kKinds = 3;

  Words words(int kind) const {
    Words words;
    if (kind == 0) words = {"terasort", "sort", "--input", scratch_ / "records"};
    if (kind == 1) words = {"join", "--left", scratch_ / "left", "--right", scratch_ / "right"};
    if (kind == 2) words = {"wordcount", "--input", scratch_ / "text"};
    words.insert(words.end(), {"--quiet", "--overwrite", "--partitions", "9", "--output", scratch_ / "output"});
    return words;
  }
  bool right(int kind) const {
    const std::string output = scratch_ / "output";
    if (kind == 0) return std::hash<std::string>()(part_bytes(output)) == sorted_;
    return fingerprint(part_lines(output)) == (kind == 1 ? joined_ : counts_);
  }

 private:
  ScratchDirectory scratch_;
  std::size_t sorted_ = 0;
  Fingerprint joined_, counts_;
};

class NetworkFaults : public testing::Test {
 protected:
  void SetUp() override {
    const std::string missing = ShapedNetwork::missing();
    if (missing.empty()) return;
    std::printf("skipped: %s\n", missing.c_str());
    GTEST_SKIP() << missing;
  }
  /// Two minutes at most.
  static std::unique_ptr<Process> start(const NetworkCluster& cluster, const Words& words) {
    return std::make_unique<Process>(cluster.job_command(words),
                                     ProcessOptions{.environment = cluster.as("alice"), .deadline = 120s});
  }
};

TEST_F(NetworkFaults, NobodyDiesWhereNothingHappens) {
  if (kSanitized) GTEST_SKIP() << "OnANetwork is the same under a sanitizer";
  const Jobs jobs(long_run() ? 2'600'000 : 150'000);
  NetworkCluster cluster(kFaultyWorkers, {"Plain"});
  for (int round = 0; round < (long_run() ? 50 : 1); ++round) {
    for (int kind = 0; kind < Jobs::kKinds; ++kind) {
      SCOPED_TRACE("round " + std::to_string(round) + " of " + jobs.words(kind).front());
      const auto result = start(cluster, jobs.words(kind))->wait();
      ASSERT_EQ(result.exit_code, 0) << result.err;
      ASSERT_TRUE(jobs.right(kind));
      ASSERT_TRUE(cluster.alive());
    }
  }
}

/// What happens to one worker while a job runs, and what makes it good again.
struct Fault {
  const char* name;
  std::function<void(NetworkCluster&, int worker)> strike, mend;
};
const Fault kFaults[] = {
    {"killed",
     [](NetworkCluster& cluster, int worker) {
       cluster.worker(worker).signal(SIGKILL);
       cluster.worker(worker).wait();
     },
     [](NetworkCluster& cluster, int worker) { cluster.start_worker(worker); }},
    {"stopped", [](NetworkCluster& cluster, int worker) { cluster.worker(worker).signal(SIGSTOP); },
     [](NetworkCluster& cluster, int worker) { cluster.worker(worker).signal(SIGCONT); }},
    {"unplugged", [](NetworkCluster& cluster, int worker) { cluster.network().unplug(worker); },
     [](NetworkCluster& cluster, int worker) { cluster.network().plug(worker); }},
    {"at 5 Mbit/s", [](NetworkCluster& cluster, int worker) { cluster.network().limit(worker, 5); },
     [](NetworkCluster& cluster, int worker) { cluster.network().limit(worker, 0); }},
};

TEST_F(NetworkFaults, NobodyDiesButWhoIsKilledWhateverHappens) {
  const Jobs jobs(kSanitized ? 20'000 : 150'000);
  NetworkCluster cluster(kFaultyWorkers, {"Plain"});
  Clock::duration usual[Jobs::kKinds];  // of a job that nothing happens to
  for (int kind = 0; kind < Jobs::kKinds; ++kind) {
    const auto began = Clock::now();
    ASSERT_EQ(start(cluster, jobs.words(kind))->wait().exit_code, 0);
    usual[kind] = Clock::now() - began;
  }
  unsigned struck = 0;  // while a job ran
  const unsigned rounds = long_run() ? 80 : 4;
  for (unsigned seed = 0; seed < rounds; ++seed) {
    std::mt19937 random(seed);
    const int kind = static_cast<int>(seed / 4 + seed) % Jobs::kKinds, worker = static_cast<int>(random() % kFaultyWorkers);
    const Fault& fault = kFaults[seed % std::size(kFaults)];
    const auto delay = usual[kind] * static_cast<int>(random() % 1000) / 1000;
    const auto lasts = std::chrono::milliseconds(random() % (long_run() ? 15'000 : 3'000));  // silent for over ten seconds is lost
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + jobs.words(kind).front() + ", w" + std::to_string(worker + 1) + " " +
                 fault.name);
    const auto job = start(cluster, jobs.words(kind));
    const auto ended_or = [&](Clock::time_point moment) {
      EXPECT_TRUE(eventually([&] { return !job->running() || Clock::now() >= moment; }, 130s));
    };
    ended_or(Clock::now() + delay);
    struck += job->running() ? 1 : 0;
    fault.strike(cluster, worker);
    ended_or(Clock::now() + lasts);
    fault.mend(cluster, worker);
    const auto result = job->wait();
    ASSERT_EQ(result.exit_code, 0) << result.err;
    ASSERT_TRUE(jobs.right(kind));
    ASSERT_TRUE(cluster.alive());
    ASSERT_TRUE(cluster.ready());
  }
  std::printf("%u of %u faults came while a job ran\n", struck, rounds);
  EXPECT_GT(struck, 0u);
}

}  // namespace
}  // namespace weft::test
