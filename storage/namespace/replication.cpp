// What lacks replicas, what has too many, what moves.
#include <algorithm>

#include <fmt/core.h>

#include "storage/namespace/namespace_impl.hpp"

namespace weft::storage {
namespace {

/// All replicas lie in one rack: after everything that lacks replicas.
constexpr std::uint8_t kOneRack = kNotQueued - 1;
constexpr std::uint8_t kMostRank = kOneRack - 1;
constexpr std::size_t kMostScanned = 4096;     // chunks looked at per tick
constexpr std::size_t kErasedAtOnce = 10'000;  // chunks per command
constexpr std::uint32_t kMostDoublings = 6;    // of the pause after a copy that failed
constexpr std::uint32_t kVerifiedAtOnce = 2;   // chunks per node
constexpr Time kBlockedPause =
    std::chrono::seconds(2);  // between looks at what found no room: copies and writers that end leave some

}  // namespace

std::uint32_t Namespace::Impl::wanted(const Chunk& chunk) const {
  return chunk.file != nullptr ? chunk.file->replication : open_files.at(chunk.lease).options.replication;
}

std::uint32_t Namespace::Impl::good(const Chunk& chunk) const {
  return static_cast<std::uint32_t>(
      std::count_if(chunk.nodes.begin(), chunk.nodes.end(), [this](NodeId id) { return !nodes.at(id).draining; }));
}

void Namespace::Impl::count_located(Chunk& chunk) {
  const bool located = !chunk.nodes.empty() || corrupt.contains(chunk.info.id);
  if (std::exchange(chunk.located, located) == located) return;
  located ? ++located_chunks : --located_chunks;
}

/// Puts the chunk into the lists it belongs in. Called whenever something about it has changed.
void Namespace::Impl::reconsider(Chunk& chunk) {
  count_located(chunk);
  if (safe_mode || !chunk.sealed) return;
  const ChunkId id = chunk.info.id;
  if (chunk.rank != kNotQueued) needed.erase({chunk.rank, id});
  chunk.rank = kNotQueued;
  if (std::exchange(chunk.blocked, false)) blocked.erase(id);
  surplus.erase(id);
  missing.erase(id);
  settle_damage(chunk);
  if (chunk.doomed) return;
  const bool damaged = corrupt.contains(id);
  if (chunk.nodes.empty() && !damaged) {
    missing.insert(id);
    return;
  }
  const std::uint32_t want = wanted(chunk), have = good(chunk);
  if (have < want) {
    chunk.rank = static_cast<std::uint8_t>(std::min<std::size_t>(chunk.nodes.size(), kMostRank));
  } else if (want > 1 && one_rack_only(chunk.nodes)) {
    chunk.rank = kOneRack;
  } else if (have > want && !damaged) {  // which of them are whole is not known while one is not
    surplus.insert(id);
  }
  if (chunk.rank != kNotQueued) needed.emplace(chunk.rank, id);
}

/// There may be room now for what found none.
void Namespace::Impl::unblock() {
  for (const ChunkId id : std::exchange(blocked, {})) {
    Chunk& chunk = chunks.at(id);
    chunk.blocked = false;
    reconsider(chunk);
  }
}

/// Some of them, in turns; what makes much room at once calls unblock().
void Namespace::Impl::retry_blocked() {
  if (blocked.empty() || clock < blocked_due) return;
  blocked_due = clock + kBlockedPause;
  std::vector<ChunkId> some;
  auto at = blocked.upper_bound(last_retried);
  if (at == blocked.end()) at = blocked.begin();
  for (; at != blocked.end() && some.size() < kMostScanned; ++at) some.push_back(*at);
  last_retried = some.back();
  for (const ChunkId id : some) reconsider(chunks.at(id));
}

/// The chunk belongs to no file any more.
void Namespace::Impl::forget(ChunkId id) {
  const auto found = chunks.find(id);
  Chunk& chunk = found->second;
  chunk.doomed = true;
  reconsider(chunk);
  corrupt.erase(id);
  while (true) {
    const auto asked = verifying.lower_bound({id, NodeId{}});
    if (asked == verifying.end() || asked->first.first != id) break;
    end_verification(id, asked->first.second);
  }
  for (const NodeId where : chunk.nodes) {
    Node& there = nodes.at(where);
    there.chunks.erase(id);
    there.unreported.erase(id);
    erase_at(there, id);
    there.space.used -= std::min(there.space.used, chunk.info.length);
    there.space.free += chunk.info.length;
  }
  if (chunk.located) --located_chunks;
  --sealed_chunks;
  backoff.erase(id);
  moved_from.erase(id);
  std::vector<NodeId> targets;
  for (auto copy = copies.lower_bound({id, NodeId{}}); copy != copies.end() && copy->first.first == id; ++copy)
    targets.push_back(copy->first.second);
  for (const NodeId to : targets) end_copy(id, to);  // one that arrives is stale
  chunks.erase(found);
}

bool Namespace::Impl::start_copy(Chunk& chunk, NodeId from, NodeId to, bool moves) {
  if (!copies.emplace(std::pair(chunk.info.id, to), Copy{from, to, chunk.info.length, clock + options.copy_timeout, moves}).second)
    return false;
  Node& target = nodes.at(to);
  ++nodes.at(from).sending;
  ++target.receiving;
  target.expected += chunk.info.length;
  copy_bytes += chunk.info.length;
  if (moves) moved_from[chunk.info.id] = from;
  commands.emplace_back(CopyChunk{from, chunk.info, to, target.info.address, sources_of(chunk, from)});
  return true;
}

std::vector<std::string> Namespace::Impl::sources_of(const Chunk& chunk, NodeId first) const {
  std::vector<std::string> addresses{nodes.at(first).info.address};
  for (const auto& some : {chunk.nodes, damaged_on(chunk.info.id)})
    for (const NodeId where : some)
      if (where != first) addresses.push_back(nodes.at(where).info.address);
  return addresses;
}

/// It came, or it will not come.
void Namespace::Impl::end_copy(ChunkId chunk, NodeId to) {
  const auto found = copies.find({chunk, to});
  if (found == copies.end()) return;
  const Copy copy = found->second;
  copies.erase(found);
  if (Node* source = node(copy.from)) --source->sending;
  if (Node* target = node(to)) {
    --target->receiving;
    target->expected -= std::min(target->expected, copy.bytes);
  }
  copy_bytes -= copy.bytes;
}

Result<void> Namespace::Impl::copy_failed(NodeId from, ChunkId chunk, NodeId to) {
  const auto found = copies.find({chunk, to});
  if (found == copies.end() || found->second.from != from)
    return fail(Code::not_found,
                fmt::format("no copy of {} from node {} to node {} is under way", to_string(chunk), from.value(), to.value()));
  end_copy(chunk, to);
  moved_from.erase(chunk);
  const auto damage = corrupt.find(chunk);
  const std::uint32_t again = damage == corrupt.end() ? 0 : std::min(damage->second.failures++, kMostDoublings);
  backoff[chunk] = clock + options.copy_backoff * (1 << again);  // pages without a good copy anywhere seldom come back
  return {};
}

void Namespace::Impl::expire_copies() {
  std::vector<std::pair<ChunkId, NodeId>> late;
  for (const auto& [key, copy] : copies)
    if (copy.deadline <= clock) late.push_back(key);
  for (const auto& [chunk, to] : late) {
    end_copy(chunk, to);
    moved_from.erase(chunk);
  }
  std::vector<std::pair<ChunkId, NodeId>> silent;
  for (const auto& [key, deadline] : verifying)
    if (deadline <= clock) silent.push_back(key);
  for (const auto& [chunk, node] : silent) end_verification(chunk, node);
  std::erase_if(backoff, [this](const auto& item) { return item.second <= clock; });
}

void Namespace::Impl::replicate() {
  std::vector<ChunkId> nowhere;
  std::size_t scanned = 0;
  for (const auto& [rank, id] : needed) {
    if (copy_bytes >= options.copy_bytes_in_flight || ++scanned > kMostScanned) break;
    if (!replicate(chunks.at(id))) nowhere.push_back(id);
  }
  for (const ChunkId id : nowhere) {
    Chunk& chunk = chunks.at(id);
    needed.erase({chunk.rank, id});
    chunk.rank = kNotQueued;
    chunk.blocked = true;
    blocked.insert(id);
  }
}

/// Begins a copy of the chunk if it can begin now; false when it could not even if all nodes were idle.
bool Namespace::Impl::replicate(Chunk& chunk) {
  const ChunkId id = chunk.info.id;
  if (backoff.contains(id)) return true;
  std::vector<NodeId> not_there;  // on their way
  for (auto copy = copies.lower_bound({id, NodeId{}}); copy != copies.end() && copy->first.first == id; ++copy)
    not_there.push_back(copy->first.second);
  // Of damaged replicas one whole is made first, and the others of that.
  const std::uint32_t lacking = chunk.rank == kOneRack || chunk.nodes.empty() ? 1 : wanted(chunk) - good(chunk);
  if (not_there.size() >= lacking) return true;

  const Node* source = idle_source(chunk);
  if (source == nullptr) return true;
  // A copy that is on its way to the last node may fail.
  if (choose(chunk, {}, 1, not_there, chunk.info.length).empty()) return !not_there.empty();
  for (const auto& [where, there] : nodes)
    if (there.receiving >= options.copies_per_node || !there.reported) not_there.push_back(where);
  const std::vector<NodeId> target = choose(chunk, {}, 1, not_there, chunk.info.length);
  if (target.empty()) return true;
  if (chunk.rank == kOneRack && nodes.at(target[0]).info.rack == nodes.at(chunk.nodes[0]).info.rack) return true;
  start_copy(chunk, source->id, target[0], false);
  return true;
}

/// The one that sends least; with a whole replica, when there is one.
const Node* Namespace::Impl::idle_source(const Chunk& chunk) const {
  const Node* source = nullptr;
  for (const NodeId where : chunk.nodes.empty() ? damaged_on(chunk.info.id) : chunk.nodes) {
    const Node& there = nodes.at(where);
    if (there.sending < options.copies_per_node && (source == nullptr || there.sending < source->sending)) source = &there;
  }
  return source;
}

const Damage* Namespace::Impl::damage_of(ChunkId chunk) const {
  const auto found = corrupt.find(chunk);
  return found == corrupt.end() ? nullptr : &found->second;
}

std::vector<NodeId> Namespace::Impl::damaged_on(ChunkId chunk) const {
  const Damage* damage = damage_of(chunk);
  return damage == nullptr ? std::vector<NodeId>() : std::vector<NodeId>(damage->nodes.begin(), damage->nodes.end());
}

/// Damaged replicas go with their file, or when as many whole ones as the file wants were read or written in full. What is
/// something else altogether goes for the first of these, to make room for a copy.
void Namespace::Impl::settle_damage(Chunk& chunk) {
  const ChunkId id = chunk.info.id;
  const auto found = corrupt.find(id);
  if (found == corrupt.end()) return;
  Damage& damage = found->second;
  const auto verified = std::count_if(chunk.nodes.begin(), chunk.nodes.end(),
                                      [&](NodeId where) { return damage.verified.contains(where) && !nodes.at(where).draining; });
  const bool all = chunk.doomed || verified >= static_cast<std::ptrdiff_t>(wanted(chunk));
  const std::set<NodeId> replaced = all ? damage.nodes : verified > 0 ? std::exchange(damage.foreign, {}) : std::set<NodeId>();
  for (const NodeId where : replaced) {
    erase_at(nodes.at(where), id);
    damage.nodes.erase(where);
  }
  if (damage.nodes.empty()) corrupt.erase(found);
}

/// Where there would be enough replicas beside the damaged ones, they are read before these go.
void Namespace::Impl::verify() {
  std::size_t scanned = 0;
  for (const auto& [id, damage] : corrupt) {
    if (++scanned > kMostScanned) break;
    const Chunk& chunk = chunks.at(id);
    if (good(chunk) >= wanted(chunk) || !damage.foreign.empty()) verify(chunk, damage);
  }
}

void Namespace::Impl::verify(const Chunk& chunk, const Damage& damage) {
  for (const NodeId where : chunk.nodes) {
    Node& there = nodes.at(where);
    if (damage.verified.contains(where) || there.verifying >= kVerifiedAtOnce) continue;
    if (!verifying.emplace(std::pair(chunk.info.id, where), clock + options.copy_timeout).second) continue;
    ++there.verifying;
    commands.emplace_back(VerifyChunk{where, chunk.info.id});
  }
}

void Namespace::Impl::end_verification(ChunkId chunk, NodeId id) {
  if (verifying.erase({chunk, id}) == 0) return;
  if (Node* there = node(id)) --there->verifying;
}

void Namespace::Impl::remove_surplus() {
  const std::vector<ChunkId> now(surplus.begin(), surplus.end());
  std::size_t scanned = 0;
  for (const ChunkId id : now) {
    if (++scanned > kMostScanned) break;
    drop_surplus(chunks.at(id));
  }
}

/// Never below two racks where there are two; first what was moved away from, then the fullest node's.
void Namespace::Impl::drop_surplus(Chunk& chunk) {
  const ChunkId id = chunk.info.id;
  while (good(chunk) > wanted(chunk)) {
    std::map<std::string_view, std::uint32_t> racks;
    for (const NodeId where : chunk.nodes)
      if (!nodes.at(where).draining) ++racks[nodes.at(where).info.rack];
    const auto from = moved_from.find(id);
    Node* victim = nullptr;
    std::pair<bool, double> worst;
    for (const NodeId where : chunk.nodes) {
      Node& there = nodes.at(where);
      if (there.draining || !there.reported || there.reporting) continue;
      if (racks.size() == 2 && racks.at(there.info.rack) == 1 && wanted(chunk) > 1) continue;
      const auto all = static_cast<double>(there.space.used + there.space.free);
      const std::pair score(from != moved_from.end() && from->second == where,
                            all > 0 ? static_cast<double>(there.space.used) / all : 1);
      if (victim != nullptr && score <= worst) continue;
      victim = &there;
      worst = score;
    }
    if (victim == nullptr) return;
    erase_at(*victim, id);
    moved_from.erase(id);
    remove_replica(*victim, id);
  }
}

void Namespace::Impl::flush_erasures() {
  for (auto& [id, there] : nodes) {
    std::vector<ChunkId> all = std::exchange(there.to_erase, {});
    std::sort(all.begin(), all.end());
    for (std::size_t from = 0; from < all.size(); from += kErasedAtOnce) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(from);
      const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), from + kErasedAtOnce));
      commands.emplace_back(EraseChunks{id, {begin, end}});
    }
  }
}

std::uint64_t Namespace::Impl::to_move(const Node& there) const {
  return static_cast<std::uint64_t>(std::count_if(there.chunks.begin(), there.chunks.end(), [this](ChunkId id) {
    const Chunk& chunk = chunks.at(id);
    return !chunk.doomed && good(chunk) < wanted(chunk);
  }));
}

}  // namespace weft::storage
