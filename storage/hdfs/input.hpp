// A file of HDFS, read with several requests under way.
#pragma once

#include <memory>

#include "storage/access/remote.hpp"
#include "storage/hdfs/client.hpp"

namespace weft::storage::hdfs {

FileVersion version_of(const HdfsStatus& status);

/// The file that was `listed`: one that was replaced or written to meanwhile is the error of check_same(), at the latest when the
/// end of what was announced is read. `client` outlives it.
std::unique_ptr<RemoteFile> open_file(HdfsClient& client, HdfsPath path, const FileVersion& listed);

}  // namespace weft::storage::hdfs
