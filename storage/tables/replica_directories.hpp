// The directories that replicas of partitions lie in. Private to storage/tables.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "storage/tables/types.hpp"

namespace weft::storage::tables {

/// The partitions in `tables` of the directories, all of this cluster. Clears away what copying left when it was cut short: an
/// unfinished copy goes, and what a copy was about to replace comes back. version_mismatch: a directory is of another cluster.
Result<std::map<PlaceId, std::string>> find_replicas(const std::vector<std::string>& directories, const std::string& cluster);

/// The finished copy beside `path` takes its place. What was there goes, or stays as `….damaged-N`.
Result<void> replace_replica(const std::string& path, bool keep_old);

}  // namespace weft::storage::tables
