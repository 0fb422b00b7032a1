// Between the structs that several messages share and their Cap'n Proto forms. For .cpp files of this folder only.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/rpc/capnp.hpp"
#include "runtime/protocol/task.capnp.h"
#include "runtime/protocol/task.hpp"

namespace weft::protocol {

void write(wire::Attempt::Builder out, const AttemptId& attempt);
AttemptId read(wire::Attempt::Reader in);
void write(wire::Launch::Builder out, const Launch& launch);
Launch read(wire::Launch::Reader in);

inline void write(wire::MapOutput::Builder out, const shuffle::MapOutput& output) {
  out.setMap(output.map), out.setAttempt(output.attempt), out.setNode(output.node.value());
}
inline shuffle::MapOutput read(wire::MapOutput::Reader in) { return {in.getMap(), in.getAttempt(), NodeId(in.getNode())}; }

inline void write(wire::PartitionSize::Builder out, const shuffle::PartitionSize& size) {
  out.setBytes(size.bytes), out.setRecords(size.records);
}
inline shuffle::PartitionSize read(wire::PartitionSize::Reader in) { return {in.getBytes(), in.getRecords()}; }

inline void write_text(capnp::List<capnp::Text>::Builder out, const std::vector<std::string>& texts) {
  for (unsigned i = 0; i < out.size(); ++i) out.set(i, capnp::Text::Reader(texts[i].c_str(), texts[i].size()));
}
inline capnp::Text::Reader text(const std::string& value) { return {value.c_str(), value.size()}; }
inline std::string string(capnp::Text::Reader value) { return std::string(rpc::text_view(value)); }

/// Fills a list field (already initialised with items.size() entries) by write().
template <class List, class Items>
void write_list(List out, const Items& items) {
  unsigned i = 0;
  for (const auto& item : items) write(out[i++], item);
}
template <class List>
auto read_list(List in) {
  std::vector<decltype(read(in[0]))> items;
  items.reserve(std::min<std::size_t>(in.size(), 1u << 20));
  for (auto item : in) items.push_back(read(item));
  return items;
}

/// Takes consecutive pieces of a message's bulk bytes; corrupt when it has fewer.
class BulkReader {
 public:
  explicit BulkReader(const Buffer& bulk) : rest_(bulk.view()) {}
  Result<Buffer> take(std::uint64_t bytes) {
    if (bytes > rest_.size()) return fail(Code::corrupt, "the message announces more bulk bytes than follow it");
    Buffer piece = Buffer::copy_of(rest_.first(bytes));
    rest_ = rest_.subspan(bytes);
    return piece;
  }

 private:
  ByteView rest_;
};

}  // namespace weft::protocol
