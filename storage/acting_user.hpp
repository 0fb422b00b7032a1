// For whom a process asks a master. Where certificates say who a user is, only what workers and masters say here counts: they act
// for users. Elsewhere it is what everybody says of himself (docs/security.md).
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::storage {

/// Request, client to master: ActFor -> ActedFor. All requests that follow on the connection are made for that user. A master of an
/// earlier release refuses it, and asks nobody for rights.
inline constexpr rpc::MessageType kActFor = 504;

/// No name of a user is longer.
inline constexpr std::size_t kMostUserName = 256;

struct ActFor {
  std::string user;  // empty: for the one that it acts for already
};
/// As whom the master sees the connection.
struct ActedFor {
  std::string user;            // empty: a process of the cluster, or somebody of whom nothing is known
  bool administrator = false;  // may do all
};

rpc::Payload encode(const ActFor& request);
rpc::Payload encode(const ActedFor& reply);
/// corrupt when the message is none.
Result<ActFor> decode_act_for(const rpc::Message& message);
Result<ActedFor> decode_acted_for(const rpc::Message& message);

/// First on a connection: all that follows is for this user. Nobody waits for the answer. On the reactor's thread.
void act_for(rpc::Connection& master, const std::string& user);

}  // namespace weft::storage
