// How right the predictions of a master are after one run, on a cluster of two workers:
//
//   profile_bench DIRECTORY [--quick]
//
//   the same input again    ≤ 15 % off, of the time of all tasks (median of the rounds)
//   twice the input         ≤ 25 %
//
// with WordCount and TeraSort. All is forgotten before each round.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "benchmarks/e2e/setting.hpp"
#include "benchmarks/measure.hpp"
#include "tests/cluster/task_seconds.hpp"
#include "tests/support/process.hpp"

namespace weft::bench {
namespace {

class Bench {
 public:
  Bench(std::string bin, std::string directory, bool quick)
      : bin_(std::move(bin)), directory_(std::move(directory)), megabytes_(quick ? 96 : 192), rounds_(quick ? 3 : 7) {
    const std::string port = directory_ + "/port";
    start({"master", "--listen", "127.0.0.1:0", "--port-file", port});
    test::eventually([&] { return !test::read_file(port).empty(); });
    address_ = test::read_file(port);
    address_.erase(address_.find_last_not_of('\n') + 1);
    for (const char* name : {"w1", "w2"}) start({"worker", "--master", address_, "--name", name, "--slots", "1"});
    need_success({bin_ + "/weft", "node", "wait", "2", "--master", address_});
  }

  void run() {
    for (const int times : {1, 2}) {
      write_words(directory_ + "/words" + std::to_string(times), times);
      need_success({bin_ + "/terasort", "gen", "--quiet", "--records", std::to_string(times * megabytes_ * 10'000), "--output",
                    directory_ + "/records" + std::to_string(times)});
    }
    measure("wordcount", [&](int times) {
      return job({bin_ + "/wordcount", "--input", directory_ + "/words" + std::to_string(times)});
    });
    measure("terasort", [&](int times) {
      return job({bin_ + "/terasort", "sort", "--input", directory_ + "/records" + std::to_string(times)});
    });
  }

 private:
  void start(std::vector<std::string> words) {
    words.insert(words.begin(), bin_ + "/weft");
    processes_.push_back(
        std::make_unique<test::Process>(words, test::ProcessOptions{.deadline = std::chrono::hours(1), .daemon = true}));
  }
  static std::string need_success(const std::vector<std::string>& words) {
    const auto result = test::run(words, {.deadline = std::chrono::minutes(10)});
    if (result.exit_code != 0) need<void>(fail(Code::io, words.front() + ": " + result.err));
    return result.out;
  }
  void write_words(const std::string& path, int times) const {
    std::string words;
    for (std::uint64_t i = 0; words.size() < (static_cast<std::size_t>(times) * static_cast<std::size_t>(megabytes_)) << 20; ++i) {
      words += "word" + std::to_string(i * i % 50021);
      words += i % 9 == 8 ? '\n' : ' ';
    }
    need(write_file(path, words));
  }
  test::TaskSeconds job(std::vector<std::string> words) {
    const std::string output = directory_ + "/out" + std::to_string(++jobs_);
    words.insert(words.end(), {"--output", output, "--quiet", "--cluster", address_});
    need_success(words);
    std::filesystem::remove_all(output);
    return need(test::task_seconds_of(
        need_success({bin_ + "/weft", "job", "status", std::to_string(jobs_), "--json", "--master", address_})));
  }
  void measure(const std::string& name, const std::function<test::TaskSeconds(int)>& run_with) {
    std::vector<double> same, twice;
    for (int round = 0; round < rounds_; ++round) {
      need_success({bin_ + "/weft", "profile", "forget", "--all", "--master", address_});
      (void)run_with(1);
      same.push_back(100 * run_with(1).error());
      twice.push_back(100 * run_with(2).error());
    }
    const auto figure = [](const std::vector<double>& errors) {
      return text("%.1f %% off, at worst %.1f %%", median(errors), *std::max_element(errors.begin(), errors.end()));
    };
    row(name + ", the same input again", figure(same), at_most(median(same), 15, " %"));
    row(name + ", twice the input", figure(twice), at_most(median(twice), 25, " %"));
  }

  const std::string bin_, directory_;
  const int megabytes_, rounds_;
  std::vector<std::unique_ptr<test::Process>> processes_;
  std::string address_;
  int jobs_ = 0;
};

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  const bool quick = argc == 3 && std::string(argv[2]) == "--quick";
  if (argc < 2 || (argc > 2 && !quick)) return std::fprintf(stderr, "usage: profile_bench DIRECTORY [--quick]\n"), 2;
  auto directory = weft::bench::need(weft::TempDir::create("weft-profile-bench-", argv[1]));
  weft::bench::Bench(std::filesystem::read_symlink("/proc/self/exe").parent_path(), directory.path(), quick).run();
  return 0;
}
