#include "runtime/protocol/executor.hpp"

#include <algorithm>
#include <utility>

#include "runtime/protocol/messages.hpp"
#include "runtime/protocol/protocol.capnp.h"

namespace weft::runtime::protocol {

WEFT_PROTOCOL_MESSAGE(ExecutorSetup);
WEFT_PROTOCOL_MESSAGE(Value);
WEFT_PROTOCOL_MESSAGE(Stop);
WEFT_PROTOCOL_MESSAGE(Forget);
WEFT_PROTOCOL_MESSAGE(ChunkTraffic);
WEFT_PROTOCOL_MESSAGE(Commit);
WEFT_PROTOCOL_MESSAGE(ReadRequest);

template <>
rpc::Payload encode(shuffle::PartContents part) {
  return rpc::versioned_payload<wire::PartContents>(part);
}
template <>
Result<shuffle::PartContents> decode(const rpc::Message& message, unsigned*) {
  return decode_as<wire::PartContents, shuffle::PartContents>(message, nullptr);
}

rpc::Payload encode_part(shuffle::ReadPart part) {
  rpc::Payload payload = encode(std::move(static_cast<shuffle::PartContents&>(part)));
  payload.fds = std::move(part.descriptors);
  return payload;
}

Result<shuffle::ReadPart> decode_part(rpc::Message message) {
  WEFT_ASSIGN(shuffle::PartContents contents, decode<shuffle::PartContents>(message));
  std::size_t descriptors = 0;
  for (const shuffle::BlockSource& source : contents.sources) {
    if (source.maps.empty()) return fail(Code::corrupt, "a part of a partition has blocks of no map");
    descriptors += source.kind == shuffle::BlockSource::Kind::known ? 0 : 1;
  }
  if (descriptors != message.fds.size()) return fail(Code::corrupt, "the descriptors of a part do not fit its contents");
  return shuffle::ReadPart{std::move(contents), std::move(message.fds)};
}

}  // namespace weft::runtime::protocol
