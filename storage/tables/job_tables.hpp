// The tables of a cluster as inputs and outputs of jobs. Private to storage/files.
#pragma once

#include <memory>
#include <string>

#include "base/clock.hpp"
#include "storage/remote_tables.hpp"

namespace weft::storage::tables {

/// Connects when it is first used, and waits for `at_first` for a master that is away then; later for half a minute, or `at_first`
/// when that is longer. An empty `master` makes every use an error that says what to do. `user`: TableClientOptions::user.
std::unique_ptr<RemoteTables> job_tables(std::string master, std::string host, std::string user, Duration at_first);

}  // namespace weft::storage::tables
