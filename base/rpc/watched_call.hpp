// A call to one of several processes that take turns: it does not wait for one that hangs.
#pragma once

#include <chrono>

#include "base/rpc/rpc.hpp"

namespace weft::rpc {

/// A request without content that every master and worker answers at once: is it still there.
inline constexpr MessageType kPresence = 112;
/// How long a peer may leave that unanswered.
inline constexpr Duration kPresenceDeadline = std::chrono::seconds(4);

/// As call(); but when the peer does not answer questions after its presence either, it fails with deadline_exceeded soon, however
/// long the deadline is. The connection stays open.
Result<Message> watched_call(Reactor& reactor, const ConnectionPtr& connection, MessageType type, Payload payload,
                             Duration deadline, Duration presence_deadline = kPresenceDeadline);

}  // namespace weft::rpc
