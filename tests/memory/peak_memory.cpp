// Runs a command and prints how much memory it and its children took at most.
//
//   peak_memory build/release/bin/wordcount --memory 64MiB --input text --output counts
#include "tests/support/peak_memory.hpp"

#include <cstdio>
#include <string>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s COMMAND [ARGUMENT…]\n", argv[0]);
    return 2;
  }
  const int pid = ::fork();
  if (pid == 0) {
    ::execvp(argv[1], argv + 1);
    std::perror(argv[1]);
    ::_exit(127);
  }
  weft::test::MemoryWatch watch(pid);
  int status = 0;
  ::waitpid(pid, &status, 0);
  const weft::test::MemoryPeak peak = watch.finish();
  std::fprintf(stderr, "peak %.1f MiB: %.1f anonymous + %.1f in memfds\n", mib(peak.total), mib(peak.anonymous), mib(peak.shared));
  if (peak.groups.size() > 1) {
    for (const auto& [name, bytes] : peak.groups)
      std::fprintf(stderr, "  %s: %.1f MiB\n", name.empty() ? "driver" : (name + " with its executor").c_str(), mib(bytes));
    for (const auto& [name, bytes] : peak.processes) std::fprintf(stderr, "  anonymous, %s: %.1f MiB\n", name.c_str(), mib(bytes));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
