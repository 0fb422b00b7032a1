#include "runtime/worker/confinement.hpp"

#include <algorithm>
#include <cerrno>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/text.hpp"

namespace weft::runtime {
namespace {

/// Lowers the limit; one that is lower already stays.
int limit(__rlimit_resource kind, rlim_t most) {
  rlimit now{};
  if (getrlimit(kind, &now) != 0) return errno;
  const rlim_t value = std::min(now.rlim_max, most);
  now = {value, value};
  return setrlimit(kind, &now) == 0 ? 0 : errno;
}

}  // namespace

std::uint64_t processes_beside(std::uint64_t more) {
  if (more == 0) return 0;
  const auto text = read_file("/proc/loadavg");  // "0.20 0.18 0.12 RUNNING/ALL LAST"
  const auto words = split(text ? trim(*text) : std::string_view(), ' ');
  if (words.size() < 4) return 0;
  const auto all = parse_number<std::uint64_t>(words[3].substr(std::min(words[3].find('/'), words[3].size() - 1) + 1));
  return all ? *all + more : 0;
}

namespace {

/// By bare system calls: those of the C library have all threads of a process follow, and know the parent's only.
int become(const Account& account) {
  if (syscall(SYS_setgroups, account.groups.size(), account.groups.data()) != 0) return errno;
  if (syscall(SYS_setresgid, account.group, account.group, account.group) != 0) return errno;
  return syscall(SYS_setresuid, account.user, account.user, account.user) == 0 ? 0 : errno;
}

}  // namespace

int confine(const Confinement& confinement) {
  for (const int entry : confinement.group_entries)
    if (write(entry, "0", 1) != 1) return errno;
  if (confinement.sandbox)
    if (const int error = confinement.sandbox->enter(); error != 0) return error;
  // One byte, not zero: the kernel starts a program that core dumps are piped to whatever the limit, except with this one.
  if (const int error = limit(RLIMIT_CORE, 1); error != 0) return error;
  if (confinement.processes != 0) {
    if (const int error = limit(RLIMIT_NPROC, confinement.processes); error != 0) return error;
  }
  if (confinement.account)
    if (const int error = become(*confinement.account); error != 0) return error;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 ? 0 : errno;
}

}  // namespace weft::runtime
