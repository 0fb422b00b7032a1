// The order in which DAGPS packs a DAG (Grandl et al., Graphene, OSDI 2016, section 4): stages that are troublesome go first into
// an empty virtual schedule, wherever they find room; the others are placed around them, those that they depend on before them,
// those that depend on them behind. Tasks then begin in the order of that schedule.
//
// A stage is troublesome when its tasks last long or are hard to pack, i.e. ask for much of some resource; several thresholds of
// either are tried, each with three orders of what is placed around, and the shortest schedule counts.
// Deviates: stages are placed, not tasks (those of a stage are alike); one machine stands for the cluster.
#pragma once

#include "schedulers/planning/dag_packing.hpp"

namespace weft::schedulers {

/// Forwards by when a stage begins in the virtual schedule, backwards by how late it ends there: smaller is first. `capacity`: of
/// what the schedule has room in.
std::vector<double> ranks_by_trouble(const Dag& dag, const Parts& capacity, Direction direction);

}  // namespace weft::schedulers
