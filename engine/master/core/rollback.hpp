// Rollback: an output that is made again may be another one (plan::Stage::indeterminate), and what was made of the former one must
// not be used beside what is made of the new one. So all stages that read such an output, directly or through others, run again.
#pragma once

#include <cstdint>
#include <string>

#include "engine/master/core/attempts.hpp"
#include "engine/master/core/context.hpp"
#include "engine/master/core/shuffles.hpp"

namespace weft::master {

class Rollback {
 public:
  Rollback(CoreContext& context, Attempts& attempts, Shuffles& shuffles)
      : context_(context), attempts_(attempts), shuffles_(shuffles) {}

  /// In the jobs that Shuffles noted (JobTable::roll_back_later): whatever depends on a lost output of an indeterminate stage that
  /// is made again. Results that the driver has stay what they are.
  void apply();

 private:
  void apply(JobRecord& job);
  void discard(JobRecord& job, StageRecord& stage, const std::string& why);
  void discard_result(JobRecord& job, StageRecord& stage, std::uint32_t index);
  void stop(const TaskRef& task, const std::string& why);
  void stop_attempt(const TaskRef& attempt, const std::string& why);

  CoreContext& context_;
  Attempts& attempts_;
  Shuffles& shuffles_;
};

}  // namespace weft::master
