// Multi-resource demands and capacities, and their text form "cpu=1,memory=512MiB".
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/lean/algorithm.hpp"
#include "base/lean/chrono.hpp"
#include "base/result.hpp"

namespace weft::schedulers {

/// The core's time: since an arbitrary epoch, never going back.
using Time = std::chrono::nanoseconds;

/// Amounts. Where a node's capacity of some kind is 0, it does not account for that kind, and any demand fits. cpu and accelerator
/// always count: a task that demands a device goes to no node without one.
struct Resources {
  double cpu = 0;           // cores, or slots
  double memory = 0;        // bytes
  double disk_read = 0;     // bytes per second, as the next three
  double network_in = 0;    //
  double disk_write = 0;    //
  double network_out = 0;   //
  double map_slots = 0;     // typed slots of Hadoop 1: stages that read no shuffle take one of these,
  double reduce_slots = 0;  // the others one of these
  double accelerator = 0;   // devices (docs/accelerators.md)
  friend bool operator==(const Resources&, const Resources&) = default;
};

struct ResourceKind {
  std::string_view name;
  double Resources::*amount;
  bool bytes = false;  // written with units of size
};
/// Every operation loops over this list.
inline constexpr std::array<ResourceKind, 9> kResourceKinds{{{"cpu", &Resources::cpu},
                                                             {"memory", &Resources::memory, true},
                                                             {"disk_read", &Resources::disk_read, true},
                                                             {"disk_write", &Resources::disk_write, true},
                                                             {"network_in", &Resources::network_in, true},
                                                             {"network_out", &Resources::network_out, true},
                                                             {"map_slots", &Resources::map_slots},
                                                             {"reduce_slots", &Resources::reduce_slots},
                                                             {"accelerator", &Resources::accelerator}}};

inline Resources& operator+=(Resources& a, const Resources& b) {
  for (const auto& kind : kResourceKinds) a.*kind.amount += b.*kind.amount;
  return a;
}
inline Resources& operator-=(Resources& a, const Resources& b) {
  for (const auto& kind : kResourceKinds) a.*kind.amount -= b.*kind.amount;
  return a;
}
inline Resources operator+(Resources a, const Resources& b) { return a += b; }
inline Resources operator-(Resources a, const Resources& b) { return a -= b; }
inline Resources operator*(Resources a, double factor) {
  for (const auto& kind : kResourceKinds) a.*kind.amount *= factor;
  return a;
}

/// Finite and not negative.
inline bool valid(const Resources& r) {
  return std::all_of(kResourceKinds.begin(), kResourceKinds.end(),
                     [&r](const ResourceKind& kind) { return r.*kind.amount >= 0 && r.*kind.amount <= 1e300; });
}

/// Whether a node of `capacity` keeps account of this amount.
inline bool accounted(const ResourceKind& kind, const Resources& capacity) {
  return capacity.*kind.amount > 0 || kind.amount == &Resources::cpu || kind.amount == &Resources::accelerator;
}

/// Whether `demand` fits beside `used` in `capacity`. Sums of fractions are compared with a relative slack of 1e-9.
inline bool fits(const Resources& demand, const Resources& used, const Resources& capacity) {
  return std::all_of(kResourceKinds.begin(), kResourceKinds.end(), [&](const ResourceKind& kind) {
    const double want = demand.*kind.amount;
    return want <= 0 || !accounted(kind, capacity) || want + used.*kind.amount <= capacity.*kind.amount * (1 + 1e-9);
  });
}

/// The largest share of any resource of `total` (DRF's dominant share); resources with total 0 do not count.
inline double dominant_share(const Resources& part, const Resources& total) {
  double largest = 0;
  for (const auto& kind : kResourceKinds) {
    if (total.*kind.amount > 0) largest = std::max(largest, part.*kind.amount / total.*kind.amount);
  }
  return largest;
}

/// Bytes per second over a rack's uplink: out of the rack, and into it.
struct UplinkRate {
  double up = 0, down = 0;
  friend bool operator==(const UplinkRate&, const UplinkRate&) = default;
};

/// From `from` on, this much is available (until the next step).
struct CapacityStep {
  Time from{0};
  Resources available;
  friend bool operator==(const CapacityStep&, const CapacityStep&) = default;
};

/// The amounts that are not 0, exactly, as parse_resources() takes them: "cpu=1,memory=512MiB"; "cpu=0" when all are.
std::string to_string(const Resources& resources);
/// "cpu=1,memory=512MiB,network_in=1.5e6": names of kResourceKinds, each once; kinds that are not named are 0. invalid_argument:
/// the message names the wrong part.
Result<Resources> parse_resources(std::string_view text);
/// parse_resources() for messages that carry amounts as text (base/rpc/versioned.hpp).
Result<void> from_text(std::string_view text, Resources& resources);

}  // namespace weft::schedulers
