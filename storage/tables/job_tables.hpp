// The tables of a cluster as inputs and outputs of jobs. Private to storage/files.
#pragma once

#include <memory>
#include <string>

#include "storage/remote_tables.hpp"

namespace weft::storage::tables {

/// Connects when it is first used. An empty `master` makes every use an error that says what to do.
std::unique_ptr<RemoteTables> job_tables(std::string master, std::string host);

}  // namespace weft::storage::tables
