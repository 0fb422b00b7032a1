#include "base/machine.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <pwd.h>
#include <sched.h>
#include <unistd.h>

#include "base/cgroup.hpp"

namespace weft {

std::uint64_t machine_memory() {
  constexpr std::uint64_t kLeast = std::uint64_t{32} << 20;  // a limit below it is for something else than running jobs
  const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
  const auto limit = memory_limit();
  return limit ? std::clamp(limit->bytes, std::min(kLeast, bytes), bytes) : bytes;
}

double machine_processors() {
  cpu_set_t bound;
  CPU_ZERO(&bound);
  const bool known = ::sched_getaffinity(0, sizeof bound, &bound) == 0 && CPU_COUNT(&bound) > 0;
  const double processors = known ? CPU_COUNT(&bound) : static_cast<double>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  return std::min(processors, processor_limit().value_or(processors));
}

std::string machine_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "localhost";
}

std::string user_name() { return user_name(::getuid()); }

std::string user_name(uid_t user) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> memory(16384);
  if (::getpwuid_r(user, &entry, memory.data(), memory.size(), &found) == 0 && found != nullptr) return entry.pw_name;
  return std::to_string(user);
}

}  // namespace weft
