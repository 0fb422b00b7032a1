#include "schedulers/policies/shufflewatcher.hpp"

#include <functional>
#include <utility>

#include <fmt/format.h>

#include "schedulers/parts/network_aware.hpp"
#include "schedulers/parts/network_gains.hpp"
#include "schedulers/parts/preplacement.hpp"

namespace weft::schedulers {

namespace {

/// Places readers of shuffles while maps run, by the parts of racks.
class BySharesOfRacks final : public Placement {
 public:
  using PartsFor = std::function<RackParts(const ClusterView& view, const JobInfo& job, const StageInfo& reader)>;
  explicit BySharesOfRacks(PartsFor parts_for) : parts_for_(std::move(parts_for)) {}

  bool places(const ClusterView&, const JobInfo&, const StageInfo&) const override { return false; }
  std::optional<std::uint32_t> choose(const ClusterView&, const JobInfo&, const StageInfo&, const NodeInfo&) override {
    return std::nullopt;
  }
  void waiting(const ClusterView&, const JobInfo&, const StageInfo&, Decisions&) override {}
  bool preplace(const ClusterView& view, const Preplaceable& what, Decisions& decisions) override {
    const JobInfo* job = view.job(what.job);
    const StageInfo* reader = view.stage(what.job, what.reader);
    if (reader == nullptr) return false;
    const RackParts parts = parts_for_(view, *job, *reader);
    if (parts.empty()) return false;
    preplace_by_size(view, what, decisions, std::map<RackId, double>(parts.begin(), parts.end()));
    return true;
  }

 private:
  PartsFor parts_for_;
};

Result<void> take_techniques(Options& options, bool& nass, NetworkAwareOptions& network) {
  WEFT_ASSIGN(nass, options.flag("nass", true));
  WEFT_ASSIGN(network.sarp, options.flag("sarp", nass));
  WEFT_ASSIGN(network.samp, options.flag("samp", network.sarp));
  if (network.sarp && !nass) return fail(Code::invalid_argument, "scheduler option sarp=true needs nass=true");
  if (network.samp && !network.sarp) return fail(Code::invalid_argument, "scheduler option samp=true needs sarp=true");
  return {};
}

/// Options that only the published rules have.
Result<void> refuse_published_options(const Options& options) {
  for (const char* key : {"jobs", "samp_wait", "relaxed", "starvation"}) {
    if (options.given(key))
      return fail(Code::invalid_argument, fmt::format("scheduler option {} needs mode=paper: add that, or leave it out", key));
  }
  return {};
}

/// The order decides from now on; `places`: where readers of shuffles are placed, too.
template <class Order>
void take_over(Composition& parts, std::unique_ptr<Order> order, bool places) {
  if (places) {
    parts.placement = std::make_unique<BySharesOfRacks>(
        [from = order.get()](const ClusterView& view, const JobInfo& job, const StageInfo& reader) {
          return from->parts_for(view, job, reader);
        });
  }
  parts.prefetch_limits = order.get();
  parts.jobs = std::move(order);
}

}  // namespace

Result<Composition> make_shufflewatcher(Options& options, const Registry& registry) {
  WEFT_ASSIGN(const bool as_published, options.choice<bool>("mode", {{"measured", false}, {"paper", true}}, "measured"));
  if (!as_published) WEFT_TRY(refuse_published_options(options));
  WEFT_ASSIGN(std::string users, options.text("users", as_published ? "fair" : "delay"));
  if (users == "drf") users = "drf(by=user)";
  WEFT_ASSIGN(Composition parts, registry.compose(users, options.reader()));
  if (parts.jobs->asks() != Asks::jobs || parts.placement || !parts.passes.empty())
    return fail(Code::invalid_argument,
                "scheduler option users must be an order of users: fair, drf, capacity, fifo, or delay around one of these");
  NetworkAwareOptions network;
  bool nass = true;
  WEFT_TRY(take_techniques(options, nass, network));
  WEFT_ASSIGN(network.load, take_uplink_load(options));
  WEFT_ASSIGN(network.map_completion, options.number("map_completion", network.map_completion, 0, 1));
  WEFT_ASSIGN(network.samp_wait, options.number("samp_wait", network.samp_wait, 0, 1000));
  WEFT_ASSIGN(network.shapes_traffic, options.choice<bool>("shape", {{"launch", false}, {"traffic", true}}, "launch"));
  WEFT_ASSIGN(const std::uint64_t tokens, options.whole("tokens", network.tokens));
  if (tokens > UINT16_MAX) return fail(Code::invalid_argument, "scheduler option tokens must be at most 65535");
  network.tokens = static_cast<std::uint32_t>(tokens);
  WEFT_ASSIGN(
      network.jobs,
      options.choice<UsersJobs>(
          "jobs", {{"shortest", UsersJobs::shortest}, {"fewest", UsersJobs::fewest}, {"arrival", UsersJobs::arrival}}, "shortest"));
  WEFT_ASSIGN(network.starvation, options.duration("starvation", network.starvation));
  WEFT_ASSIGN(network.relaxed, options.duration("relaxed", parts.locality_wait ? Time(std::chrono::seconds(5)) : Time(0)));
  if (!nass) return parts;
  if (as_published) {
    take_over(parts, std::make_unique<NetworkAware>(std::move(parts.jobs), parts.groups, network), network.sarp);
  } else {
    parts.in_turns = true;
    const NetworkGainsOptions gains{network.sarp,           network.samp,           network.load,
                                    network.map_completion, network.shapes_traffic, network.tokens};
    take_over(parts, std::make_unique<NetworkGains>(std::move(parts.jobs), gains), network.sarp);
  }
  parts.asks = Asks::jobs;
  parts.urgency = nullptr;  // goals, if users are ordered by them, do not decide which of their tasks a node gets
  return parts;
}

}  // namespace weft::schedulers
