// Max-min fair rates by progressive filling, of the part of the network that a change can have touched.
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "engine/simulator/flow_network.hpp"

namespace weft::simulator {

namespace {
constexpr std::uint32_t kNotInHeap = UINT32_MAX;
}

void FlowNetwork::sum_up(LinkState& link) const {
  double wanted = 0, furthest = 0;
  for (const User& user : link.users) {
    wanted += user.wanted;
    furthest = std::max(furthest, bundles_[user.bundle].alone);
  }
  link.level = link.capacity / wanted;
  link.binding = link.level <= furthest * (1 + 1e-9);
  link.changed = false;
}

/// Collects everything that is connected with the changed links over binding links.
void FlowNetwork::collect() {
  ++stamp_;
  part_links_.clear();
  part_bundles_.clear();
  const auto visit = [this](Link id) {
    Filling& filling = filling_[id];
    if (filling.stamp == stamp_) return;
    LinkState& link = links_[id];
    filling = {link.capacity, static_cast<std::uint32_t>(link.users.size()), stamp_};
    bool connects = link.binding;
    if (link.changed) {
      sum_up(link);
      connects |= link.binding;
    }
    if (connects) part_links_.push_back(id);
  };
  for (Link link : dirty_) visit(link);
  dirty_.clear();
  for (std::size_t i = 0; i < part_links_.size(); ++i) {
    for (const User& user : links_[part_links_[i]].users) {
      if (open_[user.bundle] == stamp_) continue;
      open_[user.bundle] = stamp_;
      part_bundles_.push_back(user.bundle);
      const Bundle& bundle = bundles_[user.bundle];
      for (std::uint32_t use = 0; use < bundle.finite; ++use) visit(bundle.uses[use].link);
    }
  }
}

/// How far its open flows can grow before the link is full. Summed afresh: differences of sums would drift.
double FlowNetwork::level(Link id) const {
  double wanted = 0;
  for (const User& user : links_[id].users) {
    if (open_[user.bundle] == stamp_) wanted += user.wanted;
  }
  return std::max(0.0, filling_[id].left) / wanted;
}

/// The level of the link that is full next. Only a few of the lowest are in a heap at a time: when the turn of the others comes,
/// most of their users have rates already.
FlowNetwork::Level FlowNetwork::take_lowest() {
  if (levels_.empty()) {
    std::erase_if(later_, [this](const Level& level) { return filling_[level.link].open == 0; });
    horizon_ = kUnlimited;
    for (const Level& level : later_) horizon_ = std::min(horizon_, level.level * 1.5);
    std::erase_if(later_, [this](const Level& level) {
      if (level.level > horizon_) return false;
      levels_.push_back(level);
      return true;
    });
    std::make_heap(levels_.begin(), levels_.end(), std::greater<>());
  }
  std::pop_heap(levels_.begin(), levels_.end(), std::greater<>());
  const Level lowest = levels_.back();
  levels_.pop_back();
  return lowest;
}

void FlowNetwork::fill() {
  levels_.clear();
  later_.clear();
  for (Link id : part_links_) {
    if (links_[id].binding) later_.push_back({links_[id].level, id, filling_[id].open});
  }
  for (std::size_t left = part_bundles_.size(); left > 0;) {
    const Level lowest = take_lowest();
    const std::uint32_t open = filling_[lowest.link].open;
    if (open == 0) continue;
    const double now = open == lowest.open ? lowest.level : level(lowest.link);
    if (now > lowest.level * (1 + 1e-12)) {  // others were fixed below it: it can give more than it seemed
      if (now > horizon_) {
        later_.push_back({now, lowest.link, open});
      } else {
        levels_.push_back({now, lowest.link, open});
        std::push_heap(levels_.begin(), levels_.end(), std::greater<>());
      }
      continue;
    }
    for (const User& user : links_[lowest.link].users) {
      if (std::exchange(open_[user.bundle], 0) != stamp_) continue;
      fix(user.bundle, now);
      --left;
    }
  }
}

/// The bundle gets its rate, and its links have less left for others.
void FlowNetwork::fix(std::uint32_t id, double level) {
  Bundle& bundle = bundles_[id];
  const double rate = level * bundle.weight;
  for (std::uint32_t use = 0; use < bundle.finite; ++use) {
    Filling& crossed = filling_[bundle.uses[use].link];
    crossed.left -= bundle.uses[use].fraction * rate * bundle.flows;
    --crossed.open;
  }
  set_rate(bundle, rate);
}

void FlowNetwork::set_rate(Bundle& bundle, double rate) {
  const double change = rate - bundle.rate;
  if (std::abs(change) <= 1e-12 * rate) return;
  update(bundle);
  for (const Placed& use : bundle.uses) {
    update(links_[use.link]);
    links_[use.link].rate += use.fraction * change * bundle.flows;
  }
  bundle.rate = rate;
}

void FlowNetwork::settle() {
  if (dirty_.empty()) return;
  collect();
  fill();
  for (std::uint32_t bundle : part_bundles_) reschedule(bundle);
}

void FlowNetwork::put(std::uint32_t slot, const Ending& ending) {
  endings_[slot] = ending;
  bundles_[ending.bundle].heap_slot = slot;
}

void FlowNetwork::sift(std::uint32_t slot, Ending ending) {
  for (; slot > 0 && ending < endings_[(slot - 1) / 2]; slot = (slot - 1) / 2) put(slot, endings_[(slot - 1) / 2]);
  for (;;) {
    std::size_t child = 2 * static_cast<std::size_t>(slot) + 1;
    if (child >= endings_.size()) break;
    if (child + 1 < endings_.size() && endings_[child + 1] < endings_[child]) ++child;
    if (!(endings_[child] < ending)) break;
    put(slot, endings_[child]);
    slot = static_cast<std::uint32_t>(child);
  }
  put(slot, ending);
}

void FlowNetwork::reschedule(std::uint32_t id) {
  Bundle& bundle = bundles_[id];
  const double left =
      bundle.members.front().until - bundle.service - bundle.rate * static_cast<double>((now_ - bundle.updated).count()) * 1e-9;
  const double nanoseconds = std::ceil(std::max(0.0, left) / bundle.rate * 1e9);
  const double most = static_cast<double>((Time::max() - now_).count());
  const Time ends = nanoseconds < most * 0.99 ? now_ + Time(static_cast<std::int64_t>(nanoseconds)) : Time::max();
  if (bundle.heap_slot == kNotInHeap) {
    bundle.heap_slot = static_cast<std::uint32_t>(endings_.size());
    endings_.emplace_back();
  } else if (endings_[bundle.heap_slot].at == ends) {
    return;
  }
  sift(bundle.heap_slot, {ends, id});
}

void FlowNetwork::unschedule(std::uint32_t id) {
  const std::uint32_t slot = std::exchange(bundles_[id].heap_slot, kNotInHeap);
  if (slot == kNotInHeap) return;
  const Ending last = endings_.back();
  endings_.pop_back();
  if (last.bundle != id) sift(slot, last);
}

}  // namespace weft::simulator
