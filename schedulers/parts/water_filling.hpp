// Weighted max-min shares with guarantees, exactly (fair shares of Hadoop MR1).
#pragma once

#include <vector>

namespace weft::schedulers {

struct Claim {
  double weight = 1;
  double guaranteed = 0;  // minimum share; no more than the demand counts
  double demand = 0;
};

/// share_i = min(demand_i, max(guaranteed_i, r * weight_i)), with r such that they sum to min(capacity, all demands). Guarantees
/// that together exceed the capacity are scaled down.
std::vector<double> water_fill(const std::vector<Claim>& claims, double capacity);

}  // namespace weft::schedulers
