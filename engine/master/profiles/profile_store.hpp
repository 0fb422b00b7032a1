// Keeps profiles after the end of the master. An interface, so that masters inside of job programs link no database;
// profile_database.hpp has the implementation of `weft master`.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace weft::master {

using ProfileRecords = std::vector<std::pair<std::string, std::string>>;

/// Records by key.
class ProfileStore {
 public:
  /// Writes everything that was put, and then returns.
  virtual ~ProfileStore() = default;
  /// Writes these soon, in order, on its own thread; an absent value erases its record. Each is written whole or not at all, and
  /// then survives the end of the process. A store that cannot be written says so in the log, once, and stays as it is: jobs do not
  /// depend on it.
  virtual void put(std::map<std::string, std::optional<std::string>> records) = 0;
};

/// Opens a store and gives its records to `restore`. If the store is damaged or of another version, or `restore` refuses its
/// records as such, it is renamed, with a line in the log, and a new one begins. Null, with a line in the log: it cannot be opened
/// for another reason (the disk is full), stays as it is, and profiles are kept in memory. unavailable: another master has it.
using ProfileStoreFactory =
    std::function<Result<std::unique_ptr<ProfileStore>>(const std::function<Result<void>(ProfileRecords)>& restore)>;

}  // namespace weft::master
