#include "shuffle/segment/partition_sizes.hpp"

#include <string>

namespace weft::shuffle {

Encoder pack(const std::vector<PartitionSize>& sizes) {
  Encoder out;
  if (sizes.empty()) return out;
  out.append_varint(sizes.size());
  for (const PartitionSize& size : sizes) {
    out.append_varint(size.records);
    out.append_varint(size.bytes);
  }
  return out;
}

Result<std::vector<PartitionSize>> unpack_sizes(ByteView bytes) {
  std::vector<PartitionSize> sizes;
  if (bytes.empty()) return sizes;
  try {
    Decoder in(bytes);
    const std::size_t count = in.take_count();
    if (count > in.remaining() / 2) return fail(Code::corrupt, "partition sizes are cut short");
    sizes.resize(count);
    for (PartitionSize& size : sizes) {
      size.records = in.take_varint();
      size.bytes = in.take_varint();
    }
    if (!in.empty()) return fail(Code::corrupt, std::to_string(in.remaining()) + " bytes too many behind partition sizes");
  } catch (const CodecError&) {
    return fail(Code::corrupt, "partition sizes are cut short");
  }
  return sizes;
}

}  // namespace weft::shuffle
