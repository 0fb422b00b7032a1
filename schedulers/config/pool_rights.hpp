// The users who may submit to pools and queues, and administer the jobs in them: of the same files as their shares (pools.hpp,
// queues.hpp):
//
//   [[pool]]
//   name = "research"
//   submit = ["alice", "bob"]   # who may submit to it; unset: as the pool above says, at the top everybody
//   administer = ["carol"]      # who may also read and kill the jobs of others in it, and in pools below
//
// Schedulers know nothing of users' rights: the master asks here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedulers/config/config_entries.hpp"

namespace weft::schedulers {

/// What a pool's or queue's own table says.
struct PoolAccess {
  std::optional<std::vector<std::string>> submit;
  std::vector<std::string> administer;
};
Result<PoolAccess> read_access(ConfigEntry& entry);

/// Of all pools or queues of a scheduler.
class PoolRights {
 public:
  /// Of the texts of a scheduler's files, by name. What is no file of pools or queues is passed over. invalid_argument names file
  /// and line.
  static Result<PoolRights> read(const std::map<std::string, std::string>& files);

  /// permission_denied names the pool and who may submit. `pool`: as a job names it; without one its job belongs to the pool of its
  /// user, or the queue `default`.
  Result<void> may_submit(std::string_view user, std::string_view pool) const;
  bool may_administer(std::string_view user, std::string_view pool, std::string_view owner) const;

 private:
  struct Pool {
    std::string parent;
    PoolAccess access;
  };
  using Pools = std::map<std::string, Pool, std::less<>>;
  /// The pool of such a job; null: nobody has said anything of it.
  Pools::const_iterator pool_of(std::string_view pool, std::string_view owner) const;

  Pools pools_;
  bool queues_ = false;
};

}  // namespace weft::schedulers
