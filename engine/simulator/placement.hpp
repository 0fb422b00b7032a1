// Where the replicas of files lie: the rule of HDFS, and a knob for how much a job's input is concentrated on one rack.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "engine/simulator/machines.hpp"

namespace weft::simulator {

/// Places the blocks of one job's inputs: the first replica anywhere, the second in another rack, the third in the rack of the
/// second, the rest anywhere, and no two on one machine. A part of the blocks (StorageModel::concentration) has its first replica
/// in the job's home rack.
class Placement {
 public:
  Placement(const Machines& machines, const StorageModel& storage, Random random);
  std::uint32_t home_rack() const { return home_; }
  /// Machines, distinct, first replica first.
  std::vector<std::uint32_t> block();
  /// Places `count` further replicas of what `writer` writes.
  std::vector<std::uint32_t> replicas(std::uint32_t writer, std::uint32_t count);

 private:
  std::uint32_t anywhere() { return static_cast<std::uint32_t>(random_.below(machines_->count())); }
  void spread(std::vector<std::uint32_t>& replicas, std::uint32_t count);

  const Machines* machines_;
  StorageModel storage_;
  Random random_;
  std::uint32_t home_ = 0;
};

}  // namespace weft::simulator
