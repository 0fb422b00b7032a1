#include "storage/tables/protocol.hpp"

#include <fmt/core.h>

namespace weft::storage {
namespace {

template <class T>
Result<T> decode_as(const rpc::Message& message, const char* what) {
  try {
    Decoder in(message.header.view());
    T value = Codec<T>::decode(in);
    if (in.empty()) return value;
  } catch (const CodecError&) {
  }
  return fail(Code::corrupt, fmt::format("a malformed {}", what));
}

std::size_t bytes_of(const std::vector<TableWrite>& writes) {
  std::size_t bytes = 0;
  for (const TableWrite& write : writes) bytes += write.key.size() + (write.value ? write.value->size() : 0);
  return bytes;
}

}  // namespace

Result<TableRequest> decode_table_request(const rpc::Message& message) {
  return decode_as<TableRequest>(message, "request about tables");
}
Result<TableReply> decode_table_reply(const rpc::Message& message) { return decode_as<TableReply>(message, "reply about tables"); }
Result<TableBeat> decode_table_beat(const rpc::Message& message) { return decode_as<TableBeat>(message, "report of tables"); }
Result<TableOrders> decode_table_orders(const rpc::Message& message) {
  return decode_as<TableOrders>(message, "order about tables");
}
Result<InSyncChange> decode_in_sync_change(const rpc::Message& message) {
  return decode_as<InSyncChange>(message, "change of replicas");
}
Result<PartitionReply> decode_partition_reply(const rpc::Message& message) {
  return decode_as<PartitionReply>(message, "reply of a partition");
}

Result<PartitionRequest> decode_partition_request(const rpc::Message& message) {
  WEFT_ASSIGN(PartitionRequest request, decode_as<PartitionRequest>(message, "request to a partition"));
  WEFT_TRY(check_writes(request.writes));
  std::size_t bytes = bytes_of(request.writes);
  for (const std::string& key : request.keys) bytes += key.size();
  for (const LogEntry& entry : request.entries) bytes += bytes_of(entry.writes);
  if (bytes > kMostBatchBytes)
    return fail(Code::invalid_argument,
                fmt::format("{} bytes of keys and values in one message, of {} at most", bytes, kMostBatchBytes));
  for (const std::string& key : request.keys)
    if (key.empty() || key.size() > kLargestKeyBytes)
      return fail(Code::invalid_argument, fmt::format("keys of tables have 1 to {} bytes, not {}", kLargestKeyBytes, key.size()));
  for (const LogEntry& entry : request.entries) {
    WEFT_TRY(check_writes(entry.writes));
    if (entry.kind > EntryKind::unmark) return fail(Code::corrupt, "an entry of a kind nobody knows");
  }
  return request;
}

}  // namespace weft::storage
