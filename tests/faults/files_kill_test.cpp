// kill -9 of a worker, or of the master, at a random moment of a put, a get, a re-replication or a job's output: what was
// acknowledged reads as it was written, nothing appears half, replication is restored, the master comes back with the same
// namespace. Seeds are printed; WEFT_LONG=1 runs two hundred.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <random>

#include "tests/cluster/file_cluster.hpp"
#include "tests/reference/reference.hpp"

namespace weft::test {
namespace {

using Clock = std::chrono::steady_clock;

int rounds() { return std::getenv("WEFT_LONG") != nullptr ? 200 : 8; }

class FilesKillTest : public testing::Test {
 protected:
  static constexpr std::size_t kWorkers = 4;

  /// Runs the command, kills the victim (the master when it is kWorkers) after `delay`, starts it again, and returns the command's
  /// result.
  ProcessResult run_and_kill(const std::vector<std::string>& command, std::size_t victim, std::chrono::microseconds delay) {
    Process process(command, {.environment = {}, .deadline = std::chrono::seconds(150)});
    const auto moment = Clock::now() + delay;
    eventually([&] { return !process.running() || Clock::now() >= moment; });
    kill_and_restart(victim);
    return process.wait();
  }
  void kill_and_restart(std::size_t victim) {
    if (victim == kWorkers) {
      cluster.kill_master();
      cluster.restart_master();
    } else {
      cluster.kill_worker(victim);
      cluster.start_worker(victim);
    }
  }
  std::vector<std::string> put(const std::string& path) {
    return cluster.fs({"put", scratch / "content", path, "--chunk-size", "256KiB"});
  }
  std::string cat(const std::string& path) { return cluster.run_fs({"cat", path}).out; }
  bool exists(const std::string& path) { return cluster.run_fs({"stat", path}).exit_code == 0; }

  void put_round(std::size_t victim, std::mt19937& random, const std::string& path) {
    const std::string content = some_text(4'000'000, static_cast<unsigned>(random()));
    write_file(scratch / "content", content);
    const auto result = run_and_kill(put(path), victim, std::chrono::milliseconds(random() % 300));
    if (result.exit_code == 0 || exists(path)) {
      ASSERT_TRUE(cat(path) == content) << result.err;
      acknowledged[path] = content;
    }
  }
  void get_round(std::size_t victim, std::mt19937& random) {
    const auto result = run_and_kill(cluster.fs({"get", "--overwrite", "/base", scratch / "got"}), victim,
                                     std::chrono::milliseconds(random() % 150));
    if (victim == kWorkers && has(result.err, "no weft master answers")) return;  // it was gone before the client had begun
    ASSERT_EQ(result.exit_code, 0) << result.err;
    ASSERT_TRUE(read_file(scratch / "got") == acknowledged.at("/base"));
  }
  void replication_round(std::size_t victim, std::mt19937& random) {
    const std::size_t first = random() % kWorkers;
    cluster.kill_worker(first);
    const auto moment = Clock::now() + std::chrono::milliseconds(200 + random() % 600);
    eventually([&] { return Clock::now() >= moment; });
    if (victim != first) kill_and_restart(victim);
    cluster.start_worker(first);
  }
  void job_round(std::size_t victim, std::mt19937& random, const std::string& output) {
    const std::vector<std::string> command{program("wordcount"), "--quiet",  "--cluster",      cluster.address(), "--input",
                                           "weft://base",        "--output", "weft:/" + output};
    const auto result = run_and_kill(command, victim, std::chrono::milliseconds(random() % 1200));
    if (victim != kWorkers) {
      ASSERT_EQ(result.exit_code, 0) << result.err;
    }
    ASSERT_TRUE(cluster.ready(kWorkers));
    if (!exists(output)) {
      ASSERT_NE(result.exit_code, 0);
      return;
    }
    ASSERT_EQ(cluster.run_fs({"get", "-r", output, scratch / "out"}).exit_code, 0);
    auto lines = part_lines(scratch / "out");
    std::sort(lines.begin(), lines.end());
    ASSERT_TRUE(lines == reference::wordcount({acknowledged.at("/base")}));
    ASSERT_EQ(run({"/bin/rm", "-r", scratch / "out"}).exit_code, 0);
    ASSERT_EQ(cluster.run_fs({"rm", "-r", output}).exit_code, 0);
  }

  FileCluster cluster{kWorkers};
  ScratchDirectory scratch;
  std::map<std::string, std::string> acknowledged;
};

TEST_F(FilesKillTest, NothingAcknowledgedIsLostWhateverIsKilledWhenever) {
  acknowledged["/base"] = some_text(6'000'000, 1);
  write_file(scratch / "content", acknowledged["/base"]);
  ASSERT_EQ(run(put("/base")).exit_code, 0);
  for (int seed = 0; seed < rounds() && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(static_cast<unsigned>(seed) + 4711);
    const std::size_t victim = seed % 2 == 0 ? random() % kWorkers : kWorkers;
    const std::string path = "/put-" + std::to_string(seed);
    constexpr std::array kKinds{"put", "get", "re-replication", "job output"};
    const std::string name_of_victim = victim == kWorkers ? "the master" : "w" + std::to_string(victim + 1);
    std::printf("seed %d: %s, kill %s\n", seed, kKinds.at(static_cast<std::size_t>(seed / 2 % 4)), name_of_victim.c_str());
    std::fflush(stdout);
    switch (seed / 2 % 4) {
      case 0:
        put_round(victim, random, path);
        break;
      case 1:
        get_round(victim, random);
        break;
      case 2:
        replication_round(victim, random);
        break;
      default:
        job_round(victim, random, "/out-" + std::to_string(seed));
    }
    if (HasFatalFailure()) return;
    ASSERT_TRUE(cluster.ready(kWorkers)) << cluster.report();
    ASSERT_TRUE(cluster.healthy()) << cluster.report();
    for (const auto& [name, content] : acknowledged) ASSERT_TRUE(cat(name) == content) << name;
    // Of the others, nothing is there.
    const std::string listed = cluster.run_fs({"ls", "/", "--json"}).out;
    for (int other = 0; other <= seed; ++other) {
      const std::string name = "/put-" + std::to_string(other);
      ASSERT_EQ(has(listed, "\"" + name + "\""), acknowledged.contains(name)) << name;
    }
    if (acknowledged.size() > 4) {
      const std::string old = std::prev(acknowledged.end())->first;
      ASSERT_EQ(cluster.run_fs({"rm", old}).exit_code, 0);
      acknowledged.erase(old);
    }
  }
}

}  // namespace
}  // namespace weft::test
