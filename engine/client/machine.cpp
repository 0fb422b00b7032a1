#include "engine/client/machine.hpp"

#include <algorithm>

#include <sched.h>
#include <sys/resource.h>

#include "base/machine.hpp"
#include "base/sanitized.hpp"

namespace weft::client {

namespace {

constexpr std::uint64_t kSlack = std::uint64_t{1} << 30;

}  // namespace

std::uint32_t available_cores() {
  cpu_set_t cpus;
  if (::sched_getaffinity(0, sizeof cpus, &cpus) != 0) return 1;
  return static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&cpus)));
}

std::uint64_t default_memory_budget() { return machine_memory() / 4; }

void bound_private_memory(std::uint64_t budget) {
  if (kSanitized) return;  // its reservations of address space count as private memory
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  const std::uint64_t memory = machine_memory();  // where that is little, so is the slack: the kernel's limit must not come first
  const std::uint64_t wanted = std::max(budget + std::min(kSlack, memory / 2), memory / 10 * 9);
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur <= wanted) return;
  limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_DATA, &limit);
}

}  // namespace weft::client
