// Everything that URLs of inputs and outputs mean: the files of the cluster, objects of S3 services, and files of HDFS.
#pragma once

#include <memory>

#include "storage/access/remote.hpp"

namespace weft::storage::files {

/// Hands every call to those whose URL it is. Also has the tables beside the cluster's files, and stops waiting for their master.
std::shared_ptr<RemoteFiles> routed_files(std::shared_ptr<RemoteFiles> cluster, std::unique_ptr<RemoteFiles> objects,
                                          std::unique_ptr<RemoteFiles> hdfs);

}  // namespace weft::storage::files
