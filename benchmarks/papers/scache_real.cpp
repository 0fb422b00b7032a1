// What SCache's prefetching gains on real workers: `shaped_bench`, whose rows are read here.
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <sys/wait.h>

#include "benchmarks/papers/experiment.hpp"

namespace weft::papers {
namespace {

struct Medians {
  double pull = 0, memory = 0;
  double change() const { return memory / pull - 1; }
};

/// "GroupByTest/map stage" and the like: the first row of each name, whose maps are as slow as the published ones. What the program
/// printed otherwise goes to `text`.
std::map<std::string, Medians> rows_of(std::FILE* output, std::string& text) {
  std::map<std::string, Medians> rows;
  std::string job;
  char buffer[512];
  while (std::fgets(buffer, sizeof buffer, output) != nullptr) {
    std::string line = buffer;
    text += line;
    if (line.size() < 48 || !line.starts_with("  ")) continue;
    std::string name = line.substr(2, 44);
    name.erase(name.find_last_not_of(' ') + 1);
    Medians medians;
    std::string unit;
    std::istringstream numbers(line.substr(46));
    if (!(numbers >> medians.pull >> unit >> medians.memory)) continue;
    if (const auto colon = name.find(": "); colon != std::string::npos) {
      job = name.substr(0, name.find(' '));
      name = name.substr(colon + 2);
    } else {
      name.erase(0, name.find_first_not_of(' '));
    }
    rows.emplace(job + "/" + name, medians);
  }
  return rows;
}

Findings real_shuffles(const Context& context) {
  if (context.quick || context.simulated)
    return {{}, {}, "", "left out with --quick and --simulated; [shuffle.md](shuffle.md#figures) has figures of a quiet machine"};
  std::FILE* output = popen((context.programs + "/shaped_bench " + context.programs + " /dev/shm --rounds 3").c_str(), "r");
  if (output == nullptr) return {{}, {}, "", "shaped_bench cannot be started"};
  std::string text;
  auto rows = rows_of(output, text);
  const int status = pclose(output);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return {{}, {}, "", text.substr(0, text.find('\n'))};
  if (rows.size() < 8) return {{}, {}, "", "shaped_bench ended early: " + text.substr(0, text.find('\n'))};
  const auto change = [&](const char* name) { return single(rows[name].change()); };
  const Medians sort = rows["TeraSort/reduce stage"];
  const double samples = rows["TeraSort/its samples before that"].memory;
  return {{{"SC-1: GroupByTest, map stage", "−10.4 %", change("GroupByTest/map stage"), Unit::change, {-0.2, -0.05}},
           {"SC-1: GroupByTest, reduce stage", "−82.4 %", change("GroupByTest/reduce stage"), Unit::change, {-0.9, -0.65}},
           {"SC-2: shuffle time of the median map and the median reduce",
            "−88.9 %",
            change("GroupByTest/both together"),
            Unit::change,
            {-0.95, -0.8}},
           {"SC-3: TeraSort, reduce stage, pull over memory", "2.0", single(sort.pull / sort.memory), Unit::number, {1.5, 2.5}},
           {"SC-4: bytes of a second shuffle, over those with every reduce at its producer",
            "the same",
            single(rows["Second/the same, perfect locality against memory"].change()),
            Unit::change,
            {-0.05, 0.05}},
           {"SC-10: TeraSort, sampling over map and reduce stage", "1 to 4 s, small",
            single(samples / (rows["TeraSort/map stage"].memory + sort.memory)), Unit::percent, at_most(0.2)}},
          {},
          "Medians of three runs in each mode, in turn. [shuffle.md](shuffle.md#figures) tells what they depend on."};
}

}  // namespace

std::vector<Experiment> scache_real_experiments() {
  return {{"SC-R", "What prefetching gains, on real workers", "SCache (Fu et al.)",
           "4 network namespaces of 300 Mbit/s with a worker of 2 slots each, disks of 21.5 MB/s; shuffles of 512 and 256 MiB in "
           "40 maps and 40 "
           "reduces, modes pull and memory; needs root, ip and tc, and a machine with nothing else to do",
           "left out", real_shuffles}};
}

}  // namespace weft::papers
