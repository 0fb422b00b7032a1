// Where speculative attempts go, for schedulers that have no opinion of their own.
#pragma once

#include <functional>

#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

/// Whether the job may have one more attempt of that stage running.
using MayHaveMore = std::function<bool(const JobInfo& job, const StageInfo& stage)>;

/// Launches each straggler a second time on a free node that is not slow and has room: nearest to its input, then least used.
/// Trigger::Kind::node: on that node only.
void place_speculative_attempts(const ClusterView& view, const Trigger& trigger, Decisions& decisions, const MayHaveMore& may = {});

}  // namespace weft::schedulers
