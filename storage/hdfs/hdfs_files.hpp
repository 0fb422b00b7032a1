// Files of HDFS as inputs and outputs of jobs: "hdfs://host/path".
#pragma once

#include <memory>
#include <string>

#include "storage/access/remote.hpp"
#include "storage/hdfs/settings.hpp"
#include "storage/http/http_client.hpp"

namespace weft::storage::hdfs {

/// The files of every HDFS that URLs name. Reads the environment, and connects, when it is first used. `scratch` is the directory
/// for temporary files; empty: $TMPDIR, or /tmp.
std::unique_ptr<ForeignFiles> hdfs_files(std::string scratch = {});
std::unique_ptr<ForeignFiles> hdfs_files(HdfsSettings settings, http::HttpOptions options, std::string scratch = {});

}  // namespace weft::storage::hdfs
