// How the messages of this folder are written. For its .cpp files only.
#pragma once

#include "base/rpc/derived.hpp"
#include "runtime/protocol/executor.hpp"
#include "runtime/protocol/task.hpp"
#include "runtime/protocol/worker.hpp"
#include "shuffle/store/mode.hpp"
#include "storage/files/protocol.hpp"
#include "storage/tables/protocol.hpp"

/// A job has thousands of these, most of them small: two varints.
template <>
struct weft::Codec<weft::shuffle::PartitionSize> {
  static void encode(const shuffle::PartitionSize& size, Encoder& out) {
    out.append_varint(size.records);
    out.append_varint(size.bytes);
  }
  static shuffle::PartitionSize decode(Decoder& in) {
    shuffle::PartitionSize size;
    size.records = in.take_varint();
    size.bytes = in.take_varint();
    return size;
  }
  static constexpr std::uint64_t kLayout = 1;  // to be counted up when the two functions change
};

namespace weft::runtime::protocol {

/// All messages, also those about storage, which the hello speaks for too. One that is missing here cannot be encoded here.
using Messages = rpc::MessageList<Launches, Events, Register, Registered, Heartbeat, CapacityTexts, Leaving, Remains, Dying,
                                  Commands, BinaryRequest, BinaryChunk, LogRequest, ReplicaEnded, PrefetchReport, EventsKept,
                                  DriverEnded, FileQuery, FileAnswer, ExecutorSetup, Value, Stop, Forget, ChunkTraffic, Commit,
                                  ReadRequest, shuffle::PartContents, storage::files::StorageSite, storage::files::StorageJoin,
                                  storage::files::ChunkReport, storage::files::ChunkUpdate, storage::files::ChunkCommands,
                                  storage::tables::TableHeartbeat, storage::tables::TableOrders, storage::tables::InSyncChange>;

template <class M>
rpc::Payload encode(M message) {
  static_assert(Messages::kHas<M>);
  return rpc::encode_derived(std::move(message));
}
template <class M>
Result<M> decode(const rpc::Message& message) {
  return rpc::decode_derived<M>(message);
}

/// Defines encode() and decode() of a message, once.
#define WEFT_PROTOCOL_MESSAGE(M)           \
  template rpc::Payload encode(M message); \
  template Result<M> decode(const rpc::Message& message)

}  // namespace weft::runtime::protocol
