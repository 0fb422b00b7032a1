// What will happen in a simulated run, in order of time, then of kind, then of insertion.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "schedulers/view/resources.hpp"

namespace weft::simulator {

using schedulers::Time;

/// In the order of events at one moment: the world first, then the events of the master, its timers last.
enum class What : std::uint8_t {
  fault,
  death,
  repair,
  silence,
  work_done,
  works_done,
  moving,
  answered,
  taken,
  poll,
  availability,
  arrival,
  plan,
  injected,
  report,
  heartbeat,
  timer
};

struct AgendaEvent {
  What what = What::timer;
  std::uint32_t slot = 0, generation = 0;
  std::uint64_t id = 0;
};

class Agenda {
 public:
  void add(Time at, AgendaEvent event) {
    const std::uint64_t order = static_cast<std::uint64_t>(event.what) << 56 | sequence_++;
    heap_.push_back({at, order, event.slot, event.generation, event.id});
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  bool empty() const { return heap_.empty(); }
  Time next() const { return heap_.front().at; }

  AgendaEvent take() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const Entry entry = heap_.back();
    heap_.pop_back();
    return {static_cast<What>(entry.order >> 56), entry.slot, entry.generation, entry.id};
  }

 private:
  struct Entry {
    Time at;
    std::uint64_t order;
    std::uint32_t slot, generation;
    std::uint64_t id;
    friend bool operator>(const Entry& a, const Entry& b) { return a.at != b.at ? a.at > b.at : a.order > b.order; }
  };
  std::vector<Entry> heap_;
  std::uint64_t sequence_ = 0;
};

}  // namespace weft::simulator
