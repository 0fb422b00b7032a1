#include "base/machine.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <pwd.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/text.hpp"

namespace weft {

std::uint64_t machine_memory() {
  auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
  // Control groups of version 2 and 1. Where there is no limit, the one says "max", the other an enormous number.
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
    if (const auto limit = read_file(path)) bytes = std::min(bytes, parse_number<std::uint64_t>(trim(*limit)).value_or(bytes));
  return bytes;
}

std::string machine_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "localhost";
}

std::string user_name() {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> memory(16384);
  if (::getpwuid_r(::getuid(), &entry, memory.data(), memory.size(), &found) == 0 && found != nullptr) return entry.pw_name;
  return std::to_string(::getuid());
}

}  // namespace weft
