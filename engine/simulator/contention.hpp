// Tasks on a node that work at the same time and want more of its processors, disk or memory than there is: all of them work more
// slowly, and the node gets less done in all, for disks seek and memory is paged.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/simulator/cluster_model.hpp"

namespace weft::simulator {

/// Attempts are known by their slots. Machines with nothing to do cost nothing.
class Contention {
 public:
  using Slot = std::uint32_t;

  Contention(const InterferenceModel& model, std::uint32_t machines) : model_(model), nodes_(machines) {}

  /// The attempt loads the machine from now on: until it has worked for so long, if nothing else did; without, until it is ended.
  void begin(Time now, std::uint32_t machine, Slot slot, const schedulers::Resources& load, std::optional<Time> work);
  /// It does no more, whatever is left. False: it did nothing.
  bool end(Time now, std::uint32_t machine, Slot slot);
  void clear(std::uint32_t machine);
  /// All work of the machine is so many times as fast from now on.
  void set_speed(Time now, std::uint32_t machine, double speed);

  /// When the first of the machine's attempts has done its work, unless something changes before; then `turn` is another one.
  struct Next {
    Time at{0};
    std::uint64_t turn = 0;
  };
  std::optional<Next> next(std::uint32_t machine) const;
  /// Those that have done their work by now, in the order in which they began, if it is still that turn. They are to be ended.
  std::vector<Slot> done(Time now, std::uint32_t machine, std::uint64_t turn);

  /// What is in use of the machine now.
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
