#include "runtime/protocol/command_size.hpp"

#include "runtime/protocol/messages.hpp"

namespace weft::runtime::protocol {

CommandSize size_of(const Command& command) {
  const auto* const value = std::get_if<ActionValue>(&command);
  return {rpc::header_bytes(command), value != nullptr ? value->bytes.bytes.size() : 0};
}

}  // namespace weft::runtime::protocol
