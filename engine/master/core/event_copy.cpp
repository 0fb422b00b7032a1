#include "engine/master/core/events.hpp"

namespace weft::master {

namespace {

struct Copy {
  Event operator()(const TaskFinished& event) const {
    return TaskFinished{event.attempt,          event.node,        event.output,        Buffer::copy_of(event.result.view()),
                        event.counters,         event.input_bytes, event.input_records, event.shuffle_times,
                        event.sample_histogram, event.usage};
  }
  template <class Other>
  Event operator()(const Other& event) const {
    return event;
  }
};

}  // namespace

Event copy_of(const Event& event) { return std::visit(Copy{}, event); }

}  // namespace weft::master
