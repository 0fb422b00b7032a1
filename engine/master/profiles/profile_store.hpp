// Where profiles outlive the master. An interface, so that masters inside of job programs link no database; that of `weft master`
// is in profile_database.hpp.
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
  /// Writes what was put before it returns.
  virtual ~ProfileStore() = default;
  /// Writes these soon, in order, on a thread of its own; an absent value erases its record. Each is written whole or not at all.
  /// What was written survives the end of the process. A store that cannot be written says so in the log, once, and stays as it
  /// is: jobs do not depend on it.
  virtual void put(std::map<std::string, std::optional<std::string>> records) = 0;
};

/// Opens a store and gives its records to `restore`. One that is damaged or of another version, or whose records `restore` refuses
/// as such, is set aside under another name, with a line in the log, and begun again. Null, with a line in the log: it cannot be
/// opened for another reason (the disk is full), stays as it is, and profiles are kept in memory. unavailable: another master has
/// it.
using ProfileStoreFactory =
    std::function<Result<std::unique_ptr<ProfileStore>>(const std::function<Result<void>(ProfileRecords)>& restore)>;

}  // namespace weft::master
