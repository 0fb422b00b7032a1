// The files that URLs of inputs and outputs name: those of the cluster and those of the stores that are not the cluster's.
#pragma once

#include <memory>
#include <string>

#include "storage/access/remote.hpp"

namespace weft::storage::files {

/// Passes each call to the store to which its path belongs. Also has the tables beside the cluster's files, and stops waiting for
/// their master. `scratch` is as for ForeignStores.
std::shared_ptr<RemoteFiles> routed_files(std::shared_ptr<RemoteFiles> cluster, const std::string& scratch);

}  // namespace weft::storage::files
