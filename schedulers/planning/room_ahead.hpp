// What is free of a cluster from now on, if tasks end when they are believed to and what is planned begins when it is planned.
//
// Amounts are parts of the cluster. What is used now is not known here: begin() is told what is free. Changes in the future are
// kept in order of time; adding one costs O(log n), and a question the changes within the time that it asks for, once per begin().
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "schedulers/planning/alignment.hpp"
#include "schedulers/planning/dag_packing.hpp"
#include "schedulers/view/resources.hpp"

namespace weft::schedulers {

class RoomAhead {
 public:
  /// From `at` on, so many tasks more use `demand` (fewer, if negative). What is not in the future any more counts as having
  /// happened. Taken back with the same arguments.
  void add(Time at, const Parts& demand, double tasks);
  void take_back(Time at, const Parts& demand, double tasks);
  void clear();

  /// A round of questions begins. `free`: now.
  void begin(Time now, const Parts& free);
  /// Whether a task may begin now without that anything planned lacks room.
  bool holds(const Parts& demand, Time duration);
  /// It begins. Further questions of this round may be answered too carefully, never too boldly.
  void taken(const Parts& demand);
  /// Whether all of a plan that begins now has room beside the rest. Its launches are counted from now.
  bool holds(const Dag& dag, const DagPlan& plan, const Parts& free) const;

 private:
  struct Step {
    Parts used{};
    std::uint32_t changes = 0;
  };
  using Steps = std::map<Time, Step>;
  void change(Time at, const Parts& demand, double tasks, bool back);

  Time now_ = Time::min();
  Steps steps_;
  Steps::iterator next_ = steps_.end();       // to be looked at
  Parts free_{}, low_{};                      // before next_, and the least until then
  std::vector<std::pair<Time, Parts>> lows_;  // from when on the least is so much; ascending
};

}  // namespace weft::schedulers
