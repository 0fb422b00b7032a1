#include "runtime/worker/orphans.hpp"

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/file.hpp"
#include "base/text.hpp"

namespace weft::runtime {
namespace {

/// The kernel lists them by the thread that started or adopted them.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::error_code error;
  for (std::filesystem::directory_iterator thread("/proc/self/task", error), end; !error && thread != end;
       thread.increment(error)) {
    const auto listed = read_file(thread->path() / "children");
    if (!listed) continue;  // the thread has ended
    for (const std::string_view word : split(*listed, ' '))
      if (const auto pid = parse_number<pid_t>(trim(word))) found.push_back(*pid);
  }
  return found;
}

}  // namespace

void adopt_orphans() { (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

std::size_t kill_orphans(const std::set<pid_t>& own) {
  std::size_t left = 0;
  for (const pid_t child : children()) {
    if (own.contains(child)) continue;
    ::kill(child, SIGKILL);
    if (waitpid(child, nullptr, WNOHANG) == 0) ++left;
  }
  return left;
}

}  // namespace weft::runtime
