// Lists of which messages have many elements, in fewer bytes than as lists of structs.
#include <memory>
#include <utility>

#include "base/codec.hpp"
#include "runtime/protocol/messages.hpp"

namespace weft::rpc {

using runtime::protocol::WrittenTable;

std::string WireForm<std::vector<shuffle::PartitionSize>>::to_wire(const Sizes& sizes) {
  Encoder out;
  for (const shuffle::PartitionSize& size : sizes) {
    out.append_varint(size.records);
    out.append_varint(size.bytes);
  }
  return std::string(as_chars(out.view()));
}

Result<std::vector<shuffle::PartitionSize>> WireForm<std::vector<shuffle::PartitionSize>>::from_wire(const Wire& bytes) {
  Sizes sizes;
  try {
    for (Decoder in(as_bytes(bytes)); !in.empty();) {
      shuffle::PartitionSize& size = sizes.emplace_back();
      size.records = in.take_varint();
      size.bytes = in.take_varint();
    }
  } catch (const CodecError& error) {
    return fail(Code::corrupt, error.what());
  }
  return sizes;
}

WireForm<WrittenTable>::Written WireForm<WrittenTable>::to_wire(const WrittenTable& written) {
  Written lists;
  lists.counts.reserve(written->size());
  lists.partitions.pieces.reserve(written->size());
  for (const shuffle::Written& some : *written) {
    lists.counts.push_back(some ? static_cast<std::uint32_t>(some->size()) + 1 : 0);
    if (some) lists.partitions.pieces.emplace_back(*some);
  }
  return lists;
}

Result<WrittenTable> WireForm<WrittenTable>::from_wire(const Wire& lists) {
  std::vector<shuffle::Written> written;
  written.reserve(lists.counts.size());
  std::size_t taken = 0;
  for (const std::uint32_t count : lists.counts) {
    shuffle::Written& some = written.emplace_back();
    if (count == 0) continue;
    if (count - 1 > lists.partitions.size() - taken) return fail(Code::corrupt, "a map output has partitions that are not there");
    const auto first = lists.partitions.begin() + static_cast<std::ptrdiff_t>(taken);
    some.emplace(first, first + (count - 1));
    taken += count - 1;
  }
  return std::make_shared<const std::vector<shuffle::Written>>(std::move(written));
}

std::size_t WireForm<WrittenTable>::bytes(const WrittenTable& written) {
  std::size_t numbers = written->size();
  for (const shuffle::Written& some : *written) numbers += some ? some->size() : 0;
  return numbers * sizeof(std::uint32_t);
}

}  // namespace weft::rpc
