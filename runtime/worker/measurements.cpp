#include "runtime/worker/measurements.hpp"

#include <algorithm>
#include <utility>

namespace weft::runtime {
namespace {

double rate(std::uint64_t before, std::uint64_t now, Duration elapsed) {
  return now > before && elapsed > Duration(0) ? static_cast<double>(now - before) / in_seconds(elapsed) : 0;
}

}  // namespace

protocol::Measured Measurements::measure(std::span<const pid_t> processes, shuffle::LinkTraffic traffic,
                                         std::span<const storage::RackBytes> chunks, TimePoint now) {
  for (const storage::RackBytes& bytes : chunks) {
    shuffle::LinkBytes& sum = traffic.by_rack[bytes.rack];
    sum.received += bytes.received;
    sum.sent += bytes.sent;
  }
  const Duration elapsed = last_ == TimePoint() ? Duration(0) : now - last_;
  last_ = now;
  protocol::Measured measured;
  const UsageMeter::Reading reading = meter_.read(processes, now);
  measured.worker = reading.processes;
  measured.machine = reading.machine;
  for (const auto& [rack, bytes] : traffic.by_rack) {
    const shuffle::LinkBytes before = racks_[rack];
    const protocol::RackTraffic moved{rack, rate(before.received, bytes.received, elapsed), rate(before.sent, bytes.sent, elapsed)};
    if (rack == rack_ || (moved.in == 0 && moved.out == 0)) continue;
    measured.cross_rack_in += moved.in;
    measured.cross_rack_out += moved.out;
    measured.racks.push_back(moved);
  }
  racks_ = std::move(traffic.by_rack);
  std::stable_sort(measured.racks.begin(), measured.racks.end(),
                   [](const auto& a, const auto& b) { return a.in + a.out > b.in + b.out; });
  if (measured.racks.size() > protocol::kMostRacks) measured.racks.resize(protocol::kMostRacks);
  return measured;
}

}  // namespace weft::runtime
