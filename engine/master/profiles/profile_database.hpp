// The profile store of a standing master, with RocksDB inside: the program `weft` only.
#pragma once

#include <string>

#include "engine/master/profiles/profile_store.hpp"

namespace weft::master {

/// In this directory, which is made where there is none.
ProfileStoreFactory profile_database(std::string directory);

}  // namespace weft::master
