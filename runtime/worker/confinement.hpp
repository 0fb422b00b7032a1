// What a process that runs a job's code is not to do, set between fork and exec.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/account.hpp"
#include "runtime/worker/sandbox.hpp"

namespace weft::runtime {

/// No such process, nor what it starts, gets rights by set-user-ID programs (no_new_privs) or writes core dumps, which would have
/// secrets in them. What its children leave behind becomes its own child, and its parent's when it ends (orphans.hpp). Besides:
struct Confinement {
  std::uint64_t processes = 0;  // of its user on the machine at most, threads included; 0: no other limit than this process's own
  // Its control group, as ControlGroup has it. Whoever starts the process keeps these descriptors open meanwhile.
  std::vector<int> group_entries{};
  int group_directory = -1;
  std::optional<Account> account{};  // whose it is from then on, instead of this process's user's
  std::shared_ptr<const Sandbox> sandbox{};
};

/// How many processes and threads the machine has now, plus `more`: what a user's limit is set to, so that a job gets `more` at
/// most, whatever the user runs besides. (The kernel does not count those of root.) 0 when that is not known, or `more` is 0.
std::uint64_t processes_beside(std::uint64_t more);

/// For the child, which group_directory is the caller's business of. Calls async-signal-safe functions only. Returns 0, or the
/// errno of what the system refused.
int confine(const Confinement& confinement);

}  // namespace weft::runtime
