#include "benchmarks/shuffle/supervised.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/process.hpp"
#include "tests/support/shaped_network.hpp"

namespace weft::bench {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

sigset_t waited_for() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : kSignals) ::sigaddset(&set, number);
  ::sigaddset(&set, SIGCHLD);
  return set;
}

/// Until the child has ended by itself (its exit code) or this process was asked to end.
int wait_for(int child, const sigset_t& set) {
  while (true) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    int number = 0;
    if (::sigwait(&set, &number) != 0 || number == SIGCHLD) continue;
    ::kill(-child, SIGKILL);
    ::waitpid(child, &status, 0);
    return 128 + number;
  }
}

}  // namespace

int supervised(const std::string& data,
               const std::function<int(const std::string& name, const std::string& data, const std::string& spills)>& work) {
  const std::string name = "weft-bench-" + std::to_string(::getpid());
  const std::string in_data = data + "/" + name, spills = (std::filesystem::temp_directory_path() / name).string();
  const sigset_t set = waited_for();
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &set, &before);
  std::filesystem::create_directories(in_data);
  std::filesystem::create_directories(spills);
  const int child = ::fork();
  if (child == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    ::setenv("TMPDIR", spills.c_str(), 1);
    const int code = work(name, in_data, spills);
    std::fflush(nullptr);
    std::_Exit(code);
  }
  int code = 1;
  if (child > 0) {
    ::setpgid(child, child);
    code = wait_for(child, set);
    ::kill(-child, SIGKILL);  // what it left
  }
  test::ShapedNetwork::remove(name);
  // What was killed may still be writing.
  const auto removed = [](const std::string& directory) {
    std::error_code failed;
    std::filesystem::remove_all(directory, failed);
    return !failed;
  };
  if (!test::eventually([&] { return removed(in_data) && removed(spills); }))
    std::fprintf(stderr, "benchmark: cannot remove %s and %s\n", in_data.c_str(), spills.c_str());
  return code;
}

}  // namespace weft::bench
