// Slow start: stages that begin before their inputs are complete, and wait for the rest while they run.
//
// Such early readers hold room that the stages they wait for may need. When nothing but early readers runs, and what they wait for
// finds room nowhere, the newest of them is to be stopped, and its job waits for complete inputs from then on.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/master/core/context.hpp"

namespace weft::master {

class SlowStart {
 public:
  explicit SlowStart(CoreContext& context) : context_(context) {}

  bool on() const { return context_.options.slow_start < 1; }
  /// How many of the tasks of an input must be finished before its readers may start.
  std::uint32_t threshold(const schedulers::StageInfo& input) const;

  // Counts of running attempts. Each must be told, also with slow start off.
  void attempt_started(const schedulers::StageInfo& stage);
  void attempt_ended(const schedulers::StageInfo& stage);
  void set_inputs_complete(schedulers::StageInfo& stage, bool complete);

  /// The attempt to stop so that others can run, if that is necessary.
  std::optional<TaskRef> reader_to_stop();

 private:
  bool starved(const JobRecord& job) const;

  CoreContext& context_;
  std::uint64_t running_ = 0, early_ = 0;  // attempts; of these, readers of incomplete inputs
};

}  // namespace weft::master
