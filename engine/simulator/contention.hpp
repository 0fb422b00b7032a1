// Tasks that work on a node at the same time, and want more of its processors, disk or memory than it has. All of them become
// slower, and the node does less work in all, because disks seek and memory is paged.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/simulator/cluster_model.hpp"

namespace weft::simulator {

/// Attempts are named by their slots. Idle machines cost nothing.
class Contention {
 public:
  using Slot = std::uint32_t;

  Contention(const InterferenceModel& model, std::uint32_t machines) : model_(model), nodes_(machines) {}

  /// The attempt loads the machine from now on. `work`: how long it would work alone; unset: it loads the machine until end().
  void begin(Time now, std::uint32_t machine, Slot slot, const schedulers::Resources& load, std::optional<Time> work);
  /// Ends the attempt's load, even if work is left. False: it had none.
  bool end(Time now, std::uint32_t machine, Slot slot);
  void clear(std::uint32_t machine);
  /// `speed`: the factor of all work on the machine from now on.
  void set_speed(Time now, std::uint32_t machine, double speed);

  /// When the first of the machine's attempts will have done its work. With any change before, `turn` becomes another one.
  struct Next {
    Time at{0};
    std::uint64_t turn = 0;
  };
  std::optional<Next> next(std::uint32_t machine) const;
  /// The attempts that have done their work by now, in the order of begin(), if it is still that turn. The caller ends them.
  std::vector<Slot> done(Time now, std::uint32_t machine, std::uint64_t turn);

  /// The present use of the machine.
  schedulers::Resources used(std::uint32_t machine) const;

 private:
  struct Working {
    Slot slot = 0;
    schedulers::Resources load;
    double left = 0;  // seconds, if nothing else worked
    double speed = 1;
  };
  struct Node {
    std::vector<Working> working;
    Time updated{0};
    std::uint64_t turn = 0;
    double speed = 1;
  };
  void pass(Node& node, Time now) const;
  void set_speeds(Node& node) const;

  const InterferenceModel model_;
  std::vector<Node> nodes_;
};

}  // namespace weft::simulator
