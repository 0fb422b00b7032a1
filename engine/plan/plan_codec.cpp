// Each member of a plan and its field in plan.capnp, once, for reading and writing (base/rpc/mapping.hpp).
#include "base/rpc/mapping.hpp"
#include "engine/plan/plan.capnp.h"
#include "engine/plan/plan.hpp"

namespace weft::plan::wire {

template <class Io>
void map(Io& io, storage::Split& split) {
  io(WEFT_WIRE(Path), split.path);
  io(WEFT_WIRE(Offset), split.offset);
  io(WEFT_WIRE(Length), split.length);
  io(WEFT_WIRE(Hosts), split.hosts);
}

template <class Io>
void map(Io& io, storage::SplitGroup& group) {
  io(WEFT_WIRE(Splits), group);
}

template <class Io>
void map(Io& io, plan::Branch& branch) {
  io(WEFT_WIRE(Kind), branch.kind);
  io(WEFT_WIRE(Tasks), branch.tasks);
  io(WEFT_WIRE(Splits), branch.splits);
  io(WEFT_WIRE(Partitioned), branch.partitioned);
  io(WEFT_WIRE(Broadcast), branch.broadcast);
  io(WEFT_WIRE(Splittable), branch.splittable);
  io(WEFT_WIRE(Mergeable), branch.mergeable);
}

template <class Io>
void map(Io& io, schedulers::Resources& resources) {
  io(WEFT_WIRE(Cpu), resources.cpu);
  io(WEFT_WIRE(Memory), resources.memory);
  io(WEFT_WIRE(DiskRead), resources.disk_read);
  io(WEFT_WIRE(DiskWrite), resources.disk_write);
  io(WEFT_WIRE(NetworkIn), resources.network_in);
  io(WEFT_WIRE(NetworkOut), resources.network_out);
  io(WEFT_WIRE(MapSlots), resources.map_slots);
  io(WEFT_WIRE(ReduceSlots), resources.reduce_slots);
}

template <class Io>
void map(Io& io, plan::Stage& stage) {
  io(WEFT_WIRE(Id), stage.id);
  io(WEFT_WIRE(Name), stage.name);
  io(WEFT_WIRE(Operators), stage.operators);
  io(WEFT_WIRE(Branches), stage.branches);
  io(WEFT_WIRE(Output), stage.output);
  io(WEFT_WIRE(Partitions), stage.partitions);
  io(WEFT_WIRE(Fingerprint), stage.fingerprint);
  io(WEFT_WIRE(Demand), stage.demand);
  io(WEFT_WIRE(EstimatedTaskNanos), stage.estimated_task_duration);
}

template <class Io>
void map(Io& io, plan::PlanPart& part) {
  io(WEFT_WIRE(Action), part.action);
  io(WEFT_WIRE(Stages), part.stages);
  io(WEFT_WIRE(Targets), part.targets);
  io(WEFT_WIRE(Released), part.released);
}

}  // namespace weft::plan::wire

namespace weft::plan {

Buffer encode(const PlanPart& part) { return rpc::to_bytes<wire::PlanPart>(part); }

Result<PlanPart> decode_part(ByteView bytes) { return rpc::from_bytes<wire::PlanPart, PlanPart>(bytes, {}, "plan"); }

}  // namespace weft::plan
