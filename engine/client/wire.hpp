// Small pieces of the Cap'n Proto forms of client messages. For protocol*.cpp only.
#pragma once

#include <string>
#include <vector>

#include "base/hash.hpp"
#include "base/rpc/capnp.hpp"
#include "engine/client/protocol.capnp.h"

namespace weft::client {

inline capnp::Text::Reader text(const std::string& value) { return {value.c_str(), value.size()}; }
inline std::string string(capnp::Text::Reader value) { return std::string(rpc::text_view(value)); }
inline unsigned count(std::size_t items) { return static_cast<unsigned>(items); }

inline void write(wire::Hash::Builder out, const Hash128& hash) { out.setHigh(hash.high), out.setLow(hash.low); }
inline Hash128 read(wire::Hash::Reader in) { return {in.getHigh(), in.getLow()}; }

inline rpc::Payload payload(capnp::MessageBuilder& message) { return {rpc::flatten(message), {}, {}}; }
inline rpc::Payload payload(capnp::MessageBuilder& message, SharedBytes bytes) {
  rpc::Payload result = payload(message);
  if (!bytes.bytes.empty()) result.bulk.push_back(std::move(bytes));
  return result;
}

/// Cuts consecutive pieces off a message's bulk bytes.
class BulkPieces {
 public:
  explicit BulkPieces(ByteView bulk) : rest_(bulk) {}
  Result<Buffer> take(std::uint64_t bytes) {
    if (bytes > rest_.size()) return fail(Code::corrupt, "the message announces more bulk bytes than follow it");
    Buffer piece = Buffer::copy_of(rest_.first(bytes));
    rest_ = rest_.subspan(bytes);
    return piece;
  }

 private:
  ByteView rest_;
};

}  // namespace weft::client
