// What the scheduler decides, checked and carried out. A wrong decision is refused, recorded as the stage's reason, and changes
// nothing else. Every decision counts: a call with too many is cut off by an exception (SchedulerPort).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/master/core/attempts.hpp"

namespace weft::master {

class CheckedDecisions final : public schedulers::Decisions {
 public:
  CheckedDecisions(CoreContext& context, Attempts& attempts) : context_(context), attempts_(attempts) {}

  Result<void> launch(const TaskId& task, NodeId node, std::string_view reason) override;
  Result<void> preempt(const AttemptId& attempt, std::string_view reason) override;
  Result<void> preplace(const TaskId& task, NodeId node, std::string_view reason) override;
  void hold(JobId job, std::optional<StageId> stage, std::string_view reason) override;
  void wake_at(Time at) override;

 private:
  tl::unexpected<Error> refuse(const TaskId& task, std::string why);
  std::optional<std::string> why_not_preplace(const TaskId& task, NodeId node) const;

  CoreContext& context_;
  Attempts& attempts_;
};

}  // namespace weft::master
