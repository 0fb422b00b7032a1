// Where speculative attempts go, unless a scheduler decides it.
#pragma once

#include <functional>

#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

/// Whether the job may have one more running attempt of that stage.
using MayHaveMore = std::function<bool(const JobInfo& job, const StageInfo& stage)>;

/// Launches a speculative attempt of each straggler on a node that is not slow and that it fits: the nearest to its input, then the
/// least used. Trigger::Kind::node: on that node only.
void place_speculative_attempts(const ClusterView& view, const Trigger& trigger, Decisions& decisions, const MayHaveMore& may = {});

}  // namespace weft::schedulers
