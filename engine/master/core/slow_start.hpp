// Slow start: stages that begin before their inputs are complete, and wait for the rest while they run.
//
// Such early readers hold room that the stages they wait for may need. When nothing but early readers runs, and what they wait for
// finds room nowhere, the newest of them is to be stopped, and its job waits for complete inputs from then on. The same is done,
// some time later, when other tasks run, or the scheduler asks to be called again and again: so nobody waits for ever.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/master/core/context.hpp"

namespace weft::master {

class SlowStart {
 public:
  explicit SlowStart(CoreContext& context) : context_(context) {}

  bool on(const JobRecord& job) const { return job.info->slow_start < 1; }
  /// How many of the tasks of an input must be finished before its readers may start.
  std::uint32_t threshold(const JobRecord& job, const schedulers::StageInfo& input) const;

  // Counts running attempts. Each must be reported, also with slow start off.
  void attempt_started(JobRecord& job, const schedulers::StageInfo& stage);
  void attempt_ended(const schedulers::StageInfo& stage);
  void set_inputs_complete(const JobRecord& job, schedulers::StageInfo& stage, bool complete);

  /// The attempt to stop so that others can run, if that is necessary now.
  std::optional<TaskRef> reader_to_stop();
  /// The time has come to look for jobs that starve. One whose early readers wait for maps of which none has run for a while,
  /// whatever else runs, because others take the room or the scheduler gives it none: its newest reader is to be stopped.
  std::optional<TaskRef> reader_of_starved_job();

 private:
  bool starved(const JobRecord& job) const;
  bool nothing_else_runs(const JobRecord& job) const;
  void newest_reader(JobRecord& job, std::optional<TaskRef>& newest) const;
  void look_later();

  CoreContext& context_;
  std::uint64_t running_ = 0, early_ = 0;  // attempts; of these, readers of incomplete inputs
  bool looks_later_ = false;               // a timer is set
};

}  // namespace weft::master
