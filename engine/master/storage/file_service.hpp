// The namespace of a master with a data directory: makes changes durable, then answers clients and commands workers.
#pragma once

#include <string>

#include "engine/master/storage/storage_service.hpp"
#include "storage/namespace/types.hpp"

namespace weft::master {

struct FileServiceOptions {
  std::string data_directory;  // the namespace is in its directory `namespace`
  storage::NamespaceOptions options;
};

/// Opens the namespace when it is called. Errors: as NamespaceStore::open() and load().
StorageFactory file_service(FileServiceOptions options);

}  // namespace weft::master
