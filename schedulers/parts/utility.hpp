// How content a job is with the slots it has: the utility functions of Polo's thesis (Performance Management of Data-Centric
// Workloads, 2014): RAS in section 4.2.3, Reverse-Adaptive in section 5.3.4.3. Pure functions, none of more than 1, each growing
// with what is allocated.
//
// Below 0 a job is expected to miss its goal; it has what the goal asks for at 0, and slots for all its tasks at 1.
#pragma once

namespace weft::schedulers {

/// Of a job without any slot; the formulas say minus infinity.
inline constexpr double kStarvedUtility = -10;

/// Equation 6. `required`: slots that its goal asks for now; `pending`: tasks that run or may run. A requirement below one slot is
/// met by one. Where more are required than there are tasks, only slots for all of them are enough.
double map_utility(double allocated, double required, double pending);

/// Equation 14. `fit`: slots without which the goal cannot be met even if everything else is put off as long as possible. As the
/// formula and the figure have it, 0 is reached at `fit`, not at `required`.
double reverse_utility(double allocated, double fit, double required, double pending);

/// Equations 7 and 15, of readers that may fetch while maps run: from -1, with one or none of them, to 0, with all. The formula's
/// minus infinity for none would make a job take every map slot there is for what only room for readers can give it.
double reduce_utility(double allocated, double pending);

}  // namespace weft::schedulers
