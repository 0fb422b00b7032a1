// What lacks replicas, what has too many, what moves.
#include <algorithm>
#include <tuple>

#include "storage/namespace/namespace_impl.hpp"
#include "storage/namespace/placement.hpp"

namespace weft::storage {
namespace {

constexpr std::size_t kErasedAtOnce = 10'000;  // chunks per command

}  // namespace

std::uint32_t Namespace::Impl::wanted(const Chunk& chunk) const {
  return chunk.file != nullptr ? chunk.file->replication : leases.at(chunk.lease).options.replication;
}

std::uint32_t Namespace::Impl::good(const Chunk& chunk) const {
  const auto counting = static_cast<std::uint32_t>(
      std::count_if(chunk.nodes.begin(), chunk.nodes.end(), [this](NodeId id) { return nodes.at(id).counts(); }));
  // One at least is on a node that stays.
  return counting > 0 && staying(chunk) == 0 ? std::min(counting, wanted(chunk) - 1) : counting;
}

std::uint32_t Namespace::Impl::staying(const Chunk& chunk) const {
  return static_cast<std::uint32_t>(
      std::count_if(chunk.nodes.begin(), chunk.nodes.end(), [this](NodeId id) { return nodes.at(id).stays(); }));
}

void Namespace::Impl::count_located(Chunk& chunk) {
  const bool located = !chunk.nodes.empty() || damaged.of(chunk.info.id) != nullptr;
  if (std::exchange(chunk.located, located) == located) return;
  located ? ++located_chunks : --located_chunks;
}

void Namespace::Impl::reconsider(Chunk& chunk) {
  count_located(chunk);
  if (safe_mode.on() || !chunk.sealed) return;
  queue.remove(chunk);
  settle_damage(chunk);
  if (!chunk.condemned) enqueue(chunk);
  const ChunkId id = chunk.info.id;
  if (copies.moved_from(id) && copies.targets_of(id).empty() && !queue.surplus().contains(id)) copies.moved(id);
}

/// Into the list of what it lacks, if it lacks something.
void Namespace::Impl::enqueue(Chunk& chunk) {
  const bool is_damaged = damaged.of(chunk.info.id) != nullptr;
  if (chunk.nodes.empty() && !is_damaged) return queue.is_missing(chunk);
  const std::uint32_t want = wanted(chunk), have = good(chunk);
  if (have < want)
    queue.lacks(chunk, chunk.nodes.size());
  else if (want > 1 && one_rack_only(nodes, chunk.nodes))
    queue.only_one_rack(chunk);
  else if (have > want && !is_damaged)  // which of them are whole is not known while one is not
    queue.has_too_many(chunk);
}

void Namespace::Impl::reconsider(ChunkId chunk) {
  if (const auto found = chunks.find(chunk); found != chunks.end()) reconsider(found->second);
}

/// There may be room now for what found none.
void Namespace::Impl::unblock() {
  const std::set<ChunkId> blocked = queue.blocked();
  for (const ChunkId id : blocked) reconsider(id);
}

/// The chunk belongs to no file any more.
void Namespace::Impl::forget(ChunkId id) {
  const auto found = chunks.find(id);
  Chunk& chunk = found->second;
  chunk.condemned = true;
  reconsider(chunk);
  damaged.forget(id);
  copies.forget(id);
  for (const NodeId where : chunk.nodes) {
    Node& there = nodes.at(where);
    there.chunks.erase(id);
    there.unreported.erase(id);
    there.erase(id);
    there.removed(chunk.info.length);
  }
  if (chunk.located) --located_chunks;
  --sealed_chunks;
  chunks.erase(found);
}

bool Namespace::Impl::start_copy(const Chunk& chunk, NodeId from, NodeId to, bool moves) {
  if (!copies.start(chunk.info, from, to, clock + options.copy_timeout, moves)) return false;
  std::vector<std::string> sources{nodes.at(from).info.address};
  for (const auto& some : {chunk.nodes, damaged.nodes_of(chunk.info.id)})
    for (const NodeId where : some)
      if (where != from) sources.push_back(nodes.at(where).info.address);
  commands.emplace_back(CopyChunk{from, chunk.info, to, nodes.at(to).info.address, std::move(sources)});
  return true;
}

void Namespace::Impl::replicate() {
  std::vector<ChunkId> nowhere;
  std::size_t scanned = 0;
  for (const auto& [rank, id] : queue.lacking()) {
    if (copies.bytes() >= options.copy_bytes_in_flight || ++scanned > kMostScanned) break;
    if (!replicate(chunks.at(id))) nowhere.push_back(id);
  }
  for (const ChunkId id : nowhere) queue.block(chunks.at(id));
}

std::vector<NodeId> Namespace::Impl::choose(const Chunk& chunk, const std::vector<NodeId>& excluded) const {
  const Damage* const damage = damaged.of(chunk.info.id);
  return choose_nodes(nodes, {.chunk = chunk.info.id,
                              .replicas = chunk.nodes,
                              .excluded = excluded,
                              .unfit = damage == nullptr ? nullptr : &damage->foreign,
                              .bytes = chunk.info.length,
                              .seed = options.seed});
}

/// Begins a copy of the chunk if it can begin now; false when it could not even if all nodes were idle.
bool Namespace::Impl::replicate(Chunk& chunk) {
  if (copies.backed_off(chunk.info.id)) return true;
  std::vector<NodeId> not_there = copies.targets_of(chunk.info.id);  // on their way
  // Of damaged replicas one whole is made first, and the others of that.
  const std::uint32_t lacking = chunk.rank == kOneRack || chunk.nodes.empty() ? 1 : wanted(chunk) - good(chunk);
  if (not_there.size() >= lacking) return true;

  const Node* source = idle_source(chunk);
  if (source == nullptr) return true;
  // A copy that is on its way to the last node may fail.
  if (choose(chunk, not_there).empty()) return !not_there.empty();
  for (const auto& [where, there] : nodes)
    if (there.receiving >= options.copies_per_node || !there.reported) not_there.push_back(where);
  const std::vector<NodeId> target = choose(chunk, not_there);
  if (target.empty()) return true;
  if (chunk.rank == kOneRack && nodes.at(target[0]).info.rack == nodes.at(chunk.nodes[0]).info.rack) return true;
  start_copy(chunk, source->id, target[0], false);
  return true;
}

/// The one that sends least; with a whole replica, when there is one.
const Node* Namespace::Impl::idle_source(const Chunk& chunk) const {
  const Node* source = nullptr;
  for (const NodeId where : chunk.nodes.empty() ? damaged.nodes_of(chunk.info.id) : chunk.nodes) {
    const Node& there = nodes.at(where);
    if (there.sending < options.copies_per_node && (source == nullptr || there.sending < source->sending)) source = &there;
  }
  return source;
}

/// Damaged replicas go with their file, or when as many whole ones as the file wants were read or written in full. What is
/// something else altogether goes for the first of these, to make room for a copy.
void Namespace::Impl::settle_damage(Chunk& chunk) {
  const ChunkId id = chunk.info.id;
  Damage* const damage = damaged.of(id);
  if (damage == nullptr) return;
  const auto verified = std::count_if(chunk.nodes.begin(), chunk.nodes.end(),
                                      [&](NodeId where) { return damage->verified.contains(where) && nodes.at(where).stays(); });
  const bool all = chunk.condemned || verified >= static_cast<std::ptrdiff_t>(wanted(chunk));
  const std::set<NodeId> replaced = all ? damage->nodes : verified > 0 ? damage->foreign : std::set<NodeId>();
  for (const NodeId where : replaced) {
    nodes.at(where).erase(id);
    damaged.gone(id, where);
  }
}

/// Where there would be enough replicas beside the damaged ones, they are read before these go.
void Namespace::Impl::verify() {
  std::size_t scanned = 0;
  for (const auto& [id, damage] : damaged.all()) {
    if (++scanned > kMostScanned) break;
    const Chunk& chunk = chunks.at(id);
    if (good(chunk) < wanted(chunk) && damage.foreign.empty()) continue;
    for (const NodeId where : chunk.nodes)
      if (!damage.verified.contains(where) && copies.start_verification(id, where, clock + options.copy_timeout))
        commands.emplace_back(VerifyChunk{where, id});
  }
}

void Namespace::Impl::remove_surplus() {
  const std::vector<ChunkId> now(queue.surplus().begin(), queue.surplus().end());
  std::size_t scanned = 0;
  for (const ChunkId id : now) {
    if (++scanned > kMostScanned) break;
    drop_surplus(chunks.at(id));
  }
}

/// Never below two racks where there are two, nor the last on a node that stays; first those on nodes that leave, then what was
/// moved away from, then the fullest node's.
void Namespace::Impl::drop_surplus(Chunk& chunk) {
  const ChunkId id = chunk.info.id;
  while (good(chunk) > wanted(chunk)) {
    std::map<std::string_view, std::uint32_t> racks;
    for (const NodeId where : chunk.nodes)
      if (nodes.at(where).counts()) ++racks[nodes.at(where).info.rack];
    const auto from = copies.moved_from(id);
    Node* victim = nullptr;
    std::tuple<bool, bool, double> worst;
    const bool last = staying(chunk) == 1;
    for (const NodeId where : chunk.nodes) {
      Node& there = nodes.at(where);
      if (!there.counts() || !there.reported || there.reporting || (last && there.stays())) continue;
      if (racks.size() == 2 && racks.at(there.info.rack) == 1 && wanted(chunk) > 1) continue;
      const auto all = static_cast<double>(there.space.used + there.space.free);
      const std::tuple score(!there.stays(), from == where, all > 0 ? static_cast<double>(there.space.used) / all : 1);
      if (victim != nullptr && score <= worst) continue;
      victim = &there;
      worst = score;
    }
    if (victim == nullptr) return;
    victim->erase(id);
    copies.moved(id);
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

/// Chunks with a damaged replica here and no whole one on a node that stays: this one may have the pages that others lack.
/// `comes_back`: without those of which a repair has failed, or finds no room now.
std::uint64_t Namespace::Impl::only_damaged(const Node& there, bool comes_back) const {
  return static_cast<std::uint64_t>(std::count_if(damaged.all().begin(), damaged.all().end(), [&](const auto& item) {
    const Damage& damage = item.second;
    if (!damage.nodes.contains(there.id) || damage.foreign.contains(there.id)) return false;
    const Chunk& chunk = chunks.at(item.first);
    if (chunk.condemned || staying(chunk) > 0) return false;
    return !comes_back || (!chunk.blocked && damage.failures == 0);
  }));
}

/// Chunks that nobody can take now do not keep a node that comes back.
std::uint64_t Namespace::Impl::to_hand_over(const Node& there) const {
  const auto whole = std::count_if(there.chunks.begin(), there.chunks.end(), [&](ChunkId id) {
    const Chunk& chunk = chunks.at(id);
    if (chunk.condemned) return false;
    if (there.leaving == Leaving::for_a_while) return staying(chunk) == 0 && !chunk.blocked;
    return staying(chunk) == 0 || (good(chunk) < wanted(chunk) && !chunk.blocked);
  });
  return static_cast<std::uint64_t>(whole) + only_damaged(there, there.leaving == Leaving::for_a_while);
}

std::uint64_t Namespace::Impl::to_move(const Node& there) const {
  const auto whole = std::count_if(there.chunks.begin(), there.chunks.end(), [this](ChunkId id) {
    const Chunk& chunk = chunks.at(id);
    return !chunk.condemned && good(chunk) < wanted(chunk);
  });
  return static_cast<std::uint64_t>(whole) + only_damaged(there, false);
}

}  // namespace weft::storage
