// Moving chunks until the nodes are about equally full.
#include <algorithm>
#include <set>

#include "storage/namespace/namespace_impl.hpp"
#include "storage/namespace/placement.hpp"

namespace weft::storage {
namespace {

constexpr std::uint32_t kMovesPerNode = 2;
constexpr std::size_t kMoveCandidates = 256;  // chunks of a node looked at per tick

}  // namespace

/// How full nodes are when all moves under way are done.
class Namespace::Impl::Balance {
 public:
  explicit Balance(Impl& impl) : impl_(impl) {
    double used = 0, all = 0;
    for (auto& [id, there] : impl_.nodes) {
      const std::uint64_t space = there.space.used + there.space.free;
      if (!there.stays() || !there.reported || space == 0) continue;
      used += static_cast<double>(there.space.used);
      all += static_cast<double>(space);
      ordered_.push_back(&there);
    }
    average_ = all > 0 ? used / all : 0;
    for (const auto& [key, copy] : impl_.copies.all())
      if (copy.moves) note(copy.from, copy.to, copy.bytes);
    std::stable_sort(ordered_.begin(), ordered_.end(), [&](const Node* a, const Node* b) { return fullness(*a) > fullness(*b); });
  }

  /// Begins what can begin; false when nothing is left to do.
  bool move(double threshold) {
    for (Node* source : ordered_) {
      std::size_t looked_at = 0;
      for (auto at = source->chunks.begin(); at != source->chunks.end() && looked_at < kMoveCandidates; ++at, ++looked_at) {
        if (fullness(*source) <= average_ + threshold) break;
        if (source->sending >= kMovesPerNode || impl_.copies.bytes() >= impl_.options.copy_bytes_in_flight) return true;
        Chunk& chunk = impl_.chunks.at(*at);
        if (at_rest(chunk)) move(chunk, *source);
      }
    }
    return under_way_ || impl_.copies.moving();
  }

 private:
  void note(NodeId from, NodeId to, std::uint64_t bytes) {
    moving_[from] -= static_cast<std::int64_t>(bytes);
    moving_[to] += static_cast<std::int64_t>(bytes);
    under_way_ = true;
  }

  double fullness(const Node& there, std::uint64_t more = 0) const {
    const auto moving = moving_.find(there.id);
    const auto bytes =
        static_cast<double>(there.space.used + more) + (moving == moving_.end() ? 0 : static_cast<double>(moving->second));
    return bytes / static_cast<double>(there.space.used + there.space.free);
  }

  /// Nothing else is being done about it.
  bool at_rest(const Chunk& chunk) const {
    const ChunkId id = chunk.info.id;
    return !chunk.condemned && chunk.rank == kNotQueued && !chunk.blocked && impl_.copies.targets_of(id).empty() &&
           !impl_.queue.surplus().contains(id) && impl_.damaged.of(id) == nullptr && !impl_.copies.moved_from(id);
  }

  std::size_t racks(const Chunk& chunk, NodeId without, NodeId with) const {
    std::set<std::string_view> names;
    for (const NodeId where : chunk.nodes)
      if (where != without) names.insert(impl_.nodes.at(where).info.rack);
    if (with != NodeId{}) names.insert(impl_.nodes.at(with).info.rack);
    return names.size();
  }

  /// To the emptiest node that may have it; not past where the source is then, which would only turn the difference round.
  void move(Chunk& chunk, const Node& source) {
    const ChunkId id = chunk.info.id;
    const std::size_t enough = std::min<std::size_t>(2, racks(chunk, NodeId{}, NodeId{}));
    for (auto at = ordered_.rbegin(); at != ordered_.rend() && *at != &source; ++at) {
      const Node& target = **at;
      if (target.receiving >= kMovesPerNode || target.chunks.contains(id) || target.erasing.contains(id) ||
          !has_room(target, chunk.info.length) || fullness(target, chunk.info.length) >= fullness(source) ||
          racks(chunk, source.id, target.id) < enough)
        continue;
      if (impl_.start_copy(chunk, source.id, target.id, true)) note(source.id, target.id, chunk.info.length);
      return;
    }
  }

  Impl& impl_;
  std::vector<Node*> ordered_;             // fullest first
  std::map<NodeId, std::int64_t> moving_;  // bytes on their way
  double average_ = 0;
  bool under_way_ = false;
};

Result<void> Namespace::balance(double threshold) {
  if (!(threshold > 0 && threshold < 1))
    return fail(Code::invalid_argument, "the threshold is a share of the space, more than 0 and less than 1");
  impl_->balancing = threshold;
  return {};
}

void Namespace::Impl::balance() {
  if (balancing && !Balance(*this).move(*balancing)) balancing.reset();
}

}  // namespace weft::storage
