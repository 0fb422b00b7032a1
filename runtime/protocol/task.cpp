#include "runtime/protocol/task.hpp"

#include "runtime/protocol/messages.hpp"

namespace weft::runtime::protocol {

WEFT_PROTOCOL_MESSAGE(Launches);
WEFT_PROTOCOL_MESSAGE(Events);

std::uint64_t layout() { return Messages::layout(); }

}  // namespace weft::runtime::protocol
