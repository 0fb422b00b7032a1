#include "base/account.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>

namespace weft {
namespace {

constexpr std::size_t kMostEntry = 1u << 20;
constexpr int kMostGroups = 65536;  // of the kernel
/// By sudo, by containers that mount all of the machine, by writing to its disks, or by the hashes of passwords.
constexpr const char* kAdministrators[] = {"sudo", "wheel", "admin", "docker", "lxd", "disk", "shadow"};

/// Nothing: the machine has no such group.
Result<std::optional<gid_t>> find_group(const char* name) {
  group entry{};
  group* found = nullptr;
  std::vector<char> room(4096);
  int error = 0;
  while ((error = getgrnam_r(name, &entry, room.data(), room.size(), &found)) == ERANGE && room.size() < kMostEntry)
    room.resize(2 * room.size());
  if (found != nullptr) return std::optional(entry.gr_gid);
  if (error == 0 || error == ENOENT || error == ESRCH) return std::optional<gid_t>();
  return fail(errno_error(std::string("cannot look up the group ") + name, error));
}

std::vector<gid_t> groups_of(const char* name, gid_t group) {
  int count = 32;
  std::vector<gid_t> groups;
  do groups.resize(static_cast<std::size_t>(count));
  while (getgrouplist(name, group, groups.data(), &count) < 0 && count > static_cast<int>(groups.size()) && count <= kMostGroups);
  groups.resize(static_cast<std::size_t>(std::min(count, static_cast<int>(groups.size()))));
  return groups;
}

}  // namespace

Result<Account> find_account(const std::string& name) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> room(4096);
  int error = 0;
  while ((error = getpwnam_r(name.c_str(), &entry, room.data(), room.size(), &found)) == ERANGE && room.size() < kMostEntry)
    room.resize(2 * room.size());
  if (found != nullptr) return Account{name, entry.pw_uid, entry.pw_gid, groups_of(name.c_str(), entry.pw_gid), entry.pw_dir};
  // Some systems report an unknown user as an error.
  if (error == 0 || error == ENOENT || error == ESRCH)
    return fail(Code::not_found, fmt::format("this machine has no user {}", name));
  return fail(errno_error("cannot look up the user " + name, error));
}

Result<void> check_no_administrator(const Account& account) {
  const auto in = [&](gid_t group) {
    return account.group == group || std::find(account.groups.begin(), account.groups.end(), group) != account.groups.end();
  };
  if (account.user == 0) return fail(Code::invalid_argument, fmt::format("the user {} has the rights of root", account.name));
  const auto refused = [&](const char* group) {
    return fail(Code::invalid_argument,
                fmt::format("the user {} is in the group {}, whose members can get the rights of root", account.name, group));
  };
  if (in(0)) return refused("root");
  for (const char* const name : kAdministrators) {
    WEFT_ASSIGN(const auto group, find_group(name));
    if (group && in(*group)) return refused(name);
  }
  return {};
}

Result<void> check_open_to_others(const std::string& path) {
  namespace fs = std::filesystem;
  for (fs::path at = fs::absolute(path).lexically_normal();; at = at.parent_path()) {
    struct stat info {};
    if (::stat(at.c_str(), &info) != 0) return fail(errno_error(at.string(), errno));
    if ((info.st_mode & S_IXOTH) == 0) return fail(Code::invalid_argument, fmt::format("other users cannot enter {}", at.string()));
    if (!at.has_relative_path()) return {};
  }
}

}  // namespace weft
