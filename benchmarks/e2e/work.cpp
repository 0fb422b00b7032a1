#include "benchmarks/e2e/work.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace weft::bench {

namespace {

namespace fs = std::filesystem;

/// Programs that write a directory each, run in turn. An output is gone before and after each run, so that no run pays for
/// another's dirty pages; the first of each program is looked at.
class Contest {
 public:
  explicit Contest(const Setting& setting) : setting_(setting) {}

  std::string output(std::size_t contender) const { return setting_.data + "/output" + std::to_string(contender); }
  void run(const std::vector<Command>& commands, Digest (*digest_of)(const std::string&)) {
    digests_.assign(commands.size(), {});
    std::vector<int> calls(commands.size());
    timings_ = alternate(commands, setting_.rounds(), [&](std::size_t i) {
      if (calls[i]++ == 1 && digest_of != nullptr) digests_[i] = digest_of(output(i));
      fs::remove_all(output(i));
    });
  }
  double seconds(std::size_t i) const { return median_seconds(timings_[i]); }
  double peak_mib(std::size_t i) const { return max_mib(timings_[i]); }
  const Digest& digest(std::size_t i) const { return digests_[i]; }

 private:
  const Setting& setting_;
  std::vector<std::vector<Timing>> timings_;
  std::vector<Digest> digests_;
};

Command limit(const Work& work, const std::string& output, unsigned threads = 2) {
  Command command = work.limit;
  command.insert(command.end(), {output, std::to_string(threads)});
  return command;
}

Command with(Command command, const Command& more) {
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

Command on_workers(const Work& work, const std::string& output) {
  return with(work.weft, {"--output", output, "--quiet", "--workers", "2", "--threads", "1"});
}

void demand_same(const Work& work, const Digest& expected, const Digest& actual, const char* who) {
  if (expected == actual) return;
  std::fprintf(stderr, "bench: %s: %s gives another result than the limit: %llu records instead of %llu, or other ones\n",
               work.name.c_str(), who, static_cast<unsigned long long>(actual.records),
               static_cast<unsigned long long>(expected.records));
  std::exit(1);
}

/// The number that follows `"key":` at or after `at`.
double number_after(const std::string& json, const char* key, std::size_t at) {
  const std::size_t found = json.find(std::string("\"") + key + "\":", at);
  return found == std::string::npos ? 0 : std::strtod(json.c_str() + json.find(':', found) + 1, nullptr);
}

std::string text_after(const std::string& json, const char* key, std::size_t at) {
  const std::string start = std::string("\"") + key + "\":\"";
  const std::size_t found = json.find(start, at);
  if (found == std::string::npos) return "";
  return json.substr(found + start.size(), json.find('"', found + start.size()) - found - start.size());
}

/// From the file --stats wrote.
void print_bytes_moved(const std::string& stats, std::uint64_t output_bytes) {
  std::ifstream in(stats);
  const std::string json{std::istreambuf_iterator<char>(in), {}};
  for (std::size_t at = json.find("{\"id\":"); at != std::string::npos; at = json.find("{\"id\":", at + 1)) {
    row("moved by " + text_after(json, "name", at),
        text("%.1f MiB read, %.1f MiB shuffled", number_after(json, "input_bytes", at) / 0x1p20,
             number_after(json, "shuffle_bytes", at) / 0x1p20),
        "");
  }
  row("output", text("%.1f MiB", static_cast<double>(output_bytes) / 0x1p20), "");
}

}  // namespace

Command embedded(const Work& work, const std::string& output, unsigned threads) {
  return with(work.weft, {"--output", output, "--quiet", "--threads", std::to_string(threads)});
}

void compare_with_limit(const Setting& setting, const Work& work) {
  Contest contest(setting);
  const std::string stats = setting.data + "/stats.json";
  contest.run({limit(work, contest.output(0)), with(embedded(work, contest.output(1)), {"--stats", stats}),
               on_workers(work, contest.output(2))},
              work.digest);
  std::printf("%s\n", work.name.c_str());
  const double best = contest.seconds(0);
  row("hand-written limit", text("%.2f s, peak %.0f MiB", best, contest.peak_mib(0)), "");
  const auto report = [&](const char* who, std::size_t i, double bound) {
    demand_same(work, contest.digest(0), contest.digest(i), who);
    const double ratio = contest.seconds(i) / best;
    row(who, text("%.2f s, %.2f x, peak %.0f MiB", contest.seconds(i), ratio, contest.peak_mib(i)), at_most(ratio, bound, " x"));
  };
  report("weft embedded", 1, work.embedded_bound);
  report("weft, two worker processes", 2, work.workers_bound);
  print_bytes_moved(stats, contest.digest(1).bytes);
}

void measure_scaling(const Setting& setting, const Work& work) {
  Contest contest(setting);
  contest.run({limit(work, contest.output(0), 1), limit(work, contest.output(1), 2), embedded(work, contest.output(2), 1),
               embedded(work, contest.output(3), 2)},
              nullptr);
  const double of_limit = contest.seconds(0) / contest.seconds(1), own = contest.seconds(2) / contest.seconds(3);
  row("1 to 2 threads", text("%.2f x faster; the limit %.2f x", own, of_limit), at_least(own / of_limit, 0.9, " of the limit's"));
}

void compare_inputs(const Setting& setting, const std::string& what, const Work& work, const Work& variant, double factor,
                    double bound) {
  Contest contest(setting);
  contest.run({embedded(work, contest.output(0)), embedded(variant, contest.output(1))}, nullptr);
  const double ratio = contest.seconds(1) / factor / contest.seconds(0);
  row(what, text("%.2f s and %.2f s, %.2f x", contest.seconds(0), contest.seconds(1), ratio), at_most(ratio, bound, " x"));
}

void compare_options(const Setting& setting, const std::string& what, const Work& work, const Command& options, double bound) {
  Contest contest(setting);
  contest.run({embedded(work, contest.output(0)), with(embedded(work, contest.output(1)), options)}, work.digest);
  demand_same(work, contest.digest(0), contest.digest(1), what.c_str());
  const double ratio = contest.seconds(1) / contest.seconds(0);
  row(what, text("%.2f s, %.2f x, peak %.0f MiB", contest.seconds(1), ratio, contest.peak_mib(1)), at_most(ratio, bound, " x"));
}

}  // namespace weft::bench
