// Floating point in user code behind every source and every shuffle, next to an embedded job behind text: what libraries leave in
// vector registers must not slow it down (base/vector_state.hpp).
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "benchmarks/e2e/command.hpp"
#include "benchmarks/e2e/sections.hpp"
#include "benchmarks/e2e/standing_cluster.hpp"

namespace weft::bench {

namespace {

constexpr double kBound = 1.1;

class Sines {
 public:
  explicit Sines(const Setting& setting) : setting_(setting), figure_(setting.data + "/nanoseconds") {}
  ~Sines() { std::filesystem::remove(figure_); }

  void measure(const std::string& name, const std::string& input, const std::string& behind, const Command& where) {
    double best = 1e9, text_best = 1e9;
    for (int round = 0; round < setting_.rounds(); ++round) {  // in turn with text, as machines drift
      text_best = std::min(text_best, nanoseconds(text_, "text", {}));
      best = std::min(best, nanoseconds(input, behind, where));
    }
    row(name, text("%.1f ns a sine, behind text %.1f ns", best, text_best), at_most(best / text_best, kBound, " x"));
  }
  void set_text(const std::string& path) { text_ = path; }

 private:
  double nanoseconds(const std::string& input, const std::string& behind, const Command& where) {
    Command command{setting_.program("sines"), "--quiet", "--input", input, "--behind", behind, "--figure", figure_};
    command.insert(command.end(), where.begin(), where.end());
    time_command(command);
    double figure = 0;
    std::ifstream(figure_) >> figure;
    return figure;
  }

  const Setting& setting_;
  const std::string figure_;
  std::string text_;
};

}  // namespace

void floats(const Setting& setting) {
  std::printf("Sines in user code, by what is before it\n");
  const std::string lines = setting.data + "/lines.txt";
  {
    std::ofstream file(lines);
    for (std::uint64_t i = 0; i < setting.scaled(20'000); ++i)
      file << 1'000'000 + i * 7'919 % 1'000'003 << std::string(200 + i % 100, 'x') << "\n";
  }
  Sines sines(setting);
  sines.set_text(lines);
  std::vector<std::string> made{lines};
  for (const auto& [suffix, program] : {std::pair("gz", "gzip"), {"bz2", "bzip2"}, {"zst", "zstd"}, {"lz4", "lz4"}, {"xz", "xz"}}) {
    if (std::system((std::string("command -v ") + program + " > /dev/null").c_str()) != 0) {
      std::printf("  %s: left out, because there is no %s here\n", suffix, program);
      continue;
    }
    made.push_back(lines + "." + suffix);
    time_command({"/bin/sh", "-c", std::string(program) + " -c < \"$0\" > \"$1\"", lines, made.back()});
    sines.measure(std::string("embedded, behind .") + suffix, made.back(), "text", {});
  }
  for (const char* behind : {"reduce", "group", "sort", "join"})
    sines.measure(std::string("embedded, behind ") + behind, lines, behind, {});
  sines.measure("2 workers, behind text", lines, "text", {"--workers", "2"});
  sines.measure("2 workers, behind .gz", made[1], "text", {"--workers", "2"});
  for (const char* behind : {"reduce", "group", "sort", "join"})
    sines.measure(std::string("2 workers, behind ") + behind, lines, behind, {"--workers", "2"});
  {
    const StandingCluster cluster(setting, {}, true);
    time_command({setting.program("weft"), "fs", "put", lines, "/lines", "--replication", "1", "--master", cluster.address()});
    sines.measure("standing cluster, behind weft://", "weft://lines", "text", {"--cluster", cluster.address()});
    sines.measure("embedded, behind weft://", "weft://lines", "text", {"--files", cluster.address()});
  }
  for (const std::string& file : made) std::filesystem::remove(file);
}

}  // namespace weft::bench
