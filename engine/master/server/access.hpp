// Which peers may send which messages to a master, where connections are encrypted and every peer has shown a certificate.
#pragma once

#include <string>

#include "base/rpc/rpc.hpp"

namespace weft::master {

/// invalid_argument, with the role that is needed: the peer has another one. Peers without certificates may send everything: it was
/// decided elsewhere that they may connect (rpc::Security).
Result<void> may_send(const rpc::Connection& peer, rpc::MessageType type);

/// The user whom the peer's certificate names: all that it makes is his, whoever the message says. Empty where that says it:
/// masters and workers act for users, and peers without certificates are believed.
std::string user_of(const rpc::Connection& peer);

}  // namespace weft::master
