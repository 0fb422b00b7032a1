// Bytes that move over shared links: every flow has its max-min fair rate at every moment.
//
// A flow uses links, each for a part of its bytes: a fetch from several racks uses the uplink of each for the bytes that lie there.
// The rates of all flows grow evenly, in proportion to their weights, until a link that they use is full. So no flow can become
// faster unless one that is not faster becomes slower. Flows with the same links and parts form one bundle. A change recomputes
// only the bundles that are connected with it over links that can become full.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "schedulers/view/resources.hpp"

namespace weft::simulator {

using schedulers::Time;

class FlowNetwork {
 public:
  using Link = std::uint32_t;
  using Flow = std::uint32_t;  // may be used again for another flow after it has ended or was stopped

  struct Use {
    Link link = 0;
    double fraction = 1;  // of the flow's bytes; positive
    friend auto operator<=>(const Use&, const Use&) = default;
  };

  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  /// Bytes per second, positive. An unlimited link only counts.
  Link add_link(double capacity);

  /// Positive bytes; each link at most once. A flow without finite links ends at once.
  Flow start(Time now, double bytes, std::vector<Use> uses, double weight = 1);
  /// Breaks the flow; returns how many of its bytes have moved.
  double stop(Time now, Flow flow);
  /// How many of its bytes have moved.
  double moved(Time now, Flow flow);

  /// When the next flow ends; nothing while no flow runs. Never before the last `now`.
  std::optional<Time> next();
  /// Whether a flow ends at the last `now`, by the rates before the changes at that time.
  bool ending() const { return !instant_.empty() || (!endings_.empty() && endings_.front().at <= now_); }
  /// Lets time pass, to next() at the most, and appends the flows that have ended, those of a bundle in the order of their starts.
  void advance(Time now, std::vector<Flow>& ended);

  double rate(Flow flow);
  double link_rate(Link link);
  double link_bytes(Time now, Link link);  // since the beginning
  std::size_t flows() const { return active_; }

 private:
  struct Placed {
    double fraction = 1;
    Link link = 0;
    std::uint32_t position = 0;  // in the link's list
  };
  struct Member {
    double until = 0;  // the bundle's service at which it ends
    std::uint64_t sequence = 0;
    Flow flow = 0;
    friend bool operator<(const Member& a, const Member& b) {  // the first to end on top of a heap
      return a.until != b.until ? a.until > b.until : a.sequence > b.sequence;
    }
  };
  using Key = std::pair<double, std::vector<Use>>;
  using Known = std::map<Key, std::uint32_t>;

  struct Bundle {
    std::vector<Placed> uses;  // those of finite links first
    std::uint32_t finite = 0;  // number of uses of finite links
    std::uint32_t flows = 0;
    double weight = 1;
    double alone = 0;    // its level if it were alone, the most that it can get
    double rate = 0;     // of each flow
    double service = 0;  // bytes of each flow since the bundle began
    Time updated{0};
    std::uint32_t heap_slot = 0;  // in endings_
    std::vector<Member> members;  // a heap with a running flow on top; may hold flows that were stopped
    Known::iterator known;
  };
  struct User {
    std::uint32_t bundle = 0, use = 0;  // which of its uses
    double wanted = 0;                  // of the link by all its flows, for each unit of level
  };
  struct LinkState {
    double capacity = 0;
    double rate = 0, bytes = 0;
    Time updated{0};
    double level = 0;      // at which it is full when all its users grow evenly
    bool binding = false;  // some user can reach that level; else the link limits none
    bool changed = false;  // level and binding must be recomputed
    std::vector<User> users;
  };
  /// A link while rates are computed.
  struct Filling {
    double left = 0;          // capacity that no rate uses yet
    std::uint32_t open = 0;   // users without a new rate yet
    std::uint32_t stamp = 0;  // of the last visit
  };
  struct Level {
    double level = 0;
    Link link = 0;
    std::uint32_t open = 0;  // users for which it was computed
    friend bool operator>(const Level& a, const Level& b) { return a.level != b.level ? a.level > b.level : a.link > b.link; }
  };
  struct Ending {
    Time at{0};  // when the bundle's first flow ends
    std::uint32_t bundle = 0;
    friend bool operator<(const Ending& a, const Ending& b) { return a.at != b.at ? a.at < b.at : a.bundle < b.bundle; }
  };
  struct FlowState {
    std::uint32_t bundle = 0;
    double from = 0;             // the bundle's service when it started
    std::uint64_t sequence = 0;  // 0: none
  };

  bool finite(Link link) const { return links_[link].capacity != kUnlimited; }
  void go_to(Time now);
  std::uint32_t bundle_of(std::vector<Use> uses, double weight);
  void resize(Bundle& bundle, std::uint32_t flows);
  void leave(std::uint32_t bundle);
  void dissolve(std::uint32_t bundle);
  void end(Flow flow);
  static void drop_first(Bundle& bundle);
  void update(Bundle& bundle);
  void update(LinkState& link);
  // Rates (flow_rates.cpp).
  void settle();
  void collect();
  void fill();
  void fix(std::uint32_t bundle, double level);
  Level take_lowest();
  void sum_up(LinkState& link) const;
  double level(Link link) const;
  void set_rate(Bundle& bundle, double rate);
  // The heap of bundles by the time of their first ending.
  void reschedule(std::uint32_t bundle);
  void unschedule(std::uint32_t bundle);
  void sift(std::uint32_t slot, Ending ending);
  void put(std::uint32_t slot, const Ending& ending);

  Time now_{0};
  std::uint64_t sequence_ = 0;
  std::size_t active_ = 0;
  std::vector<LinkState> links_;
  std::vector<Bundle> bundles_;
  std::vector<FlowState> flows_;
  std::vector<std::uint32_t> free_bundles_, free_flows_;
  Known known_;
  std::vector<Ending> endings_;
  std::vector<Flow> instant_;  // without finite links
  std::vector<Link> dirty_;    // finite links whose users changed
  // Scratch of settle(): small and by index, because every change visits it.
  std::uint32_t stamp_ = 0;
  std::vector<Filling> filling_;     // by link
  std::vector<std::uint32_t> open_;  // by bundle: the stamp while it has no new rate yet
  std::vector<Link> part_links_;
  std::vector<std::uint32_t> part_bundles_;
  std::vector<Level> levels_, later_;  // a heap of those below horizon_, and the others
  double horizon_ = 0;
};

}  // namespace weft::simulator
