// Users of this machine, as programs are started for them.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.hpp"

namespace weft {

struct Account {
  std::string name;
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;  // all of them
  std::string home;
};

/// By name. not_found: there is none; io: the system cannot say. May ask a server, if the machine's users are kept on one.
Result<Account> find_account(const std::string& name);

/// Programs of others may run as the account: it is neither root nor in a group whose members can become root (root, sudo, wheel,
/// admin, docker, lxd, disk, shadow). Otherwise invalid_argument says which of these it is. May ask a server, as find_account()
/// does.
Result<void> check_no_administrator(const Account& account);

/// The path and each directory above it can be passed through by everybody (o+x). Otherwise invalid_argument names the one that
/// cannot.
Result<void> check_open_to_others(const std::string& path);

}  // namespace weft
