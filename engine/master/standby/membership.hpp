// Which group of masters a data directory belongs to: the file `member.json` in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace weft::master {

struct Membership {
  std::string member;       // id of this data directory
  std::string cluster;      // empty: of none yet
  std::uint64_t epoch = 0;  // the highest that it knows of
  bool copying = false;     // what else is in the directory is a copy of a leader's, which may not be complete
  bool fresh = false;       // it has begun the cluster with nothing, and its journal and namespace may not have been made yet
  std::string files{};      // id that the namespace in the directory has; empty: it was not known
  std::string mark{};       // of the session in which it was copied last (mark_of()); empty: none, or an earlier release wrote this
};

/// Nothing where there is no such file. Errors name the file.
Result<std::optional<Membership>> read_membership(const std::string& data_directory);
/// Durably.
Result<void> write_membership(const std::string& data_directory, const Membership& membership);
/// For a master that is alone. Refused when the directory belongs to a group: another master may lead it.
Result<void> check_alone(const std::string& data_directory);

}  // namespace weft::master
