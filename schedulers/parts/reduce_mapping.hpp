// Which node each reduce of a shuffle goes to, all rounds at once: the heuristic MinHeap of SCache with its locality swap
// (section 3.3, algorithms 1 and 2). Plain numbers in, plain numbers out; nodes are positions in a list.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace weft::schedulers {

struct SizedReduce {
  double size = 0;                      // bytes, as predicted
  double share = 0;                     // the part of it on the node that has most
  std::optional<std::size_t> producer;  // that node
};

struct ReduceMapping {
  std::vector<std::size_t> node;  // of each reduce
  double largest_before = 0;      // bytes per slot of the fullest node, before reduces were swapped
  double largest = 0;             // the same after swaps: at most 1 + most_worse times that
};

/// The largest reduce first, each goes to the node with the least so far. Then reduces move to their producers in exchange for
/// others of about their size, where no node becomes fuller than the fullest one plus `most_worse` of it; less the nearer a
/// reduce's share is to `neutral`, the share without any locality (1 / maps). `slots`: tasks that each node runs at a time, each
/// positive; at least one node. `loads`: bytes of other work on each node, which count as reduces that do not move; empty: none.
ReduceMapping map_reduces(std::span<const double> slots, std::span<const SizedReduce> reduces, double neutral,
                          double most_worse = 0.1, std::span<const double> loads = {});

/// Where a reduce was placed for earlier shuffles, and how much it reads of them.
struct EarlierPlace {
  double size = 0;
  std::optional<std::size_t> node;
};
/// The same for one more shuffle that the same tasks read: where the input that was prefetched to a node is larger than the
/// producer's share of the new shuffle, that node counts as the producer.
ReduceMapping map_reduces(std::span<const double> slots, std::span<const SizedReduce> reduces,
                          std::span<const EarlierPlace> earlier, double neutral, double most_worse = 0.1,
                          std::span<const double> loads = {});

}  // namespace weft::schedulers
