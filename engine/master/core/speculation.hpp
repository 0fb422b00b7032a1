// When a running task is given a speculative attempt (speculative execution): the rules of Hadoop, with LATE's caps and its refusal
// of slow nodes. The core finds the stragglers (core/straggler_watch.hpp); the scheduler says where their speculative attempts go.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "schedulers/view/resources.hpp"

namespace weft::master {

struct Speculation {
  bool on = false;
  double slower = 1.5;  // an attempt that has run this many times as long as its task should take straggles…
  schedulers::Time shortest = std::chrono::seconds(5);  // …and at least so long
  double finished = 0.5;  // part of a stage's tasks that must have finished before others are measured against them
  schedulers::Time every = std::chrono::seconds(1);  // between two looks at what runs
  double per_job = 0.1;      // speculative attempts of a job at a time, as a part of its running tasks; ten in any case
  double per_cluster = 0.1;  // of all jobs, as a part of the slots; one in any case
  double slow_node = 1.5;    // a node whose tasks take this many times as long as elsewhere takes no speculative attempts
  friend bool operator==(const Speculation&, const Speculation&) = default;
};

/// "off", "on", or "on(slower=2, shortest=10s, …)" with the names above. Errors name the option and what it may be.
Result<Speculation> parse_speculation(std::string_view text);
/// What parse_speculation() reads.
std::string to_string(const Speculation& speculation);

}  // namespace weft::master
