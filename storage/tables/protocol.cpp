#include "storage/tables/protocol.hpp"

#include <fmt/core.h>

#include "base/rpc/versioned.hpp"
#include "storage/tables/protocol.capnp.h"

namespace weft::storage::tables {
namespace {

/// Sizes of keys, values and all of them together.
class Limits {
 public:
  Result<void> operator()(const GetRows& get) {
    for (const std::string& key : get.keys) {
      WEFT_TRY(check_key(key));
      bytes_ += key.size();
    }
    return total();
  }
  Result<void> operator()(const PutRows& put) { return within(put.writes); }
  Result<void> operator()(const StageRows& stage) { return within(stage.writes); }
  Result<void> operator()(const AppendEntries& append) {
    for (const LogEntry& entry : append.entries) {
      if (entry.kind > EntryKind::unmark) return fail(Code::corrupt, "an entry of a kind nobody knows");
      WEFT_TRY(within(entry.writes));
    }
    return {};
  }
  template <class Other>
  Result<void> operator()(const Other&) {
    return {};
  }

 private:
  Result<void> within(const std::vector<TableWrite>& writes) {
    bytes_ += bytes_of(writes);
    WEFT_TRY(check_writes(writes));
    return total();
  }
  Result<void> total() const {
    if (bytes_ <= kMostBatchBytes) return {};
    return fail(Code::invalid_argument,
                fmt::format("{} bytes of keys and values in one message, of {} at most", bytes_, kMostBatchBytes));
  }

  std::size_t bytes_ = 0;
};

}  // namespace

std::optional<TableRight> right_for(const PartitionOperation& operation) {
  if (std::holds_alternative<GetRows>(operation) || std::holds_alternative<ScanRows>(operation)) return TableRight::read;
  if (std::holds_alternative<PutRows>(operation) || std::holds_alternative<StageRows>(operation)) return TableRight::write;
  return std::nullopt;
}

rpc::Payload encode(const TableRequest& request) { return {rpc::encode_versioned<wire::TableRequest>(request), {}, {}}; }
rpc::Payload encode(const TableReply& reply) { return {rpc::encode_versioned<wire::TableReply>(reply), {}, {}}; }
rpc::Payload encode(const PartitionRequest& request) { return {rpc::encode_versioned<wire::PartitionRequest>(request), {}, {}}; }
rpc::Payload encode(const PartitionReply& reply) { return {rpc::encode_versioned<wire::PartitionReply>(reply), {}, {}}; }

Result<TableRequest> decode_table_request(const rpc::Message& message) {
  return rpc::decode_versioned<wire::TableRequest, TableRequest>(message.header.view(), "request about tables");
}
Result<TableReply> decode_table_reply(const rpc::Message& message) {
  return rpc::decode_versioned<wire::TableReply, TableReply>(message.header.view(), "reply about tables");
}
Result<PartitionRequest> decode_partition_request(const rpc::Message& message) {
  auto request = rpc::decode_versioned<wire::PartitionRequest, PartitionRequest>(message.header.view(), "request to a partition");
  if (request) WEFT_TRY(std::visit(Limits(), request->operation));
  return request;
}
Result<PartitionReply> decode_partition_reply(const rpc::Message& message) {
  return rpc::decode_versioned<wire::PartitionReply, PartitionReply>(message.header.view(), "reply of a partition");
}

#define WEFT_TABLE_MESSAGE(M)                                                                         \
  rpc::Payload encode(const M& message) { return {rpc::encode_versioned<wire::M>(message), {}, {}}; } \
  template <>                                                                                         \
  Result<M> decode(const rpc::Message& message) {                                                     \
    return rpc::decode_versioned<wire::M, M>(message.header.view(), M::kName);                        \
  }

WEFT_TABLE_MESSAGE(TableHeartbeat)
WEFT_TABLE_MESSAGE(TableOrders)
WEFT_TABLE_MESSAGE(InSyncChange)

}  // namespace weft::storage::tables
