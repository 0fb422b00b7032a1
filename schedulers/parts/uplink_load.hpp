// The used part of each rack's uplink, smoothed: the NetSat daemon of ShuffleWatcher (Ahmad et al., USENIX ATC 2014, section 3.1).
// Its source is the traffic between racks that workers report: map outputs, chunks that are read, and replicas.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "schedulers/config/options.hpp"
#include "schedulers/view/view.hpp"

namespace weft::schedulers {

/// Which uplinks count for a rack: its own, the mean of all, or the busiest.
enum class UplinksAsked : std::uint8_t { own = 0, mean = 1, busiest = 2 };

struct UplinkLoadOptions {
  double threshold = 0.8;                   // the used part above which an uplink is saturated
  Time interval = std::chrono::seconds(1);  // between two samples
  Time window = std::chrono::seconds(5);    // a sample that old weighs 1/e; 0: only the last one counts
  UplinksAsked aggregation = UplinksAsked::own;
  bool guess = true;  // the largest rate ever reported stands for an unknown capacity; false: such an uplink is never saturated
};
/// The options threshold, interval, window, aggregation and unknown_uplinks.
Result<UplinkLoadOptions> take_uplink_load(Options& options);

/// With fewer than two there are no uplinks to save.
std::size_t racks_with_nodes(const ClusterView& view);

/// Belongs to one scheduler.
class UplinkLoad {
 public:
  explicit UplinkLoad(const UplinkLoadOptions& options) : options_(options) {}

  /// Takes a sample. True: saturated() has changed for some rack.
  bool sample(const ClusterView& view);
  /// The used part of the busier direction, by the aggregation. 0 before the first sample, and where nothing crosses.
  double utilisation(RackId rack) const;
  /// The mean of the used parts of all racks.
  double mean() const { return mean_; }
  bool saturated(RackId rack) const { return utilisation(rack) > options_.threshold; }

 private:
  struct Smoothed {
    double up = 0, down = 0;
    double busier() const { return up > down ? up : down; }
  };
  UplinkLoadOptions options_;
  std::optional<Time> last_;
  std::unordered_map<RackId, Smoothed> racks_;
  double mean_ = 0, busiest_ = 0;  // over the racks
};

}  // namespace weft::schedulers
