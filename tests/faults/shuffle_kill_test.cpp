// kill -9 of a worker or of an executor at a random moment of WordCount and TeraSort on a standing cluster, with one and with two
// copies of map outputs, and with readers that start early, in turn: the output stays right. The moment is a part of the events of
// a run that nothing happens to, not of its time. Seeds are printed; WEFT_LONG=1 runs two hundred.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <random>

#include "tests/cluster/cluster.hpp"
#include "tests/reference/reference.hpp"
#include "tests/support/event_lines.hpp"

namespace weft::test {
namespace {

constexpr int kWorkers = 3;
unsigned rounds() { return std::getenv("WEFT_LONG") != nullptr ? 200 : 8; }

class ShuffleKills : public testing::Test {
 protected:
  enum Program { kWordcount, kTerasort };

  void SetUp() override {
    std::mt19937 random(3);
    std::vector<std::string> texts;
    for (int file = 0; file < 8; ++file) {
      std::string text;
      for (int i = 0; i < 150'000; ++i) text += "w" + std::to_string(random() % 50'000) + (i % 12 == 0 ? "\n" : " ");
      input_.push_back(scratch_ / ("text" + std::to_string(file)));
      write_file(input_.back(), text);
      texts.push_back(std::move(text));
    }
    counts_ = reference::wordcount(texts);
    const auto made =
        run({program("terasort"), "gen", "--quiet", "--records", "100000", "--threads", "8", "--output", scratch_ / "unsorted"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    sorted_ = reference::terasort(part_bytes(scratch_ / "unsorted"));
    for (int i = 0; i < kWorkers; ++i) add_worker();
    ASSERT_TRUE(cluster_.has_nodes(kWorkers));
  }

  /// Of every two, one shares nothing with its neighbours.
  void add_worker() { alive_.push_back(&cluster_.add_worker()); }

  std::vector<std::string> command(Program what, const std::string& replicas, const std::string& output) {
    std::vector<std::string> words{program("wordcount")};
    if (what == kTerasort) words = {program("terasort"), "sort"};
    words.insert(words.end(), {"--quiet", "--cluster", cluster_.address(), "--partitions", "10", "--shuffle-replicas", replicas});
    words.insert(words.end(), {"--output", output, "--input"});
    if (what == kTerasort) {
      words.push_back(scratch_ / "unsorted");
    } else {
      words.insert(words.end(), input_.begin(), input_.end());
    }
    return words;
  }

  bool right(Program what, const std::string& output) const {
    if (what == kTerasort) return part_bytes(output) == sorted_;
    auto lines = part_lines(output);
    std::sort(lines.begin(), lines.end());
    return lines == counts_;
  }

  /// A random worker or executor; a worker is replaced.
  bool kill_one(std::mt19937& random) {
    const auto running = cluster_.executors();
    if (random() % 2 == 0 && !running.empty()) {
      ::kill(running[random() % running.size()], SIGKILL);
      return false;
    }
    const auto victim = alive_.begin() + static_cast<std::ptrdiff_t>(random() % alive_.size());
    (*victim)->signal(SIGKILL);
    alive_.erase(victim);
    return true;
  }

  struct Outcome {
    bool right = false, killed = false, worker = false;
    std::size_t events = 0;  // of the job
    std::size_t again = 0;   // maps that ran again
    std::size_t moved = 0;   // outputs that were lost and read from their copies
    std::string error;
  };
  /// With `moment`, a process is killed after so many events.
  Outcome run_one(Program what, const std::string& replicas, const std::string& output, std::optional<std::size_t> moment,
                  std::mt19937& random, bool early = false) {
    Outcome outcome;
    const std::size_t from = log_.read().size();
    std::vector<std::string> words = command(what, replicas, output);
    if (early) words.insert(words.end(), {"--slow-start", "0.05"});
    Process job(words, cluster_.options());
    if (moment) {
      EXPECT_TRUE(eventually([&] { return !job.running() || log_.of_jobs(from) >= *moment; }, std::chrono::seconds(60)));
      outcome.killed = job.running();
      if (outcome.killed) outcome.worker = kill_one(random);
    }
    const auto result = job.wait();
    outcome.right = result.exit_code == 0 && right(what, output);
    outcome.error = result.err;
    EXPECT_TRUE(eventually([&] { return log_.count("job_finished", {}, from) + log_.count("job_failed", {}, from) > 0; }));
    outcome.events = log_.of_jobs(from);
    outcome.again = log_.maps_again(from);
    outcome.moved = log_.count("output_moved", {}, from);
    return outcome;
  }

  ScratchDirectory scratch_;
  std::vector<std::string> input_;
  std::vector<std::string> counts_;
  std::string sorted_;
  Cluster cluster_{0, {"--event-log", scratch_ / "log"}};
  EventLines log_{scratch_ / "log"};
  std::vector<Process*> alive_;
};

TEST_F(ShuffleKills, TheOutputIsRightWhoeverDiesAtAnyMoment) {
  std::mt19937 quiet(0);
  std::size_t usual[2][2];  // events of a run, by program and copies
  for (const Program what : {kWordcount, kTerasort}) {
    for (std::size_t copies : {1u, 2u}) {
      const std::string output = scratch_ / ("usual" + std::to_string(what) + std::to_string(copies));
      const Outcome outcome = run_one(what, std::to_string(copies), output, std::nullopt, quiet);
      ASSERT_TRUE(outcome.right) << outcome.error;
      usual[what][copies - 1] = outcome.events;
    }
  }
  struct Sum {
    unsigned runs = 0, workers = 0, executors = 0;
    std::size_t again = 0, moved = 0;
  };
  Sum sums[2];
  for (unsigned seed = 0; seed < rounds(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::size_t copies = 1 + seed % 2;
    const Program what = seed / 2 % 2 == 0 ? kWordcount : kTerasort;
    const std::size_t moment = random() % usual[what][copies - 1];
    const std::string output = scratch_ / ("out" + std::to_string(seed));
    const Outcome outcome = run_one(what, std::to_string(copies), output, moment, random, seed / 4 % 2 == 1);
    ASSERT_TRUE(outcome.right) << (outcome.error.empty() ? "the output is wrong" : outcome.error);
    Sum& sum = sums[copies - 1];
    ++sum.runs;
    if (outcome.killed) ++(outcome.worker ? sum.workers : sum.executors);
    sum.again += outcome.again;
    sum.moved += outcome.moved;
    if (outcome.worker) add_worker();
    ASSERT_TRUE(cluster_.has_nodes(kWorkers));
  }
  for (std::size_t copies : {1u, 2u}) {
    const Sum& sum = sums[copies - 1];
    std::printf("%zu %s: %u runs, %u workers and %u executors killed, %zu maps ran again, %zu outputs read from their copies\n",
                copies, copies == 1 ? "copy" : "copies", sum.runs, sum.workers, sum.executors, sum.again, sum.moved);
    EXPECT_GT(sum.workers + sum.executors, 0u);
  }
  EXPECT_EQ(sums[0].moved, 0u);
}

}  // namespace
}  // namespace weft::test
