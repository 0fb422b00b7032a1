// One file of HDFS: read with several requests under way, or written to one datanode while it is made.
#pragma once

#include <memory>
#include <string>

#include "storage/access/remote.hpp"
#include "storage/hdfs/client.hpp"

namespace weft::storage::hdfs {

/// What there is to remember of it.
FileVersion version_of(const HdfsStatus& status);
/// The file that was `listed`: one that was replaced or written to meanwhile is the error of check_same(), at the latest when the
/// end of what was announced is read. `client` outlives it.
std::unique_ptr<RemoteFile> open_file(HdfsClient& client, HdfsPath path, const FileVersion& listed);

/// A new file, which replaces what is at `path` when it is closed. Up to 8 MiB it is in memory and sent when it is closed. A larger
/// one is sent while it is written, by one request; what was sent is kept in an unlinked file in `scratch`, so that it can be sent
/// again to another datanode, until it is larger than 1 GiB. append() waits while 16 MiB are not sent yet. `client` outlives it.
std::unique_ptr<RemoteOutput> create_file(HdfsClient& client, HdfsPath path, std::string scratch);

}  // namespace weft::storage::hdfs
