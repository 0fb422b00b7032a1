#include "benchmarks/e2e/command.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/peak_memory.hpp"

namespace weft::bench {

namespace {

constexpr auto kMemoryInterval = std::chrono::milliseconds(20);  // short enough for the peaks, long enough to cost nothing

[[noreturn]] void fail(const Command& command, const std::string& why) {
  std::fprintf(stderr, "bench: failed:");
  for (const std::string& word : command) std::fprintf(stderr, " %s", word.c_str());
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

/// Where processes say of what they died (base/fatal_signal.hpp).
std::string crash_log() {
  return (std::filesystem::temp_directory_path() / ("weft-bench-crashes-" + std::to_string(::getpid()))).string();
}

/// A death that a retry hides is a failure all the same.
void check_crashes(const Command& command) {
  std::ostringstream crashes;
  crashes << std::ifstream(crash_log()).rdbuf();
  std::error_code ignored;
  std::filesystem::remove(crash_log(), ignored);
  if (!crashes.str().empty()) fail(command, "; processes died: " + crashes.str());
}

int spawn(const Command& command) {
  const std::string crashes = crash_log();
  const int pid = ::fork();
  if (pid != 0) return pid;
  ::setenv("WEFT_CRASH_LOG", crashes.c_str(), 1);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  const int null = ::open("/dev/null", O_WRONLY);
  ::dup2(null, 1);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  std::perror(arguments[0]);
  ::_exit(127);
}

}  // namespace

Timing time_command(const Command& command) {
  const auto start = std::chrono::steady_clock::now();
  const int pid = spawn(command);
  test::MemoryWatch memory(pid, kMemoryInterval);
  int status = 0;
  ::waitpid(pid, &status, 0);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  check_crashes(command);
  if (status != 0) fail(command, "");
  return {elapsed.count(), static_cast<double>(memory.finish().total) / (1 << 20)};
}

std::vector<std::vector<Timing>> alternate(const std::vector<Command>& commands, int rounds,
                                           const std::function<void(std::size_t)>& around) {
  std::vector<std::vector<Timing>> timings(commands.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < commands.size(); ++i) {
      if (around) around(i);
      timings[i].push_back(time_command(commands[i]));
      if (around) around(i);
    }
  }
  return timings;
}

double median_seconds(std::vector<Timing> timings) {
  std::sort(timings.begin(), timings.end(), [](const Timing& a, const Timing& b) { return a.seconds < b.seconds; });
  return timings[timings.size() / 2].seconds;
}

double max_mib(const std::vector<Timing>& timings) {
  double peak = 0;
  for (const Timing& timing : timings) peak = std::max(peak, timing.peak_mib);
  return peak;
}

Background::Background(const Command& command) : command_(command), pid_(spawn(command)) {}

Background::~Background() {
  if (::waitpid(pid_, nullptr, WNOHANG) == pid_) fail(command_, "; it ended, though nobody asked it to");
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
  check_crashes(command_);
}

}  // namespace weft::bench
