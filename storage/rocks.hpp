// What all databases of a cluster have in common (namespace, tables, profiles): the meaning of RocksDB's errors, and the end of one
// that failed. For .cpp files that use RocksDB.
#pragma once

#include <memory>

#include <rocksdb/db.h>

#include "base/result.hpp"

namespace weft::storage {

/// already_exists: another process has the database open. resource_exhausted: its disk is full. corrupt: it is damaged, or its disk
/// does not give it. io: anything else; that is no damage (too many open files, no permission).
Code code_of(const rocksdb::Status& status);

/// RocksDB aborts the process when it closes a log that could not be written. A database that failed stays open until the process
/// ends instead; what is durable is as durable without that.
void keep_open(std::unique_ptr<rocksdb::DB> failed);

}  // namespace weft::storage
