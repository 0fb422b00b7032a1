#include "schedulers/policies/delay.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"
#include "schedulers/parts/measured_wait.hpp"

namespace weft::schedulers {

namespace {

constexpr Time kDefaultWait = std::chrono::seconds(5);
constexpr Time kLongestAuto = std::chrono::seconds(15);

/// A wait; nothing: "auto".
using Wanted = std::optional<Time>;

/// Long enough for a heartbeat of every node, each of which may have had free capacity at the job's data.
Time automatic_wait(Time heartbeat) { return heartbeat > Time(0) ? std::min(heartbeat * 3 / 2, kLongestAuto) : kDefaultWait; }

Result<Wanted> take_wait(Options& options, const std::string& key) {
  WEFT_ASSIGN(const std::string text, options.text(key, ""));
  if (text == "auto") return Wanted();
  if (text.empty()) return Wanted(kDefaultWait);
  auto parsed = parse_duration(text);
  if (!parsed) return fail(std::move(parsed).error().wrap(fmt::format("scheduler option {} is a time or auto", key)));
  return Wanted(*parsed);
}

/// Waits a time at each level.
class TwoLevels final : public LocalityWait {
 public:
  TwoLevels(Wanted node_wait, Wanted rack_wait) : node_wanted_(node_wait), rack_wanted_(rack_wait) {}

  Result<void> start(const ClusterView& view, Part* before) override {
    node_wait_ = node_wanted_.value_or(automatic_wait(view.heartbeat()));
    rack_wait_ = rack_wanted_.value_or(automatic_wait(view.heartbeat()));
    if (const auto* old = dynamic_cast<const TwoLevels*>(before)) waits_ = old->waits_;
    return {};
  }
  void on_event(const ClusterView&, const Notice& notice) override {
    if (notice.kind == Notice::Kind::job_ended) waits_.erase(notice.job);
  }
  Locality allowed(const ClusterView& view, const JobInfo& job) override {
    const Wait& wait = waits_[job.id];
    const Time waited = wait.since ? view.now() - *wait.since : Time(0);
    if (wait.level == Locality::any || waited >= until(wait, Locality::any)) return Locality::any;
    return wait.level == Locality::rack || waited >= until(wait, Locality::rack) ? Locality::rack : Locality::node;
  }
  bool skipped(const ClusterView& view, const JobInfo& job, std::size_t, Decisions& decisions) override {
    Wait& wait = waits_[job.id];
    if (!wait.since) wait.since = view.now();
    const Locality now = allowed(view, job);
    const Locality next = now == Locality::node ? Locality::rack : Locality::any;
    decisions.wake_at(*wait.since + until(wait, next));
    return false;
  }
  void launched(const ClusterView&, const JobInfo& job, Locality locality) override { waits_[job.id] = {locality, std::nullopt}; }

 private:
  struct Wait {
    Locality level = Locality::node;  // of its last launch
    std::optional<Time> since;        // when it first skipped a node after that
  };
  /// How long a job with this wait skips nodes that are as far as that.
  Time until(const Wait& wait, Locality locality) const {
    if (wait.level >= locality) return Time(0);
    if (wait.level == Locality::rack) return rack_wait_;
    return locality == Locality::rack ? node_wait_ : node_wait_ + rack_wait_;
  }

  Wanted node_wanted_, rack_wanted_;
  Time node_wait_{0}, rack_wait_{0};
  std::map<JobId, Wait> waits_;
};

/// Skips a number of opportunities.
class SkipCount final : public LocalityWait {
 public:
  explicit SkipCount(std::uint64_t most) : most_(most) {}

  Result<void> start(const ClusterView&, Part* before) override {
    if (const auto* old = dynamic_cast<const SkipCount*>(before)) skips_ = old->skips_;
    return {};
  }
  void on_event(const ClusterView&, const Notice& notice) override {
    if (notice.kind == Notice::Kind::job_ended) skips_.erase(notice.job);
  }
  Locality allowed(const ClusterView&, const JobInfo& job) override {
    return skips_[job.id] >= most_ ? Locality::any : Locality::node;
  }
  bool skipped(const ClusterView&, const JobInfo& job, std::size_t nodes, Decisions&) override {
    std::uint64_t& skips = skips_[job.id];
    const bool more = nodes > most_ - skips;  // more opportunities than it still skips
    skips = more ? most_ : skips + nodes;
    return more;
  }
  void launched(const ClusterView&, const JobInfo& job, Locality locality) override {
    if (locality == Locality::node) skips_[job.id] = 0;
  }

 private:
  std::uint64_t most_;
  std::map<JobId, std::uint64_t> skips_;
};

}  // namespace

Result<Composition> make_delay(Options& options, const Registry& registry) {
  WEFT_ASSIGN(const std::string inner, options.text("inner", "fair"));
  WEFT_ASSIGN(Composition parts, registry.compose(inner, options.reader()));
  if (parts.locality_wait) return fail(Code::invalid_argument, "scheduler option inner is a delay scheduler itself");
  const bool times_given = options.given("node_wait") || options.given("rack_wait");
  WEFT_ASSIGN(const Wanted node_wait, take_wait(options, "node_wait"));
  WEFT_ASSIGN(const Wanted rack_wait, take_wait(options, "rack_wait"));
  const bool counts = options.given("skips");
  if (counts && times_given)
    return fail(Code::invalid_argument,
                "scheduler option skips counts offers instead of time: leave out either it or node_wait and rack_wait");
  WEFT_ASSIGN(const std::uint64_t skips, options.whole("skips", 0));
  WEFT_ASSIGN(const bool as_published,
              options.choice<bool>("mode", {{"measured", false}, {"paper", true}}, counts || times_given ? "paper" : "measured"));
  if (!as_published && (counts || times_given))
    return fail(Code::invalid_argument,
                "scheduler option mode=measured measures how long to wait: leave out node_wait, rack_wait and skips");
  if (counts) {
    parts.locality_wait = std::make_unique<SkipCount>(skips);
  } else if (!as_published) {
    parts.locality_wait = std::make_unique<MeasuredWait>();
  } else {
    parts.locality_wait = std::make_unique<TwoLevels>(node_wait, rack_wait);
  }
  return parts;
}

}  // namespace weft::schedulers
