#include "base/rpc/descriptors.hpp"

#include <algorithm>
#include <limits>

#include <sys/resource.h>

namespace weft::rpc {
namespace {

constexpr rlim_t kMost = 1u << 20;  // programs that go through all possible descriptors should end
constexpr rlim_t kReserve = 1024;

}  // namespace

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min(limit.rlim_max, kMost);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::size_t descriptor_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<std::size_t>(limit.rlim_cur) : kReserve;
}

int first_reserved_descriptor() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<int>::max();
  const rlim_t most = std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int>::max());
  return static_cast<int>(most - std::min(most / 4, kReserve));
}

}  // namespace weft::rpc
