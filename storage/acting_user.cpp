#include "storage/acting_user.hpp"

#include <chrono>

#include "base/rpc/versioned.hpp"
#include "storage/acting_user.capnp.h"

namespace weft::storage {

rpc::Payload encode(const ActFor& request) { return rpc::versioned_payload<wire::ActFor>(request); }
rpc::Payload encode(const ActedFor& reply) { return rpc::versioned_payload<wire::ActedFor>(reply); }
Result<ActFor> decode_act_for(const rpc::Message& message) {
  return rpc::decode_versioned<wire::ActFor, ActFor>(message.header.view(), "statement of a user", message.bulk.view());
}
Result<ActedFor> decode_acted_for(const rpc::Message& message) {
  return rpc::decode_versioned<wire::ActedFor, ActedFor>(message.header.view(), "answer about a user", message.bulk.view());
}

void act_for(rpc::Connection& master, const std::string& user) {
  master.request(kActFor, encode(ActFor{user}), std::chrono::seconds(10), [](const Result<rpc::Message>&) {});
}

}  // namespace weft::storage
