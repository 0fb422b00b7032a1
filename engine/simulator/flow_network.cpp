#include "engine/simulator/flow_network.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "engine/simulator/free_places.hpp"

namespace weft::simulator {

namespace {

double seconds(Time time) { return static_cast<double>(time.count()) * 1e-9; }

/// What is left of a flow when it is as good as ended: less than moves in a nanosecond, or than its sum can tell.
double slack(double rate, double until) { return rate * 1.5e-9 + until * 1e-12; }

constexpr std::uint32_t kNowhere = UINT32_MAX;

}  // namespace

FlowNetwork::Link FlowNetwork::add_link(double capacity) {
  WEFT_ASSERT(capacity > 0);
  links_.emplace_back().capacity = capacity;
  filling_.emplace_back();
  return static_cast<Link>(links_.size() - 1);
}

void FlowNetwork::go_to(Time now) {
  if (now <= now_) return;
  settle();
  now_ = now;
}

void FlowNetwork::update(Bundle& bundle) {
  bundle.service += bundle.rate * seconds(now_ - bundle.updated);
  bundle.updated = now_;
}

void FlowNetwork::update(LinkState& link) {
  link.bytes += link.rate * seconds(now_ - link.updated);
  link.updated = now_;
}

std::uint32_t FlowNetwork::bundle_of(std::vector<Use> uses, double weight) {
  std::sort(uses.begin(), uses.end());
  const auto [known, added] = known_.try_emplace(Key(weight, std::move(uses)), 0);
  if (!added) return known->second;
  const std::uint32_t id = take_place(bundles_, free_bundles_);
  open_.resize(bundles_.size());
  known->second = id;
  Bundle& bundle = bundles_[id];
  bundle.known = known;
  bundle.weight = weight;
  bundle.flows = 0;
  bundle.rate = bundle.service = 0;
  bundle.updated = now_;
  bundle.heap_slot = kNowhere;
  const auto add = [&](const Use& use) {
    WEFT_ASSERT(use.fraction > 0);
    auto& users = links_[use.link].users;
    bundle.uses.push_back({use.fraction, use.link, static_cast<std::uint32_t>(users.size())});
    users.push_back({id, static_cast<std::uint32_t>(bundle.uses.size() - 1), 0});
  };
  for (const Use& use : known->first.second) {
    if (finite(use.link)) add(use);
  }
  bundle.finite = static_cast<std::uint32_t>(bundle.uses.size());
  for (const Use& use : known->first.second) {
    if (!finite(use.link)) add(use);
  }
  return id;
}

void FlowNetwork::resize(Bundle& bundle, std::uint32_t flows) {
  const double before = bundle.flows < flows ? bundle.rate : -bundle.rate;
  bundle.flows = flows;
  bundle.alone = kUnlimited;
  for (std::size_t i = 0; i < bundle.uses.size(); ++i) {
    const Placed& use = bundle.uses[i];
    LinkState& link = links_[use.link];
    update(link);
    link.rate += use.fraction * before;
    if (i >= bundle.finite) continue;
    const double wanted = use.fraction * bundle.weight * flows;
    link.users[use.position].wanted = wanted;
    bundle.alone = std::min(bundle.alone, link.capacity / wanted);
    link.changed = true;
    dirty_.push_back(use.link);
  }
}

/// One flow of it has ended or was stopped.
void FlowNetwork::leave(std::uint32_t id) {
  Bundle& bundle = bundles_[id];
  resize(bundle, bundle.flows - 1);
  if (bundle.flows == 0) return dissolve(id);
  while (flows_[bundle.members.front().flow].sequence != bundle.members.front().sequence) drop_first(bundle);
}

void FlowNetwork::dissolve(std::uint32_t id) {
  Bundle& bundle = bundles_[id];
  unschedule(id);
  for (const Placed& use : bundle.uses) {
    LinkState& link = links_[use.link];
    const User moved = link.users[use.position] = link.users.back();
    bundles_[moved.bundle].uses[moved.use].position = use.position;
    link.users.pop_back();
    if (link.users.empty()) link.rate = 0;  // no drift of sums of fractions
  }
  known_.erase(bundle.known);
  bundle.uses.clear();
  bundle.members.clear();
  free_bundles_.push_back(id);
}

FlowNetwork::Flow FlowNetwork::start(Time now, double bytes, std::vector<Use> uses, double weight) {
  WEFT_ASSERT(bytes > 0 && weight > 0);
  go_to(now);
  const Flow id = take_place(flows_, free_flows_);
  ++active_;
  FlowState& flow = flows_[id];
  flow.sequence = ++sequence_;
  flow.bundle = kNowhere;
  if (std::none_of(uses.begin(), uses.end(), [this](const Use& use) { return finite(use.link); })) {
    for (const Use& use : uses) links_[use.link].bytes += use.fraction * bytes;
    flow.from = bytes;
    instant_.push_back(id);
    return id;
  }
  flow.bundle = bundle_of(std::move(uses), weight);
  Bundle& bundle = bundles_[flow.bundle];
  resize(bundle, bundle.flows + 1);
  update(bundle);
  flow.from = bundle.service;
  bundle.members.push_back({bundle.service + bytes, flow.sequence, id});
  std::push_heap(bundle.members.begin(), bundle.members.end());
  return id;
}

double FlowNetwork::moved(Time now, Flow id) {
  go_to(now);
  const FlowState& flow = flows_[id];
  if (flow.bundle == kNowhere) return flow.from;
  update(bundles_[flow.bundle]);
  return bundles_[flow.bundle].service - flow.from;
}

double FlowNetwork::stop(Time now, Flow id) {
  const double bytes = moved(now, id);
  end(id);
  if (flows_[id].bundle == kNowhere) {
    std::erase(instant_, id);
  } else {
    leave(flows_[id].bundle);
  }
  return bytes;
}

void FlowNetwork::end(Flow flow) {
  flows_[flow].sequence = 0;
  free_flows_.push_back(flow);
  --active_;
}

void FlowNetwork::drop_first(Bundle& bundle) {
  std::pop_heap(bundle.members.begin(), bundle.members.end());
  bundle.members.pop_back();
}

std::optional<Time> FlowNetwork::next() {
  if (!instant_.empty()) return now_;
  settle();
  if (endings_.empty() || endings_.front().at == Time::max()) return std::nullopt;
  return endings_.front().at;
}

void FlowNetwork::advance(Time now, std::vector<Flow>& ended) {
  go_to(now);
  settle();
  for (Flow flow : instant_) end(flow);
  ended.insert(ended.end(), instant_.begin(), instant_.end());
  instant_.clear();
  while (!endings_.empty() && endings_.front().at <= now_) {
    const std::uint32_t id = endings_.front().bundle;
    Bundle& bundle = bundles_[id];
    update(bundle);
    unschedule(id);
    bool any = false;  // the first ends for certain: its time has come
    while (!bundle.members.empty()) {
      const Member first = bundle.members.front();
      if (any && first.until > bundle.service + slack(bundle.rate, first.until)) break;
      any = true;
      drop_first(bundle);
      end(first.flow);
      ended.push_back(first.flow);
      leave(id);
    }
  }
}

double FlowNetwork::rate(Flow flow) {
  settle();
  return flows_[flow].bundle == kNowhere ? kUnlimited : bundles_[flows_[flow].bundle].rate;
}

double FlowNetwork::link_rate(Link link) {
  settle();
  return links_[link].rate;
}

double FlowNetwork::link_bytes(Time now, Link id) {
  go_to(now);
  update(links_[id]);
  return links_[id].bytes;
}

}  // namespace weft::simulator
