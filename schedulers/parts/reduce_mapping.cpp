#include "schedulers/parts/reduce_mapping.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "base/assert.hpp"

namespace weft::schedulers {

namespace {

class Mapper {
 public:
  Mapper(std::span<const double> slots, std::span<const SizedReduce> reduces, double most_worse, std::span<const double> loads)
      : slots_(slots), reduces_(reduces), most_worse_(most_worse), nodes_(slots.size()), order_(reduces.size()) {
    mapping_.node.resize(reduces.size());
    for (std::size_t i = 0; i < loads.size(); ++i) nodes_[i].bytes = loads[i];
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  }

  ReduceMapping run(double neutral) {
    deal_out();
    mapping_.largest_before = largest();
    for (std::size_t reduce : order_) settle(reduce, neutral);
    mapping_.largest = largest();
    return std::move(mapping_);
  }

 private:
  using Rank = std::pair<double, std::size_t>;  // minus the size, number: the largest first
  struct Node {
    double bytes = 0;
    std::set<Rank> unsealed;
  };

  Rank rank(std::size_t reduce) const { return {-reduces_[reduce].size, reduce}; }
  double load(std::size_t node) const { return nodes_[node].bytes / slots_[node]; }
  double largest() const {
    double most = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) most = std::max(most, load(i));
    return most;
  }

  void deal_out() {
    std::set<std::tuple<double, double, std::size_t>> heap;  // load, reduces per slot (many may be empty), node
    for (std::size_t i = 0; i < nodes_.size(); ++i) heap.emplace(load(i), 0, i);
    for (std::size_t reduce : order_) {
      const std::size_t node = std::get<2>(*heap.begin());
      heap.erase(heap.begin());
      mapping_.node[reduce] = node;
      nodes_[node].bytes += reduces_[reduce].size;
      nodes_[node].unsealed.insert(rank(reduce));
      heap.emplace(load(node), static_cast<double>(nodes_[node].unsealed.size()) / slots_[node], node);
    }
  }

  void settle(std::size_t reduce, double neutral) {
    const auto to = reduces_[reduce].producer;
    const std::size_t from = mapping_.node[reduce];
    if (!to) return;
    if (*to != from) {
      const double worse = neutral < 1 ? std::clamp((reduces_[reduce].share - neutral) / (1 - neutral), 0.0, 1.0) * most_worse_ : 0;
      if (!swap(reduce, *to, (1 + worse) * mapping_.largest_before)) return;
    }
    nodes_[*to].unsealed.erase(rank(reduce));  // it stays
  }

  /// Exchanges the reduce for others of about its size, so that neither node has more than `limit` per slot.
  bool swap(std::size_t reduce, std::size_t to, double limit) {
    const double size = reduces_[reduce].size;
    Node& source = nodes_[mapping_.node[reduce]];
    Node& target = nodes_[to];
    const double least = size - (limit * slots_[to] - target.bytes);
    const double most = size + limit * slots_[mapping_.node[reduce]] - source.bytes;
    double sum = 0;
    std::vector<Rank> exchanged;
    for (const Rank& other : target.unsealed) {
      if (sum - other.first > std::min(size, most)) continue;
      sum -= other.first;
      exchanged.push_back(other);
    }
    if (sum < least) add_smallest(target, exchanged, sum);
    if (sum < least || sum > most) return false;
    for (const Rank& other : exchanged) move(other.second, to, mapping_.node[reduce]);
    move(reduce, mapping_.node[reduce], to);
    return true;
  }

  /// Adds the smallest reduce that is not exchanged yet.
  static void add_smallest(const Node& target, std::vector<Rank>& exchanged, double& sum) {
    const auto unused = std::find_if(target.unsealed.rbegin(), target.unsealed.rend(), [&](const Rank& other) {
      return !std::binary_search(exchanged.begin(), exchanged.end(), other);
    });
    if (unused == target.unsealed.rend()) return;
    sum -= unused->first;
    exchanged.push_back(*unused);
  }

  void move(std::size_t reduce, std::size_t from, std::size_t to) {
    nodes_[from].bytes -= reduces_[reduce].size;
    nodes_[from].unsealed.erase(rank(reduce));
    nodes_[to].bytes += reduces_[reduce].size;
    nodes_[to].unsealed.insert(rank(reduce));
    mapping_.node[reduce] = to;
  }

  std::span<const double> slots_;
  std::span<const SizedReduce> reduces_;
  const double most_worse_;
  std::vector<Node> nodes_;
  std::vector<std::size_t> order_;  // reduces, the largest first
  ReduceMapping mapping_;
};

}  // namespace

ReduceMapping map_reduces(std::span<const double> slots, std::span<const SizedReduce> reduces, double neutral, double most_worse,
                          std::span<const double> loads) {
  WEFT_ASSERT(!slots.empty() && (loads.empty() || loads.size() == slots.size()));
  return Mapper(slots, reduces, most_worse, loads).run(neutral);
}

ReduceMapping map_reduces(std::span<const double> slots, std::span<const SizedReduce> reduces,
                          std::span<const EarlierPlace> earlier, double neutral, double most_worse, std::span<const double> loads) {
  std::vector<SizedReduce> all(reduces.begin(), reduces.end());
  for (std::size_t i = 0; i < std::min(all.size(), earlier.size()); ++i) {
    const EarlierPlace& before = earlier[i];
    SizedReduce& reduce = all[i];
    reduce.size += before.size;
    if (!before.node || reduce.size <= 0 || before.size < reduce.size * reduce.share) continue;
    reduce.share = before.size / reduce.size;
    reduce.producer = before.node;
  }
  return map_reduces(slots, all, neutral, most_worse, loads);
}

}  // namespace weft::schedulers
