// The empty job and many empty tasks: what a job and a task cost.
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include "benchmarks/e2e/command.hpp"
#include "benchmarks/e2e/sections.hpp"

namespace weft::bench {

namespace {

namespace fs = std::filesystem;

void empty_job_embedded(const Setting& setting) {
  const double milliseconds = median_seconds(alternate({{setting.program("noop"), "--quiet"}}, 11)[0]) * 1e3;
  row("empty job, embedded", text("%.1f ms", milliseconds), at_most(milliseconds, 50, " ms"));
}

/// A master and two workers on loopback; the port is the kernel's choice, read back from a file.
class StandingCluster {
 public:
  StandingCluster(const Setting& setting, const Command& options)
      : port_file_(setting.data + "/master.port"), master_(master_command(setting, port_file_, options)) {
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
  static Command master_command(const Setting& setting, const std::string& port_file, const Command& options) {
    Command command{setting.program("weft"), "master", "--listen", "127.0.0.1:0", "--port-file", port_file, "--log", "warn"};
    command.insert(command.end(), options.begin(), options.end());
    return command;
  }

  std::string port_file_;
  std::string address_;
  Background master_;
  std::vector<std::unique_ptr<Background>> workers_;
};

void standing_cluster(const Setting& setting, const Command& options, const char* empty_job, const char* many_tasks) {
  const StandingCluster cluster(setting, options);
  const Command empty{setting.program("noop"), "--quiet", "--cluster", cluster.address()};
  time_command(empty);  // the binary becomes known
  const double milliseconds = median_seconds(alternate({empty}, 11)[0]) * 1e3;
  row(empty_job, text("%.1f ms", milliseconds), at_most(milliseconds, 100, " ms"));

  Command many = empty;
  many.insert(many.end(), {"--tasks", "20000"});
  const double rate = 20'000 / median_seconds(alternate({many}, 3)[0]);
  row(many_tasks, text("%.0f tasks/s", rate), at_least(rate, 5'000, " tasks/s"));
}

}  // namespace

void control_plane(const Setting& setting) {
  std::printf("Jobs and tasks that do nothing\n");
  empty_job_embedded(setting);
  standing_cluster(setting, {}, "empty job, standing cluster, program known", "20,000 no-op tasks, a master, two workers");
  const std::string journal = fs::temp_directory_path() / text("weft-bench-%d.journal", ::getpid());  // on a disk
  standing_cluster(setting, {"--journal", journal}, "the same, the master with a journal", "the same, the master with a journal");
  fs::remove(journal);
}

}  // namespace weft::bench
