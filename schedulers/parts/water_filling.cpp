#include "schedulers/parts/water_filling.hpp"

#include <algorithm>

namespace weft::schedulers {

std::vector<double> water_fill(const std::vector<Claim>& claims, double capacity) {
  struct Bend {  // of the sum of shares as a function of r: from here on it grows by that much more or less
    double at, slope;
  };
  std::vector<double> shares;
  std::vector<Bend> bends;
  double guaranteed = 0;
  for (const Claim& claim : claims) {
    shares.push_back(std::min(claim.guaranteed, claim.demand));
    guaranteed += shares.back();
  }
  if (guaranteed >= capacity) {
    for (double& share : shares) share *= guaranteed > 0 ? capacity / guaranteed : 0;
    return shares;
  }
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (claims[i].demand <= shares[i]) continue;
    bends.push_back({shares[i] / claims[i].weight, claims[i].weight});
    bends.push_back({claims[i].demand / claims[i].weight, -claims[i].weight});
  }
  std::sort(bends.begin(), bends.end(), [](const Bend& a, const Bend& b) { return a.at < b.at; });
  double left = capacity - guaranteed, level = 0, slope = 0;
  for (const Bend& bend : bends) {
    if (slope > 0 && slope * (bend.at - level) >= left) break;
    left -= slope * (bend.at - level);
    level = bend.at;
    slope += bend.slope;
  }
  if (slope > 1e-12) level += left / slope;
  for (std::size_t i = 0; i < claims.size(); ++i)
    shares[i] = std::min(claims[i].demand, std::max(shares[i], level * claims[i].weight));
  return shares;
}

}  // namespace weft::schedulers
