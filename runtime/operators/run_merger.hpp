// Merges sorted runs with a loser tree (Knuth, TAOCP 3, 5.4.1): one comparison per level and record. Equal records come from
// the earlier run first. Each step gives out one record of one run, so even an absurd comparator only spoils the order.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "runtime/operators/spill.hpp"

namespace weft::runtime {

/// `Order`: std::uint64_t prefix(ByteView) and bool less(ByteView, ByteView) for equal prefixes.
template <class Order>
class RunMerger {
 public:
  RunMerger(SpillFile& file, std::vector<SpillRun> runs, Order& order) : order_(order), losers_(runs.size(), kNone) {
    sources_.reserve(runs.size());
    for (SpillRun& run : runs) sources_.push_back(Source{SpillReader(file, std::move(run)), {}, 0, true});
  }

  bool next() {
    if (sources_.empty()) return false;
    if (winner_ == kNone) {
      for (std::size_t i = 0; i < sources_.size(); ++i) advance(sources_[i]);
      for (std::size_t i = 0; i < sources_.size(); ++i) play(i);
    } else {
      advance(sources_[winner_]);
      play(winner_);
    }
    return sources_[winner_].live;
  }
  /// Valid until next().
  ByteView record() const { return sources_[winner_].record; }
  std::uint64_t prefix() const { return sources_[winner_].prefix; }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  struct Source {
    SpillReader reader;
    ByteView record;
    std::uint64_t prefix;
    bool live;
  };

  void advance(Source& source) {
    source.live = source.reader.next(source.record);
    if (source.live) source.prefix = order_.prefix(source.record);
  }

  bool beats(std::size_t a, std::size_t b) {
    const Source& x = sources_[a];
    const Source& y = sources_[b];
    if (!x.live || !y.live) return x.live;
    if (x.prefix != y.prefix) return x.prefix < y.prefix;
    if (Order::kPrefixDecides) return a < b;
    return a < b ? !order_.less(y.record, x.record) : order_.less(x.record, y.record);
  }

  /// Climbs from leaf `contender` to the root. While the tree is being filled, the first to reach a node waits there.
  void play(std::size_t contender) {
    for (std::size_t node = (contender + sources_.size()) / 2; node > 0; node /= 2) {
      std::size_t& loser = losers_[node];
      if (loser == kNone) {
        loser = contender;
        return;
      }
      if (beats(loser, contender)) std::swap(loser, contender);
    }
    winner_ = contender;
  }

  Order& order_;
  std::vector<Source> sources_;
  std::vector<std::size_t> losers_;  // inner nodes 1 … n-1
  std::size_t winner_ = kNone;
};

}  // namespace weft::runtime
