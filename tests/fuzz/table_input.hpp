// Messages about tables as a peer could send them, damaged or not; used by the fuzzer and by a test with damaged messages.
#pragma once

#include <cstdint>

#include "storage/tables/protocol.hpp"

namespace weft::fuzz {

inline constexpr unsigned kTableMessages = 7;

/// Whether it was decoded.
inline bool read_table_message(unsigned kind, ByteView bytes) {
  using namespace storage::tables;
  rpc::Message message;
  message.header = Buffer::copy_of(bytes);
  switch (kind % kTableMessages) {
    case 0:
      return decode_table_request(message).has_value();
    case 1:
      return decode_table_reply(message).has_value();
    case 2:
      return decode<TableHeartbeat>(message).has_value();
    case 3:
      return decode<TableOrders>(message).has_value();
    case 4:
      return decode<InSyncChange>(message).has_value();
    case 5:
      return decode_partition_request(message).has_value();
    default:
      return decode_partition_reply(message).has_value();
  }
}

}  // namespace weft::fuzz
