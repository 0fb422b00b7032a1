// Virtual time, processes that stop, die and start again, and messages between them that come late: for simulations of masters.
// The same seed gives the same run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/random.hpp"

namespace weft::master::test {

class SimulatedWorld {
 public:
  using Process = std::uint32_t;  // from 0
  using Action = std::function<void()>;

  SimulatedWorld(std::uint64_t seed, std::uint32_t processes) : random(seed), processes_(processes) {}

  Duration now() const { return now_; }
  /// An event of the world, whatever the processes do.
  void after(Duration delay, Action action) { agenda_.emplace(std::pair(now_ + delay, sequence_++), std::move(action)); }
  /// An event of a process: never, if it has died by then; as soon as it goes on, if it is stopped then.
  void after(Process process, Duration delay, Action action) { after_in(process, life(process), delay, std::move(action)); }
  /// Likewise, for a process that may have died since it had that life().
  void after_in(Process process, std::uint64_t life, Duration delay, Action action);
  std::uint64_t life(Process process) const { return processes_[process].life; }
  Duration between(Duration shortest, Duration longest) { return Duration(random.between(shortest.count(), longest.count())); }
  /// Runs until that time.
  void run(Duration until);

  bool up(Process process) const { return processes_[process].up; }
  void start(Process process) { processes_[process].up = true; }
  void kill(Process process);
  void stop(Process process) { processes_[process].stopped = true; }
  void go_on(Process process);

  Random random;

 private:
  struct State {
    bool up = false, stopped = false;
    std::uint64_t life = 0;
    std::vector<Action> waiting;  // until it goes on
  };
  std::vector<State> processes_;
  Duration now_{0};
  std::map<std::pair<Duration, std::uint64_t>, Action> agenda_;
  std::uint64_t sequence_ = 0;
};

}  // namespace weft::master::test
