#include "storage/namespace/copies.hpp"

#include <limits>

namespace weft::storage {
namespace {

constexpr std::uint32_t kVerifiedAtOnce = 2;        // chunks per node
constexpr Time kMayBeLate = std::chrono::hours(1);  // of a copy of the longest chunk to a slow disk

}  // namespace

bool Copies::start(const ChunkInfo& chunk, NodeId from, NodeId to, Time deadline, bool moves) {
  if (!copies_.emplace(Key(chunk.id, to), CopyUnderWay{from, to, chunk.length, deadline, moves}).second) return false;
  Node& target = nodes_.at(to);
  ++nodes_.at(from).sending;
  ++target.receiving;
  target.expect(chunk.length);
  bytes_ += chunk.length;
  if (moves) moved_from_[chunk.id] = from;
  return true;
}

void Copies::end(ChunkId chunk, NodeId to) {
  late_.erase({chunk, to});
  const auto found = copies_.find({chunk, to});
  if (found == copies_.end()) return;
  const CopyUnderWay copy = found->second;
  copies_.erase(found);
  if (Node* source = nodes_.find(copy.from)) --source->sending;
  if (Node* target = nodes_.find(to)) {
    --target->receiving;
    target->expect_no_more(copy.bytes);
  }
  bytes_ -= copy.bytes;
}

void Copies::failed(ChunkId chunk, NodeId to) {
  if (const CopyUnderWay* const copy = find(chunk, to); copy != nullptr && copy->moves) moved(chunk);
  end(chunk, to);
}

const CopyUnderWay* Copies::find(ChunkId chunk, NodeId to) const {
  const auto found = copies_.find({chunk, to});
  return found == copies_.end() ? nullptr : &found->second;
}

std::vector<NodeId> Copies::targets_of(ChunkId chunk) const {
  std::vector<NodeId> targets;
  for (auto copy = copies_.lower_bound({chunk, NodeId{}}); copy != copies_.end() && copy->first.first == chunk; ++copy)
    targets.push_back(copy->first.second);
  return targets;
}

std::optional<NodeId> Copies::moved_from(ChunkId chunk) const {
  const auto found = moved_from_.find(chunk);
  return found == moved_from_.end() ? std::nullopt : std::optional(found->second);
}

bool Copies::start_verification(ChunkId chunk, NodeId node, Time deadline) {
  Node& there = nodes_.at(node);
  if (there.verifying >= kVerifiedAtOnce || !verifying_.emplace(Key(chunk, node), deadline).second) return false;
  ++there.verifying;
  return true;
}

void Copies::end_verification(ChunkId chunk, NodeId node) {
  if (verifying_.erase({chunk, node}) == 0) return;
  if (Node* there = nodes_.find(node)) --there->verifying;
}

void Copies::expire(Time now) {
  std::vector<Key> late, silent;
  for (const auto& [key, copy] : copies_)
    if (copy.deadline <= now) late.push_back(key);
  for (const auto& [chunk, to] : late) {
    failed(chunk, to);
    late_[{chunk, to}] = now + kMayBeLate;
  }
  std::erase_if(late_, [&](const auto& item) { return item.second <= now; });
  for (const auto& [key, deadline] : verifying_)
    if (deadline <= now) silent.push_back(key);
  for (const auto& [chunk, node] : silent) end_verification(chunk, node);
  std::erase_if(backoff_, [&](const auto& item) { return item.second <= now; });
}

void Copies::node_lost(NodeId node) {
  std::vector<Key> ended;
  for (const auto& [key, copy] : copies_)
    if (copy.from == node || copy.to == node) ended.push_back(key);
  for (const auto& [chunk, to] : ended) failed(chunk, to);
  std::erase_if(late_, [node](const auto& item) { return item.first.second == node; });
  std::erase_if(verifying_, [node](const auto& item) { return item.first.second == node; });
}

void Copies::forget(ChunkId chunk) {
  backoff_.erase(chunk);
  moved_from_.erase(chunk);
  for (const NodeId to : targets_of(chunk)) end(chunk, to);  // one that arrives is stale
  late_.erase(late_.lower_bound({chunk, NodeId{}}), late_.upper_bound({chunk, NodeId(std::numeric_limits<NodeId::rep>::max())}));
  while (true) {
    const auto next = verifying_.lower_bound({chunk, NodeId{}});
    if (next == verifying_.end() || next->first.first != chunk) return;
    end_verification(chunk, next->first.second);
  }
}

}  // namespace weft::storage
