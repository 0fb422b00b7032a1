// The utility of a job's slots, by Polo's thesis (Performance Management of Data-Centric Workloads, 2014): for RAS in
// section 4.2.3, for Reverse-Adaptive in section 5.3.4.3. Pure functions of at most 1, which grow with the allocated slots.
//
// Below 0 a job is expected to miss its goal. At 0 it has the slots that its goal needs, at 1 it has slots for all its tasks.
#pragma once

namespace weft::schedulers {

/// Of a job without any slot, where the formulas have minus infinity.
inline constexpr double kStarvedUtility = -10;

/// Equation 6. `required`: slots that its goal needs now; `pending`: tasks that run or may run. One slot meets a requirement below
/// one. Where more slots are required than there are tasks, only slots for all of them are enough.
double map_utility(double allocated, double required, double pending);

/// Equation 14. `fit`: slots without which the goal cannot be met even if all other tasks run as late as possible. As in the
/// formula and the figure, 0 is reached at `fit`, not at `required`.
double reverse_utility(double allocated, double fit, double required, double pending);

/// Equations 7 and 15, of readers that may fetch while maps run: from -1, with at most one of them placed, to 0, with all. With the
/// formula's minus infinity for none, a job would take all map slots, which do not help its readers.
double reduce_utility(double allocated, double pending);

}  // namespace weft::schedulers
