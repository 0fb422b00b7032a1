#include "tests/support/own_world.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::test {
namespace {

constexpr int kNamespaces = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID;

/// In the first process of the new namespaces: what is mounted here is seen by nobody else.
bool furnish() {
  ::mkdir("/run/netns", 0755);
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 && ::mount("proc", "/proc", "proc", 0, nullptr) == 0 &&
         ::mount("none", "/run/netns", "tmpfs", 0, "mode=0755") == 0;
}

int waited(int child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int fails(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, std::strerror(errno));
  return 1;
}

}  // namespace

std::string own_world_missing() {
  if (::geteuid() != 0) return "it needs root for namespaces";
  const int child = ::fork();
  if (child == 0) ::_exit(::unshare(kNamespaces) == 0 ? 0 : 1);
  return child > 0 && waited(child) == 0 ? "" : "no namespaces can be made here";
}

void in_own_world(const std::function<int()>& work) {
  // No exit(): where a process can start no more others, the leak check of a sanitizer fails.
  if (::unshare(kNamespaces) != 0) std::_Exit(fails("cannot make namespaces"));
  const int child = ::fork();
  if (child < 0) std::_Exit(fails("cannot start a process"));
  if (child > 0) std::_Exit(waited(child));
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int code = furnish() ? work() : fails("cannot mount /proc and /run/netns in a namespace");
  std::fflush(nullptr);
  std::_Exit(code);
}

}  // namespace weft::test
