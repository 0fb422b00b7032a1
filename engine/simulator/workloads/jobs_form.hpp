// What the objects of a jobs file hold, once for the reader and the writer. A form has a method for each kind of member, which
// takes the member's name and where its value is (option: the option of a job, and where all of them are):
//
//   text, integer (with bounds), real (with bounds), time, bytes, resources, times, reals, and those of stages alone: parents,
//   hosts, speedups, failures; of jobs alone: option.
#pragma once

#include "engine/simulator/workload.hpp"
#include "engine/simulator/workloads/lines.hpp"

namespace weft::simulator::workloads {

template <class Form>
void describe_stage(Form& form) {
  form.text("name", &StageSpec::name);
  form.integer("tasks", &StageSpec::tasks, 1, kMaxTasks);
  form.parents("parents", &StageSpec::parents);
  form.time("duration", &StageSpec::duration);
  form.times("durations", &StageSpec::durations);
  form.time("estimate", &StageSpec::estimate);
  form.time("planned", &StageSpec::planned);
  form.resources("demand", &StageSpec::demand);
  form.resources("load", &StageSpec::load);
  form.bytes("input", &StageSpec::input_bytes);
  form.hosts("hosts", &StageSpec::hosts);
  form.bytes("shuffle", &StageSpec::shuffle_bytes);
  form.integer("broadcast", &StageSpec::broadcast, 0, 1);
  form.integer("merged", &StageSpec::merged, 0, 1);
  form.real("skew", &StageSpec::partition_skew, 0, 100);
  form.reals("partitions", &StageSpec::partition_weights);
  form.bytes("output", &StageSpec::output_bytes);
  form.speedups("speedups", &StageSpec::speedups);
  form.failures("failures", &StageSpec::failures);
}

template <class Form>
void describe_job(Form& form) {
  form.text("name", &JobSpec::name);
  form.time("arrival", &JobSpec::arrival);
  form.time("deadline", &JobSpec::deadline);
  for (const master::JobOption& option : master::job_options())
    if (option.simulated) form.option(option, &JobSpec::options);
}

template <class Form>
void describe_hints(Form& form) {
  form.real("weight", &schedulers::JobHints::weight, 1e-9, 1e9);
  form.real("relative_reduce_cost", &schedulers::JobHints::relative_reduce_cost, 0, 1e12);
  form.real("shuffle_ratio", &schedulers::JobHints::shuffle_ratio, 0, 1e12);
  form.resources("map_profile", &schedulers::JobHints::map_profile);
  form.resources("shuffle_profile", &schedulers::JobHints::shuffle_profile);
  form.resources("reduce_profile", &schedulers::JobHints::reduce_profile);
}

template <class Form>
void describe_host(Form& form) {
  form.text("host", &HostSpec::name);
  form.text("rack", &HostSpec::rack);
}

}  // namespace weft::simulator::workloads
