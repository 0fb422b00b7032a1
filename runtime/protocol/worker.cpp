#include "runtime/protocol/worker.hpp"

#include "runtime/protocol/messages.hpp"

namespace weft::runtime::protocol {

Result<void> check(const Heartbeat& heartbeat) {
  if (heartbeat.clock < Duration(0)) return fail(Code::corrupt, "a heartbeat from before 1970");
  return {};
}

WEFT_PROTOCOL_MESSAGE(Register);
WEFT_PROTOCOL_MESSAGE(Registered);
WEFT_PROTOCOL_MESSAGE(Heartbeat);
WEFT_PROTOCOL_MESSAGE(Dying);
WEFT_PROTOCOL_MESSAGE(Commands);
WEFT_PROTOCOL_MESSAGE(BinaryRequest);
WEFT_PROTOCOL_MESSAGE(BinaryChunk);
WEFT_PROTOCOL_MESSAGE(LogRequest);
WEFT_PROTOCOL_MESSAGE(ReplicaEnded);
WEFT_PROTOCOL_MESSAGE(PrefetchReport);

}  // namespace weft::runtime::protocol
