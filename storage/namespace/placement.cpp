// Where replicas go: the writer's node, another rack, that rack again; else spread. Among equals the emptier, then by chance.
#include <algorithm>

#include "storage/namespace/namespace_impl.hpp"

namespace weft::storage {
namespace {

/// So much more is asked for than is needed, but not more than that again: reports are not instantaneous.
constexpr std::uint64_t kSlack = 16u << 20;
/// Nodes whose use differs by less are equal.
constexpr double kFullnessStep = 0.1;

double fullness(const Node& node) {
  const auto used = static_cast<double>(node.space.used + node.expected);
  const auto all = static_cast<double>(node.space.used + node.space.free);
  return all > 0 ? used / all : 1;
}

}  // namespace

bool Namespace::Impl::has_room(const Node& there, std::uint64_t bytes) const {
  return there.space.free >= there.expected + bytes + std::min(kSlack, bytes);
}

Node* Namespace::Impl::best_of(const std::vector<Node*>& candidates, ChunkId chunk) {
  Node* best = nullptr;
  std::pair<std::int64_t, std::uint64_t> best_score;
  for (Node* candidate : candidates) {
    // Chance that depends on the chunk and the node only, not on what was asked before.
    const std::uint64_t chance = Random(options.seed ^ chunk.value() * 0x9e3779b97f4a7c15ULL, candidate->id.value())();
    const std::pair score(static_cast<std::int64_t>(fullness(*candidate) / kFullnessStep), chance);
    if (best != nullptr && score >= best_score) continue;
    best = candidate;
    best_score = score;
  }
  return best;
}

bool Namespace::Impl::one_rack_only(const std::vector<NodeId>& of) const {
  std::set<std::string_view> there, all;
  for (const NodeId id : of) there.insert(nodes.at(id).info.rack);
  if (there.size() != 1) return false;
  for (const auto& [id, other] : nodes)
    if (!other.draining && other.reported && !there.contains(other.info.rack)) return true;
  return false;
}

/// Up to `count` more nodes for the chunk, which has replicas on chunk.nodes. `excluded` are not asked.
std::vector<NodeId> Namespace::Impl::choose(const Chunk& chunk, std::string_view writer, std::size_t count,
                                            const std::vector<NodeId>& excluded, std::uint64_t bytes) {
  const Damage* damage = damage_of(chunk.info.id);
  std::vector<Node*> usable;
  std::vector<const Node*> placed;
  for (auto& [id, there] : nodes) {
    const auto is = [id = id](NodeId other) { return other == id; };
    if (std::any_of(chunk.nodes.begin(), chunk.nodes.end(), is)) {
      if (!there.draining) placed.push_back(&there);
    } else if (!there.draining && has_room(there, bytes) && std::none_of(excluded.begin(), excluded.end(), is) &&
               !there.erasing.contains(chunk.info.id) && (damage == nullptr || !damage->foreign.contains(id))) {
      usable.push_back(&there);
    }
  }
  std::vector<NodeId> chosen;
  const auto take = [&](auto&& prefers) {
    std::vector<Node*> preferred;
    std::copy_if(usable.begin(), usable.end(), std::back_inserter(preferred), prefers);
    Node* best = best_of(preferred, chunk.info.id);
    if (best == nullptr) return false;
    chosen.push_back(best->id);
    placed.push_back(best);
    std::erase(usable, best);
    return true;
  };
  const auto replicas_in = [&](const std::string& rack) {
    return std::count_if(placed.begin(), placed.end(), [&](const Node* other) { return other->info.rack == rack; });
  };
  const auto new_host = [&](const Node* node) {
    return std::none_of(placed.begin(), placed.end(), [&](const Node* other) { return other->info.host == node->info.host; });
  };
  const auto anywhere = [](const Node*) { return true; };
  while (chosen.size() < count && !usable.empty()) {
    if (placed.empty()) {
      take([&](const Node* node) { return node->info.name == writer; }) ||
          take([&](const Node* node) { return node->info.host == writer; }) || take(anywhere);
      continue;
    }
    const std::string first = placed.front()->info.rack;
    const bool one_rack = replicas_in(first) == static_cast<std::ptrdiff_t>(placed.size());
    std::string rack = placed.size() == 2 ? placed.back()->info.rack : std::string();  // that rack again
    std::ptrdiff_t fewest = PTRDIFF_MAX;
    for (const Node* node : usable) fewest = std::min(fewest, replicas_in(node->info.rack));
    const auto wanted = [&](const Node* node) {
      if (one_rack) return node->info.rack != first;
      return placed.size() == 2 ? node->info.rack == rack : replicas_in(node->info.rack) == fewest;
    };
    take([&](const Node* node) { return wanted(node) && new_host(node); }) || take(wanted) || take(new_host) || take(anywhere);
  }
  return chosen;
}

}  // namespace weft::storage
