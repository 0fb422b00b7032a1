#include "engine/master/replication/protocol.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/rpc/versioned.hpp"
#include "engine/master/replication/replication.capnp.h"

namespace weft::master {

namespace {

/// Pulled, without the entries' bytes.
struct Entry {
  Store store{};
  std::uint64_t bytes = 0;
  std::string user;
};
struct PulledHeader {
  std::vector<Entry> entries;
  bool in_sync = false;
};

}  // namespace

#define WEFT_REPLICATION_MESSAGE(M, what)                                                        \
  rpc::Payload to_payload(const M& message) { return rpc::versioned_payload<wire::M>(message); } \
  template <>                                                                                    \
  Result<M> from_message(const rpc::Message& message) {                                          \
    return rpc::decode_versioned<wire::M, M>(message.header.view(), what);                       \
  }

WEFT_REPLICATION_MESSAGE(Follow, "request to follow")
WEFT_REPLICATION_MESSAGE(Following, "answer to a follower")
WEFT_REPLICATION_MESSAGE(Pull, "request for changes")

std::string mark_of(const Following& session) { return fmt::format("{}.{}", session.epoch, session.session); }

rpc::Payload to_payload(Pulled message) {
  PulledHeader header{{}, message.in_sync};
  for (const LogEntry& entry : message.entries) header.entries.push_back({entry.store, entry.bytes.bytes.size(), entry.user});
  rpc::Payload payload = rpc::versioned_payload<wire::Pulled>(header);
  for (LogEntry& entry : message.entries)
    if (!entry.bytes.bytes.empty()) payload.bulk.push_back(std::move(entry.bytes));
  return payload;
}

template <>
Result<Pulled> from_message(const rpc::Message& message) {
  WEFT_ASSIGN(const auto header, (rpc::decode_versioned<wire::Pulled, PulledHeader>(message.header.view(), "changes")));
  rpc::BulkReader bulk(message.bulk.view());
  Pulled pulled{{}, header.in_sync};
  for (const Entry& entry : header.entries) {
    WEFT_ASSIGN(Buffer bytes, bulk.take(entry.bytes));
    pulled.entries.push_back({entry.store, SharedBytes(std::move(bytes)), entry.user});
  }
  return pulled;
}

}  // namespace weft::master
