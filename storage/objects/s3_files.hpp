// Objects of an S3 service as inputs and outputs of jobs: "s3://bucket/key".
#pragma once

#include <memory>

#include "storage/objects/s3_client.hpp"
#include "storage/remote.hpp"

namespace weft::storage::objects {

/// What an object or a prefix is, for people.
struct S3Entry {
  std::string url;
  bool directory = false;  // a prefix of keys
  std::uint64_t bytes = 0;
  std::string modified{};
};

/// The objects of one service. "/" in keys parts names, as in paths; a directory is there when an object is below it, and an object
/// whose key ends with "/" is none. Any thread.
class S3Files : public RemoteFiles, public RemotePublisher {
 public:
  /// What is in a directory, or the object itself; of patterns all that match. not_found when there is nothing.
  virtual Result<std::vector<S3Entry>> entries(const std::string& url) = 0;
};

/// Reads the environment, and connects, when it is first used.
std::unique_ptr<S3Files> s3_files();
std::unique_ptr<S3Files> s3_files(S3Settings settings, HttpOptions options);

}  // namespace weft::storage::objects
