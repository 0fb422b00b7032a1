// Small pieces of the Cap'n Proto forms of client messages. For protocol*.cpp only.
#pragma once

#include "base/hash.hpp"
#include "base/rpc/payload.hpp"
#include "engine/client/protocol.capnp.h"

namespace weft::client {

using rpc::payload;
using rpc::string;
using rpc::text;

inline unsigned count(std::size_t items) { return static_cast<unsigned>(items); }

inline void write(wire::Hash::Builder out, const Hash128& hash) { out.setHigh(hash.high), out.setLow(hash.low); }
inline Hash128 read(wire::Hash::Reader in) { return {in.getHigh(), in.getLow()}; }

}  // namespace weft::client
