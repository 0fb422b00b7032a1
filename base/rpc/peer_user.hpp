// Which user of this machine has the other end of a connection over loopback.
#pragma once

#include <optional>

#include <sys/types.h>

#include "base/rpc/socket.hpp"

namespace weft::rpc {

/// Of a connected TCP socket whose peer is on loopback: the user whose process has made the peer's socket, as the kernel says.
/// Nothing when it does not know (the peer has closed its socket, or is in another network namespace). Does not block.
std::optional<uid_t> user_of_peer(int fd);

enum class Side { accepted, dialled };
/// Whether that user may talk to this process: its own user and root. So root's process trusts root's only: a worker of root that
/// dialled another user's process, which took its master's port, would run that user's programs as root. A peer that is not known
/// is refused by the side that accepted, because it could give orders; the side that dialled takes it, because a peer behind a
/// forwarded port looks like that.
bool may_talk(std::optional<uid_t> user, Side side);

/// 127.0.0.0/8, ::1.
bool is_loopback(const Address& address);
/// The socket is connected to this machine's loopback.
bool is_over_loopback(int fd);

}  // namespace weft::rpc
