// Objects of an S3 service as inputs and outputs of jobs: "s3://bucket/key".
#pragma once

#include <memory>

#include "storage/access/remote.hpp"
#include "storage/objects/s3_client.hpp"

namespace weft::storage::objects {

/// The objects of one service. "/" separates names in keys, as in paths. A directory exists when an object is below it. An object
/// whose key ends with "/" only marks a directory. Any thread.
class S3Files : public ForeignFiles, public RemotePublisher {};

/// Reads the environment, and connects, when it is first used.
std::unique_ptr<S3Files> s3_files();
std::unique_ptr<S3Files> s3_files(S3Settings settings, http::HttpOptions options);

}  // namespace weft::storage::objects
