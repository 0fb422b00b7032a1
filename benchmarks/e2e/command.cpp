#include "benchmarks/e2e/command.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/peak_memory.hpp"

namespace weft::bench {

namespace {

constexpr auto kMemoryInterval = std::chrono::milliseconds(20);  // short enough for the peaks, long enough to cost nothing

int spawn(const Command& command) {
  const int pid = ::fork();
  if (pid != 0) return pid;
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
  if (status != 0) {
    std::fprintf(stderr, "bench: failed:");
    for (const std::string& word : command) std::fprintf(stderr, " %s", word.c_str());
    std::fprintf(stderr, "\n");
    std::exit(1);
  }
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

Background::Background(const Command& command) : pid_(spawn(command)) {}

Background::~Background() {
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace weft::bench
