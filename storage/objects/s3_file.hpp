// Objects of S3 as files: read with several requests under way, and written in parts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "storage/access/remote.hpp"
#include "storage/objects/s3_client.hpp"

namespace weft::storage::objects {

/// An object as it was when `object` was made. Reads ahead what RemoteFile::will_read() announced, up to eight parts of 2 MiB, four
/// of them under way at once, and twice as much each time when it is read in order without that. `client` outlives it.
std::unique_ptr<RemoteFile> open_object(S3Client& client, S3Path path, S3Object object);

/// When a new object appears.
enum class Appears {
  when_closed,
  when_published,  // receipt() is the upload that completes it
};
/// What a receipt says.
struct UploadReceipt {
  std::string id;    // of the upload
  std::string name;  // that stays with the object (S3Object::upload)
};
UploadReceipt parse_receipt(const std::string& receipt);
/// The size of part number 1, 2, … of an object that is being written: 10,000 parts suffice for 2 TiB, and none is larger than
/// 640 MiB.
std::uint64_t part_bytes(std::uint32_t number);
/// Uploads parts of 5 MiB and more, two at once, while it is written. Nothing is begun before the first bytes come; an empty object
/// can only appear when closed. `client` outlives it.
std::unique_ptr<RemoteOutput> create_object(S3Client& client, S3Path path, Appears appears);

}  // namespace weft::storage::objects
