// The end-to-end figures, each next to its limit:   bench BIN-DIRECTORY DATA-DIRECTORY [--quick]
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include "benchmarks/e2e/command.hpp"

namespace weft::bench {
namespace {

namespace fs = std::filesystem;

struct Setting {
  std::string bin, data;
  bool quick = false;
  int rounds() const { return quick ? 3 : 5; }
  std::string program(const std::string& name) const { return bin + "/" + name; }
};

void row(const char* what, const char* figure, const char* limit) { std::printf("%-58s %-34s %s\n", what, figure, limit); }

template <class... Values>
std::string text(const char* format, Values... values) {
  char buffer[160];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

void empty_job_embedded(const Setting& setting) {
  const auto timings = alternate({{setting.program("noop"), "--quiet"}}, 11, {});
  row("empty job, embedded", text("%.1f ms", median_seconds(timings[0]) * 1e3).c_str(), "limit 50 ms");
}

/// A master and two workers on loopback; the port is the kernel's choice, read back from a file.
class StandingCluster {
 public:
  explicit StandingCluster(const Setting& setting)
      : port_file_(setting.data + "/master.port"),
        master_({setting.program("weft"), "master", "--listen", "127.0.0.1:0", "--port-file", port_file_, "--log", "warn"}) {
    for (int tries = 0; tries < 1000 && address_.empty(); ++tries) {
      ::usleep(10'000);
      std::ifstream(port_file_) >> address_;
    }
    if (address_.find(':') == std::string::npos) address_ = "127.0.0.1:" + address_;
    for (int i = 0; i < 2; ++i) {
      const std::string directory = setting.data + "/worker" + std::to_string(i);
      workers_.push_back(std::make_unique<Background>(Command{setting.program("weft"), "worker", "--master", address_, "--slots",
                                                              "1", "--directory", directory, "--log", "warn"}));
    }
  }
  ~StandingCluster() { fs::remove(port_file_); }
  const std::string& address() const { return address_; }

 private:
  std::string port_file_;
  std::string address_;
  Background master_;
  std::vector<std::unique_ptr<Background>> workers_;
};

void standing_cluster(const Setting& setting) {
  const StandingCluster cluster(setting);
  const Command empty{setting.program("noop"), "--quiet", "--cluster", cluster.address()};
  time_command(empty);  // the binary becomes known
  row("empty job, standing cluster, binary known there",
      text("%.1f ms", median_seconds(alternate({empty}, 11, {})[0]) * 1e3).c_str(), "limit 100 ms");

  Command many = empty;
  many.insert(many.end(), {"--tasks", "20000"});
  const double seconds = median_seconds(alternate({many}, 3, {})[0]);
  row("20,000 no-op tasks, one master and two workers", text("%.0f tasks/s", 20'000 / seconds).c_str(), "at least 5,000 tasks/s");
}

void wordcount(const Setting& setting) {
  const std::uint64_t bytes = setting.quick ? 256U << 20 : 1U << 30;
  const std::string input = setting.data + "/zipf.txt", output = setting.data + "/counts";
  time_command({setting.program("zipf_text"), std::to_string(bytes), input, "1000000"});
  const Command embedded{setting.program("wordcount"), "--quiet", "--overwrite", "--input", input, "--output", output};
  Command workers = embedded;
  workers.insert(workers.end(), {"--workers", "2"});
  const auto timings =
      alternate({{setting.program("wordcount_limit"), input, setting.data + "/limit"}, embedded, workers}, setting.rounds(), {});
  const double limit = median_seconds(timings[0]);
  const auto report = [&](const char* name, const std::vector<Timing>& own) {
    const double seconds = median_seconds(own);
    row(text("WordCount, %llu MiB of Zipf text, %s", static_cast<unsigned long long>(bytes >> 20), name).c_str(),
        text("%.2f s, %.2f x, peak %.0f MiB", seconds, seconds / limit, max_mib(own)).c_str(),
        text("hand-written %.2f s; at most 3 x", limit).c_str());
  };
  report("embedded", timings[1]);
  report("two worker processes", timings[2]);
  fs::remove(input);
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: bench BIN-DIRECTORY DATA-DIRECTORY [--quick]\n"), 2;
  const weft::bench::Setting setting{argv[1], argv[2], argc > 3 && std::strcmp(argv[3], "--quick") == 0};
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  weft::bench::empty_job_embedded(setting);
  weft::bench::standing_cluster(setting);
  weft::bench::wordcount(setting);
  return 0;
}
