// Multi-resource demands and capacities (DRF, Tetris and Carbyne pack all four; slot schedulers look at cpu only).
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

namespace weft::sched {

/// Time as the core is told it: since an arbitrary epoch, never going back.
using Time = std::chrono::nanoseconds;

/// Amounts. A node whose capacity of memory, disk or network is 0 does not account for it, so any demand fits; cpu always counts.
struct Resources {
  double cpu = 0;      // cores, or slots
  double memory = 0;   // bytes
  double disk = 0;     // bytes per second
  double network = 0;  // bytes per second

  Resources& operator+=(const Resources& other) {
    cpu += other.cpu, memory += other.memory, disk += other.disk, network += other.network;
    return *this;
  }
  Resources& operator-=(const Resources& other) {
    cpu -= other.cpu, memory -= other.memory, disk -= other.disk, network -= other.network;
    return *this;
  }
  friend Resources operator+(Resources a, const Resources& b) { return a += b; }
  friend Resources operator-(Resources a, const Resources& b) { return a -= b; }
  friend Resources operator*(Resources a, double factor) {
    a.cpu *= factor, a.memory *= factor, a.disk *= factor, a.network *= factor;
    return a;
  }
  friend bool operator==(const Resources&, const Resources&) = default;
};

/// Finite and not negative.
inline bool valid(const Resources& r) {
  auto one = [](double x) { return x >= 0 && x <= 1e300; };
  return one(r.cpu) && one(r.memory) && one(r.disk) && one(r.network);
}

/// Whether `demand` fits beside `used` in `capacity`. Sums of fractions are compared with a relative slack of 1e-9.
inline bool fits(const Resources& demand, const Resources& used, const Resources& capacity) {
  auto one = [](double want, double taken, double all) { return want <= 0 || all == 0 || want + taken <= all * (1 + 1e-9); };
  return demand.cpu + used.cpu <= capacity.cpu * (1 + 1e-9) && one(demand.memory, used.memory, capacity.memory) &&
         one(demand.disk, used.disk, capacity.disk) && one(demand.network, used.network, capacity.network);
}

/// The largest share of any resource of `total` (DRF's dominant share); resources with total 0 do not count.
inline double dominant_share(const Resources& part, const Resources& total) {
  auto share = [](double some, double all) { return all > 0 ? some / all : 0.0; };
  return std::max({share(part.cpu, total.cpu), share(part.memory, total.memory), share(part.disk, total.disk),
                   share(part.network, total.network)});
}

/// From `from` on, this much is available (until the next step).
struct CapacityStep {
  Time from{0};
  Resources available;
  friend bool operator==(const CapacityStep&, const CapacityStep&) = default;
};

std::string to_string(const Resources& resources);

}  // namespace weft::sched
