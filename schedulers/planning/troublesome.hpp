// The order in which DAGPS packs a DAG (Grandl et al., Graphene, OSDI 2016, section 4). Troublesome stages are placed first in an
// empty virtual schedule, wherever they fit. Their ancestors are placed before them, their descendants after them, the others
// around them. Tasks then begin in the order of that schedule.
//
// A stage is troublesome when its tasks last long or are hard to pack, i.e. demand much of some resource. Several thresholds of
// either are tried, each with three orders of placing the other stages, and the shortest schedule counts. Deviates: stages are
// placed, not tasks (tasks of a stage are alike); one machine stands for the cluster.
#pragma once

#include "schedulers/planning/dag_packing.hpp"

namespace weft::schedulers {

/// A rank for each stage, smaller is first: forwards by when it begins in the virtual schedule, backwards by how late it ends
/// there. `capacity`: of the machine that stands for the cluster.
std::vector<double> ranks_by_trouble(const Dag& dag, const Parts& capacity, Direction direction);

}  // namespace weft::schedulers
