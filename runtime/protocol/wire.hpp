// Small pieces of the Cap'n Proto forms of executor messages. For executor.cpp only.
#pragma once

#include <algorithm>
#include <vector>

#include "base/rpc/payload.hpp"
#include "runtime/protocol/task.capnp.h"
#include "runtime/protocol/task.hpp"
#include "shuffle/segment/partition_sizes.hpp"

namespace weft::runtime::protocol {

using rpc::payload;
using rpc::string;
using rpc::text;

inline void write(wire::Attempt::Builder out, const AttemptId& attempt) {
  out.setJob(attempt.task.job.value());
  out.setStage(attempt.task.stage.value());
  out.setIndex(attempt.task.index);
  out.setAttempt(attempt.attempt);
}
inline AttemptId read(wire::Attempt::Reader in) {
  return {TaskId{JobId(in.getJob()), StageId(in.getStage()), in.getIndex()}, in.getAttempt()};
}
inline void write(wire::MapOutput::Builder out, const shuffle::MapOutput& output) {
  out.setMap(output.map), out.setAttempt(output.attempt), out.setNode(output.node.value());
}
inline shuffle::MapOutput read(wire::MapOutput::Reader in) { return {in.getMap(), in.getAttempt(), NodeId(in.getNode())}; }

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

}  // namespace weft::runtime::protocol
