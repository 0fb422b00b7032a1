#include "shuffle/transfer/links.hpp"

#include <algorithm>
#include <chrono>

namespace weft::shuffle {
namespace {

constexpr std::size_t kMostPeers = 4096;  // counted one by one; peers give these addresses, and are not to be trusted

}  // namespace

TimePoint Links::free_at(const std::string& address) const {
  const auto link = free_at_.find(address);
  return link == free_at_.end() ? TimePoint() : link->second;
}

void Links::received(const std::string& address, TimePoint requested, std::uint64_t bytes) {
  bytes_of(address).received += bytes;
  if (bytes_per_second_ == 0) return;
  TimePoint& free = free_at_[address];
  const std::chrono::duration<double> time(static_cast<double>(bytes) / bytes_per_second_);
  free = std::max(free, requested) + std::chrono::duration_cast<Duration>(time);
}

void Links::set_rack(const std::string& address, const std::string& rack) {
  if (racks_.size() < kMostPeers || racks_.contains(address)) racks_[address] = rack;
}

const std::string& Links::rack_of(const std::string& address) const {
  static const std::string kUnknown;
  const auto rack = racks_.find(address);
  return rack == racks_.end() ? kUnknown : rack->second;
}

LinkBytes& Links::bytes_of(const std::string& address) {
  return bytes_[bytes_.size() < kMostPeers || bytes_.contains(address) ? address : std::string()];
}

LinkTraffic Links::traffic() const {
  LinkTraffic traffic{bytes_, {}};
  for (const auto& [address, bytes] : bytes_) {
    const auto rack = racks_.find(address);
    LinkBytes& sum = traffic.by_rack[rack == racks_.end() ? std::string() : rack->second];
    sum.received += bytes.received;
    sum.sent += bytes.sent;
  }
  return traffic;
}

}  // namespace weft::shuffle
