// What the codecs of all protocols need between structs, Cap'n Proto messages and the payloads that carry them.
// For .cpp files only, like every generated schema header.
#pragma once

#include <string>
#include <utility>

#include "base/rpc/bulk.hpp"
#include "base/rpc/capnp.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::rpc {

inline capnp::Text::Reader text(const std::string& value) { return {value.c_str(), value.size()}; }
inline std::string string(capnp::Text::Reader value) { return std::string(text_view(value)); }

inline Payload payload(capnp::MessageBuilder& message) { return {flatten(message), {}, {}}; }
/// With bulk bytes behind it; none when they are empty.
inline Payload payload(capnp::MessageBuilder& message, SharedBytes bytes) {
  Payload result = payload(message);
  if (!bytes.bytes.empty()) result.bulk.push_back(std::move(bytes));
  return result;
}

}  // namespace weft::rpc
