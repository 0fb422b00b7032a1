// The members of the objects in a jobs file, once for the reader and the writer. A form is called with the name of each member and
// where its value is, and with bounds where numbers have some. The type of the member decides how it is written.
// Options of jobs know themselves how.
#pragma once

#include "engine/simulator/workload.hpp"
#include "engine/simulator/workloads/lines.hpp"

namespace weft::simulator::workloads {

template <class Form>
void describe_stage(Form& form) {
  form("name", &StageSpec::name);
  form("tasks", &StageSpec::tasks, 1, kMaxTasks);
  form("parents", &StageSpec::parents);
  form("duration", &StageSpec::duration);
  form("durations", &StageSpec::durations);
  form("estimate", &StageSpec::estimate);
  form("planned", &StageSpec::planned);
  form("demand", &StageSpec::demand);
  form("load", &StageSpec::load);
  form("input", &StageSpec::input_bytes);
  form("hosts", &StageSpec::hosts);
  form("shuffle", &StageSpec::shuffle_bytes);
  form("broadcast", &StageSpec::broadcast, 0, 1);
  form("merged", &StageSpec::merged, 0, 1);
  form("skew", &StageSpec::partition_skew, 0, 100);
  form("partitions", &StageSpec::partition_weights);
  form("output", &StageSpec::output_bytes);
  form("speedups", &StageSpec::speedups);
  form("failures", &StageSpec::failures);
}

template <class Form>
void describe_job(Form& form) {
  form("name", &JobSpec::name);
  form("arrival", &JobSpec::arrival);
  form("deadline", &JobSpec::deadline);
  for (const master::JobOption& option : master::job_options())
    if (option.simulated) form.option(option, &JobSpec::options);
}

template <class Form>
void describe_hints(Form& form) {
  form("weight", &schedulers::JobHints::weight, 1e-9, 1e9);
  form("relative_reduce_cost", &schedulers::JobHints::relative_reduce_cost, 0, 1e12);
  form("shuffle_ratio", &schedulers::JobHints::shuffle_ratio, 0, 1e12);
  form("map_profile", &schedulers::JobHints::map_profile);
  form("shuffle_profile", &schedulers::JobHints::shuffle_profile);
  form("reduce_profile", &schedulers::JobHints::reduce_profile);
}

template <class Form>
void describe_host(Form& form) {
  form("host", &HostSpec::name);
  form("rack", &HostSpec::rack);
}

}  // namespace weft::simulator::workloads
