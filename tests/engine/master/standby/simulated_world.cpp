#include "tests/engine/master/standby/simulated_world.hpp"

namespace weft::master::test {

void SimulatedWorld::after_in(Process process, std::uint64_t life, Duration delay, Action action) {
  after(delay, [this, process, life, action = std::move(action)]() mutable {
    State& state = processes_[process];
    if (state.life != life) return;
    if (state.stopped) return state.waiting.push_back(std::move(action));
    action();
  });
}

void SimulatedWorld::run(Duration until) {
  while (!agenda_.empty() && agenda_.begin()->first.first <= until) {
    auto next = agenda_.extract(agenda_.begin());
    now_ = next.key().first;
    next.mapped()();
  }
  now_ = until;
}

void SimulatedWorld::kill(Process process) {
  State& state = processes_[process];
  ++state.life;
  state.up = state.stopped = false;
  state.waiting.clear();
}

void SimulatedWorld::go_on(Process process) {
  State& state = processes_[process];
  state.stopped = false;
  for (Action& action : std::exchange(state.waiting, {})) after(process, Duration(0), std::move(action));
}

}  // namespace weft::master::test
