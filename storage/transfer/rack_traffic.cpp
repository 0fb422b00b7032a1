#include "storage/transfer/rack_traffic.hpp"

namespace weft::storage {

void RackTally::set_rack(std::string rack) {
  const std::lock_guard lock(mutex_);
  rack_ = std::move(rack);
}

std::string RackTally::rack() const {
  const std::lock_guard lock(mutex_);
  return rack_;
}

void RackTally::add(const RackBytes& bytes) {
  const std::lock_guard lock(mutex_);
  if (!bytes.rack.empty() && !rack_.empty() && bytes.rack != rack_) count(bytes);
}

void RackTally::add(const std::vector<RackBytes>& counted) {
  const std::lock_guard lock(mutex_);
  for (const RackBytes& bytes : counted) count(bytes);
}

void RackTally::count(const RackBytes& bytes) {
  const bool named = racks_.contains(bytes.rack) ||
                     (bytes.rack.size() <= kMostNameBytes && racks_.size() - (racks_.contains("") ? 1 : 0) < kMostRacks);
  const std::string& rack = named ? bytes.rack : std::string();
  RackBytes& sum = racks_[rack];
  sum.rack = rack;
  sum.received += bytes.received;
  sum.sent += bytes.sent;
}

std::vector<RackBytes> RackTally::total() const {
  const std::lock_guard lock(mutex_);
  std::vector<RackBytes> all;
  for (const auto& [rack, bytes] : racks_) all.push_back(bytes);
  return all;
}

std::vector<RackBytes> RackTally::take() {
  const std::lock_guard lock(mutex_);
  std::vector<RackBytes> all;
  for (auto& [rack, bytes] : std::exchange(racks_, {})) all.push_back(bytes);
  return all;
}

}  // namespace weft::storage
