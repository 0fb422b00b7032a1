// How long commands are in a message, for a sender that must not make it too long.
#pragma once

#include <cstddef>

#include "runtime/protocol/worker.hpp"

namespace weft::runtime::protocol {

struct CommandSize {
  std::size_t header = 0, bulk = 0;  // bytes
};
/// About what the command adds to the header of a message, and what it adds to its bulk.
CommandSize size_of(const Command& command);

}  // namespace weft::runtime::protocol
