// A new file of HDFS, sent to one datanode while it is made.
#pragma once

#include <memory>
#include <string>

#include "storage/access/remote.hpp"
#include "storage/hdfs/client.hpp"

namespace weft::storage::hdfs {

/// Replaces what is at `path` when it is closed. Up to 8 MiB are kept in memory and sent then. A larger file is sent while it is
/// written, by one request. Bytes that were sent are kept in an unlinked file in `scratch`, so that they can be sent again to
/// another datanode, until the file is larger than 1 GiB. append() waits while 16 MiB are not sent yet. `client` outlives it.
std::unique_ptr<RemoteOutput> create_file(HdfsClient& client, HdfsPath path, std::string scratch);

}  // namespace weft::storage::hdfs
