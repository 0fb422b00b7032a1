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

#define WEFT_CHUNK_MESSAGE(M)                                                                         \
  rpc::Payload encode(const M& message) { return {rpc::encode_versioned<wire::M>(message), {}, {}}; } \
  template <>                                                                                         \
  Result<M> decode(const rpc::Message& message, unsigned* skipped) {                                  \
    return rpc::decode_versioned<wire::M, M>(message.header.view(), M::kName, {}, skipped);           \
  }

WEFT_CHUNK_MESSAGE(StorageSite)
WEFT_CHUNK_MESSAGE(StorageJoin)
WEFT_CHUNK_MESSAGE(ChunkReport)
WEFT_CHUNK_MESSAGE(ChunkUpdate)
WEFT_CHUNK_MESSAGE(ChunkCommands)

}  // namespace weft::storage::files
