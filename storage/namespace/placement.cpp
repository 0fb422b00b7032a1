#include "storage/namespace/placement.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "base/random.hpp"

namespace weft::storage {
namespace {

/// Room that a node must have beyond what is needed, at most as much again: reports are not instantaneous.
constexpr std::uint64_t kSlack = 16u << 20;
/// Nodes whose use differs by less are equal.
constexpr double kFullnessStep = 0.1;

double fullness(const Node& node) {
  const auto used = static_cast<double>(node.space.used + node.expected);
  const auto all = static_cast<double>(node.space.used + node.space.free);
  return all > 0 ? used / all : 1;
}

const Node* best_of(const std::vector<const Node*>& candidates, const PlacementRequest& request) {
  const Node* best = nullptr;
  std::pair<std::int64_t, std::uint64_t> best_score;
  for (const Node* candidate : candidates) {
    // Chance that depends on the chunk and the node only, not on what was asked before.
    const std::uint64_t chance = Random(request.seed ^ request.chunk.value() * 0x9e3779b97f4a7c15ULL, candidate->id.value())();
    const std::pair score(static_cast<std::int64_t>(fullness(*candidate) / kFullnessStep), chance);
    if (best != nullptr && score >= best_score) continue;
    best = candidate;
    best_score = score;
  }
  return best;
}

/// The rack of what is to be together: by chance that depends on the word and the rack only, so it stays when others come and go.
std::string_view home_of(const NodeTable& nodes, const PlacementRequest& request) {
  std::string_view home;
  std::uint64_t most = 0;
  for (const auto& [id, node] : nodes) {
    const std::uint64_t chance = hash64(node.info.rack, hash64(request.together, request.seed));
    if (node.draining || (!home.empty() && chance <= most)) continue;
    home = node.info.rack;
    most = chance;
  }
  return home;
}

}  // namespace

bool has_room(const Node& there, std::uint64_t bytes) {
  return there.space.free >= there.expected + bytes + std::min(kSlack, bytes);
}

bool one_rack_only(const NodeTable& nodes, const std::vector<NodeId>& of) {
  std::set<std::string_view> there, all;
  for (const NodeId id : of) there.insert(nodes.at(id).info.rack);
  if (there.size() != 1) return false;
  for (const auto& [id, other] : nodes)
    if (other.stays() && other.reported && !there.contains(other.info.rack)) return true;
  return false;
}

std::vector<NodeId> choose_nodes(const NodeTable& nodes, const PlacementRequest& request) {
  std::vector<const Node*> usable, placed;
  for (const auto& [id, there] : nodes) {
    if (!there.stays()) continue;
    const auto is = [id = id](NodeId other) { return other == id; };
    if (std::any_of(request.replicas.begin(), request.replicas.end(), is))
      placed.push_back(&there);
    else if (has_room(there, request.bytes) && std::none_of(request.excluded.begin(), request.excluded.end(), is) &&
             !there.erasing.contains(request.chunk) && (request.unfit == nullptr || !request.unfit->contains(id)))
      usable.push_back(&there);
  }
  std::vector<NodeId> chosen;
  const auto take = [&](auto&& prefers) {
    std::vector<const Node*> preferred;
    std::copy_if(usable.begin(), usable.end(), std::back_inserter(preferred), prefers);
    const Node* best = best_of(preferred, request);
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
  const std::string_view home = request.together.empty() ? std::string_view() : home_of(nodes, request);
  while (chosen.size() < request.count && !usable.empty()) {
    if (placed.empty()) {
      take([&](const Node* node) { return node->info.name == request.writer; }) ||
          take([&](const Node* node) { return node->info.host == request.writer; }) || take(anywhere);
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
    const auto at_home = [&](const Node* node) {
      return !home.empty() && node->info.rack == home && replicas_in(node->info.rack) == 0;
    };
    (one_rack && take([&](const Node* node) { return at_home(node) && new_host(node); })) ||
        take([&](const Node* node) { return wanted(node) && new_host(node); }) || take(wanted) || take(new_host) || take(anywhere);
  }
  return chosen;
}

}  // namespace weft::storage
