#include "storage/files/protocol.hpp"

#include "base/rpc/versioned.hpp"
#include "storage/files/protocol.capnp.h"

namespace weft::storage::files {

rpc::Payload encode(const FileRequest& request) { return {rpc::encode_versioned<wire::FileRequest>(request), {}, {}}; }
rpc::Payload encode(const FileReply& reply) { return {rpc::encode_versioned<wire::FileReply>(reply), {}, {}}; }

Result<FileRequest> decode_file_request(const rpc::Message& message) {
  return rpc::decode_versioned<wire::FileRequest, FileRequest>(message.header.view(), "file request");
}
Result<FileReply> decode_file_reply(const rpc::Message& message) {
  return rpc::decode_versioned<wire::FileReply, FileReply>(message.header.view(), "file reply");
}

}  // namespace weft::storage::files
