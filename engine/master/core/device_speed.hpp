// Whether tasks of a stage are sooner done with a device than without one.
#pragma once

#include <array>
#include <cstdint>
#include <set>

#include "base/ids.hpp"
#include "schedulers/view/view.hpp"

namespace weft::master {

/// What was measured of one stage. Tasks that hold a device count apart from those that run the operators' own functions. A
/// function of its calls: no clock.
class DeviceSpeed {
 public:
  /// An attempt begins that holds a device.
  void began_with_device() { ++tried_; }
  /// A task has ended on the node. The first one with a device on each node does not count: it compiles the kernel.
  void ended(bool with_device, NodeId node, schedulers::Time took);
  /// Whether a further task is to take a device where one is free: by what was measured, as soon as kEnough tasks have ended with
  /// one and without. Before that by the stage's profile, but one task tries in any case. Without a profile: yes.
  bool pays(const schedulers::StageInfo& stage) const;

  static constexpr std::uint32_t kEnough = 3;

 private:
  struct Ended {
    std::uint32_t tasks = 0;
    double seconds = 0;
    double mean() const { return seconds / tasks; }
  };
  std::uint32_t tried_ = 0;
  std::array<Ended, 2> ended_;  // without a device, with one
  std::set<NodeId> compiled_;   // nodes on which a task with a device has ended
};

}  // namespace weft::master
