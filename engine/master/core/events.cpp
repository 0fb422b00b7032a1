#include "engine/master/core/events.hpp"

#include <utility>

#include "base/printable.hpp"
#include "engine/master/core/counters.hpp"
#include "schedulers/view/hints.hpp"

namespace weft::master {

namespace {

struct Copy {
  Event operator()(const TaskFinished& event) const {
    return TaskFinished{event.attempt,          event.node,        event.output,        Buffer::copy_of(event.result.view()),
                        event.counters,         event.input_bytes, event.input_records, event.shuffle_times,
                        event.sample_histogram, event.usage,       event.device};
  }
  template <class Other>
  Event operator()(const Other& event) const {
    return event;
  }
};

}  // namespace

Result<JobSubmitted> submission(JobId job, std::string name, JobOptions options, Time now) {
  JobSubmitted event{job, std::move(name), std::move(options), {}, {}};
  event.hints.weight = event.options.weight.value_or(1);
  Time deadline = event.options.deadline;
  WEFT_TRY(schedulers::set_hints(event.options.hints, event.hints, deadline));
  if (deadline > Time(0)) event.deadline = now + deadline;
  return event;
}

Event end_of_attempt(runtime::protocol::Event reported, NodeId node) {
  Counters counters;
  add_counters(counters, reported.counters);
  if (reported.kind != runtime::TaskEnd::finished)
    return TaskFailed{reported.attempt, node, reported.kind, bounded(std::move(reported.message)), reported.fetch, reported.device};
  return TaskFinished{reported.attempt,
                      node,
                      std::move(reported.output),
                      std::move(reported.result),
                      std::move(counters),
                      reported.input_bytes,
                      reported.input_records,
                      reported.shuffle_times,
                      std::move(reported.sample_histogram),
                      reported.usage,
                      reported.device};
}

Event copy_of(const Event& event) { return std::visit(Copy{}, event); }

}  // namespace weft::master
