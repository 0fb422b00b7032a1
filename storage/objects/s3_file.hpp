// Objects of S3 as files: read with several requests under way, and written in parts.
#pragma once

#include <memory>
#include <string>

#include "storage/objects/s3_client.hpp"
#include "storage/remote.hpp"

namespace weft::storage::objects {

/// An object as it was when `object` was made. Reads ahead what RemoteFile::will_read() announced, four parts of 2 MiB at once, and
/// twice as much each time when it is read in order without that. `client` outlives it.
std::unique_ptr<RemoteFile> open_object(S3Client& client, S3Path path, S3Object object);

/// When a new object appears.
enum class Appears {
  when_closed,
  when_published,  // receipt() is the upload that completes it
};
/// Uploads parts of 5 MiB and more, two at once, while it is written. Nothing is begun before the first bytes come; an empty object
/// can only appear when closed. `client` outlives it.
std::unique_ptr<RemoteOutput> create_object(S3Client& client, S3Path path, Appears appears);

}  // namespace weft::storage::objects
