// Between the structs that several messages share and their Cap'n Proto forms. For .cpp files of this folder only.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/rpc/payload.hpp"
#include "runtime/protocol/task.capnp.h"
#include "runtime/protocol/task.hpp"
#include "shuffle/segment/partition_sizes.hpp"

namespace weft::protocol {

using rpc::BulkReader;
using rpc::payload;
using rpc::string;
using rpc::text;

void write(wire::Attempt::Builder out, const AttemptId& attempt);
AttemptId read(wire::Attempt::Reader in);
void write(wire::Launch::Builder out, const Launch& launch);
Launch read(wire::Launch::Reader in);

inline void write(wire::MapOutput::Builder out, const shuffle::MapOutput& output) {
  out.setMap(output.map), out.setAttempt(output.attempt), out.setNode(output.node.value());
}
inline shuffle::MapOutput read(wire::MapOutput::Reader in) { return {in.getMap(), in.getAttempt(), NodeId(in.getNode())}; }

inline void write_text(capnp::List<capnp::Text>::Builder out, const std::vector<std::string>& texts) {
  for (unsigned i = 0; i < out.size(); ++i) out.set(i, text(texts[i]));
}

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

}  // namespace weft::protocol
