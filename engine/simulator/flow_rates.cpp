// Max-min fair rates by progressive filling, of the part of the network that a change can have touched.
#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/simulator/flow_network.hpp"

namespace weft::simulator {

namespace {
constexpr std::uint32_t kNowhere = UINT32_MAX;
}

/// Everything connected with the changed links over finite links.
void FlowNetwork::collect() {
  ++stamp_;
  part_links_.clear();
  part_bundles_.clear();
  const auto visit = [this](Link id) {
    if (links_[id].stamp == stamp_ || links_[id].capacity == kUnlimited) return;
    links_[id].stamp = stamp_;
    part_links_.push_back(id);
  };
  for (Link link : dirty_) visit(link);
  dirty_.clear();
  for (std::size_t i = 0; i < part_links_.size(); ++i) {
    for (const auto& [id, use] : links_[part_links_[i]].bundles) {
      Bundle& bundle = bundles_[id];
      if (bundle.stamp == stamp_) continue;
      bundle.stamp = stamp_;
      part_bundles_.push_back(id);
      for (const Placed& other : bundle.uses) visit(other.link);
    }
  }
}

/// How far its open flows can grow before the link is full. Summed afresh: differences of sums would drift.
double FlowNetwork::level(Link id) const {
  const LinkState& link = links_[id];
  double wanted = 0;
  for (const auto& [bundle_id, use] : link.bundles) {
    const Bundle& bundle = bundles_[bundle_id];
    if (!bundle.fixed) wanted += bundle.uses[use].fraction * bundle.weight * bundle.flows;
  }
  return std::max(0.0, link.left) / wanted;
}

void FlowNetwork::fill() {
  levels_.clear();
  for (std::uint32_t bundle : part_bundles_) bundles_[bundle].fixed = false;
  for (Link id : part_links_) {
    LinkState& link = links_[id];
    link.left = link.capacity;
    link.open = static_cast<std::uint32_t>(link.bundles.size());
    if (link.open > 0) levels_.emplace_back(level(id), id);
  }
  std::make_heap(levels_.begin(), levels_.end(), std::greater<>());
  while (!levels_.empty()) {
    std::pop_heap(levels_.begin(), levels_.end(), std::greater<>());
    const auto [before, id] = levels_.back();
    levels_.pop_back();
    LinkState& link = links_[id];
    if (link.open == 0) continue;
    const double now = level(id);
    if (now > before * (1 + 1e-12)) {  // others were fixed below it: it can give more than it seemed
      levels_.emplace_back(now, id);
      std::push_heap(levels_.begin(), levels_.end(), std::greater<>());
      continue;
    }
    for (const auto& [bundle_id, use] : link.bundles) {
      Bundle& bundle = bundles_[bundle_id];
      if (bundle.fixed) continue;
      bundle.fixed = true;
      const double rate = now * bundle.weight;
      for (const Placed& other : bundle.uses) {
        LinkState& crossed = links_[other.link];
        crossed.left -= other.fraction * rate * bundle.flows;
        --crossed.open;
      }
      set_rate(bundle, rate);
    }
  }
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

bool FlowNetwork::sooner(std::uint32_t a, std::uint32_t b) const {
  return bundles_[a].ends != bundles_[b].ends ? bundles_[a].ends < bundles_[b].ends : a < b;
}

void FlowNetwork::sift(std::uint32_t slot) {
  const std::uint32_t id = endings_[slot];
  while (slot > 0 && sooner(id, endings_[(slot - 1) / 2])) {
    endings_[slot] = endings_[(slot - 1) / 2];
    bundles_[endings_[slot]].heap_slot = slot;
    slot = (slot - 1) / 2;
  }
  for (;;) {
    std::size_t child = 2 * static_cast<std::size_t>(slot) + 1;
    if (child >= endings_.size()) break;
    if (child + 1 < endings_.size() && sooner(endings_[child + 1], endings_[child])) ++child;
    if (!sooner(endings_[child], id)) break;
    endings_[slot] = endings_[child];
    bundles_[endings_[slot]].heap_slot = slot;
    slot = static_cast<std::uint32_t>(child);
  }
  endings_[slot] = id;
  bundles_[id].heap_slot = slot;
}

void FlowNetwork::reschedule(std::uint32_t id) {
  Bundle& bundle = bundles_[id];
  drop_stopped(bundle);
  const double left =
      bundle.members.front().until - bundle.service - bundle.rate * static_cast<double>((now_ - bundle.updated).count()) * 1e-9;
  const double nanoseconds = std::ceil(std::max(0.0, left) / bundle.rate * 1e9);
  const double most = static_cast<double>((Time::max() - now_).count());
  bundle.ends = nanoseconds < most * 0.99 ? now_ + Time(static_cast<std::int64_t>(nanoseconds)) : Time::max();
  if (bundle.heap_slot == kNowhere) {
    bundle.heap_slot = static_cast<std::uint32_t>(endings_.size());
    endings_.push_back(id);
  }
  sift(bundle.heap_slot);
}

void FlowNetwork::unschedule(std::uint32_t id) {
  const std::uint32_t slot = bundles_[id].heap_slot;
  if (slot == kNowhere) return;
  bundles_[id].heap_slot = kNowhere;
  const std::uint32_t last = endings_.back();
  endings_.pop_back();
  if (last == id) return;
  endings_[slot] = last;
  bundles_[last].heap_slot = slot;
  sift(slot);
}

}  // namespace weft::simulator
