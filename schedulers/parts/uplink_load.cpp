#include "schedulers/parts/uplink_load.hpp"

#include <algorithm>
#include <cmath>

namespace weft::schedulers {

namespace {

/// The rate as a part of the link's capacity `carries`, or else of the largest rate seen.
double part_of_link(double rate, double carries, double most, bool guess) {
  if (carries > 0) return rate / carries;
  return guess && most > 0 ? rate / most : 0;
}

}  // namespace

Result<UplinkLoadOptions> take_uplink_load(Options& options) {
  UplinkLoadOptions load;
  WEFT_ASSIGN(load.threshold, options.number("threshold", load.threshold, 0, 1e9));
  WEFT_ASSIGN(load.interval, options.duration("interval", load.interval));
  if (load.interval <= Time(0)) return fail(Code::invalid_argument, "scheduler option interval must be more than 0");
  WEFT_ASSIGN(load.window, options.duration("window", load.window));
  WEFT_ASSIGN(
      load.aggregation,
      options.choice<UplinksAsked>(
          "aggregation", {{"own", UplinksAsked::own}, {"mean", UplinksAsked::mean}, {"busiest", UplinksAsked::busiest}}, "own"));
  WEFT_ASSIGN(load.guess, options.choice<bool>("unknown_uplinks", {{"largest", true}, {"never", false}}, "largest"));
  return load;
}

std::size_t racks_with_nodes(const ClusterView& view) {
  return static_cast<std::size_t>(
      std::ranges::count_if(view.racks(), [](const auto& entry) { return !entry.second.nodes.empty(); }));
}

bool UplinkLoad::sample(const ClusterView& view) {
  const double passed = last_ ? std::chrono::duration<double>(view.now() - *last_).count() : 0;
  const double window = std::chrono::duration<double>(options_.window).count();
  const double fresh = last_ && window > 0 ? 1 - std::exp(-passed / window) : 1;
  last_ = view.now();
  std::unordered_map<RackId, Smoothed> now;
  double sum = 0, most = 0;
  for (const auto& [id, rack] : view.racks()) {
    if (rack.nodes.empty()) continue;
    Smoothed& next = now[id];
    if (const auto before = racks_.find(id); before != racks_.end()) next = before->second;
    const auto mix = [fresh](double& smoothed, double part) { smoothed += fresh * (part - smoothed); };
    mix(next.up, part_of_link(rack.cross_rack.up, rack.uplink.up, rack.most_cross_rack.up, options_.guess));
    mix(next.down, part_of_link(rack.cross_rack.down, rack.uplink.down, rack.most_cross_rack.down, options_.guess));
    sum += next.busier();
    most = std::max(most, next.busier());
  }
  const auto answer = [this](const Smoothed& rack, double mean, double busiest) {
    const double part = options_.aggregation == UplinksAsked::own    ? rack.busier()
                        : options_.aggregation == UplinksAsked::mean ? mean
                                                                     : busiest;
    return part > options_.threshold;
  };
  const double mean = now.empty() ? 0 : sum / static_cast<double>(now.size());
  bool changed = false;
  for (const auto& [id, rack] : now) {
    const auto before = racks_.find(id);
    changed = changed || answer(rack, mean, most) != (before != racks_.end() && answer(before->second, mean_, busiest_));
  }
  racks_ = std::move(now);
  mean_ = mean;
  busiest_ = most;
  return changed;
}

double UplinkLoad::utilisation(RackId rack) const {
  if (options_.aggregation == UplinksAsked::mean) return mean_;
  if (options_.aggregation == UplinksAsked::busiest) return busiest_;
  const auto found = racks_.find(rack);
  return found == racks_.end() ? 0 : found->second.busier();
}

}  // namespace weft::schedulers
