// The free capacity of a cluster from now on, if running tasks end at their believed times and planned tasks begin as planned.
//
// Amounts are parts of the cluster. The capacity that is free now is an argument of begin(). Future changes are kept in order of
// time: adding one costs O(log n), and a question visits the changes within its duration, each once per begin().
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "schedulers/planning/alignment.hpp"
#include "schedulers/planning/dag_packing.hpp"
#include "schedulers/view/resources.hpp"

namespace weft::schedulers {

class FutureCapacity {
 public:
  /// `asked`: false where nobody asks, so that nothing need be kept.
  explicit FutureCapacity(bool asked = true) : asked_(asked) {}

  /// From `at` on, `tasks` more tasks use `demand` (fewer if negative). A change that is not in the future is ignored. take_back()
  /// with the same arguments removes it.
  void add(Time at, const Parts& demand, double tasks);
  void take_back(Time at, const Parts& demand, double tasks);
  void clear();

  /// A round of questions begins. `free`: now.
  void begin(Time now, const Parts& free);
  /// Whether a task may begin now without displacing a planned one.
  bool holds(const Parts& demand, Time duration);
  /// The task begins. Later answers of this round are too careful or right, never too bold.
  void taken(const Parts& demand);
  /// Whether a whole plan that begins now fits beside all other changes. Its launches are counted from now.
  bool holds(const Dag& dag, const DagPlan& plan, const Parts& free) const;

 private:
  struct Step {
    Parts used{};
    std::uint32_t changes = 0;
  };
  using Steps = std::map<Time, Step>;
  void change(Time at, const Parts& demand, double tasks, bool back);

  bool asked_;
  Time now_ = Time::min();
  Steps steps_;
  Steps::iterator next_ = steps_.end();       // the first that no question of this round has visited
  Parts free_{}, low_{};                      // before next_, and the least until then
  std::vector<std::pair<Time, Parts>> lows_;  // the least until then, and from when on; ascending
};

}  // namespace weft::schedulers
