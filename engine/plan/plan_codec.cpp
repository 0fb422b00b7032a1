#include <string>

#include "engine/plan/capnp_bytes.hpp"
#include "engine/plan/plan.capnp.h"
#include "engine/plan/plan.hpp"

namespace weft::plan {

namespace {

std::string text_of(capnp::Text::Reader text) { return {text.begin(), text.size()}; }

void write(wire::Split::Builder out, const storage::Split& split) {
  out.setPath(split.path);
  out.setOffset(split.offset);
  out.setLength(split.length);
  auto hosts = out.initHosts(static_cast<unsigned>(split.hosts.size()));
  for (unsigned i = 0; i < hosts.size(); ++i) hosts.set(i, split.hosts[i]);
}

template <class List>
void write_group(List out, const storage::SplitGroup& group) {
  for (unsigned i = 0; i < out.size(); ++i) write(out[i], group[i]);
}

template <class List, class Ids>
void write_ids(List out, const Ids& ids) {
  for (unsigned i = 0; i < out.size(); ++i) out.set(i, ids[i].value());
}

void write(wire::Branch::Builder out, const Branch& branch) {
  out.setKind(static_cast<std::uint8_t>(branch.kind));
  out.setTasks(branch.tasks);
  auto groups = out.initSplits(static_cast<unsigned>(branch.splits.size()));
  for (unsigned i = 0; i < groups.size(); ++i) {
    write_group(groups[i].initSplits(static_cast<unsigned>(branch.splits[i].size())), branch.splits[i]);
  }
  write_ids(out.initPartitioned(static_cast<unsigned>(branch.partitioned.size())), branch.partitioned);
  write_ids(out.initBroadcast(static_cast<unsigned>(branch.broadcast.size())), branch.broadcast);
  auto splittable = out.initSplittable(static_cast<unsigned>(branch.splittable.size()));
  for (unsigned i = 0; i < splittable.size(); ++i) splittable.set(i, branch.splittable[i]);
  out.setMergeable(branch.mergeable);
}

void write(wire::Resources::Builder out, const schedulers::Resources& resources) { detail::write_resources(out, resources); }

void write(wire::Stage::Builder out, const Stage& stage) {
  out.setId(stage.id.value());
  out.setName(stage.name);
  auto operators = out.initOperators(static_cast<unsigned>(stage.operators.size()));
  for (unsigned i = 0; i < operators.size(); ++i) operators.set(i, stage.operators[i]);
  auto branches = out.initBranches(static_cast<unsigned>(stage.branches.size()));
  for (unsigned i = 0; i < branches.size(); ++i) write(branches[i], stage.branches[i]);
  out.setOutput(static_cast<std::uint8_t>(stage.output));
  out.setPartitions(stage.partitions);
  out.setFingerprint(stage.fingerprint);
  write(out.initDemand(), stage.demand);
  out.setEstimatedTaskNanos(stage.estimated_task_duration.count());
}

template <class Ids, class List>
Ids read_ids(List in) {
  Ids ids;
  ids.reserve(in.size());
  for (auto value : in) ids.emplace_back(value);
  return ids;
}

storage::SplitGroup read_group(capnp::List<wire::Split>::Reader in) {
  storage::SplitGroup group;
  group.reserve(in.size());
  for (auto split : in) {
    storage::Split& made = group.emplace_back();
    made.path = text_of(split.getPath());
    made.offset = split.getOffset();
    made.length = split.getLength();
    for (auto host : split.getHosts()) made.hosts.push_back(text_of(host));
  }
  return group;
}

Branch read(wire::Branch::Reader in) {
  Branch branch;
  branch.kind = static_cast<BranchKind>(in.getKind());
  branch.tasks = in.getTasks();
  branch.splits.reserve(in.getSplits().size());
  for (auto group : in.getSplits()) branch.splits.push_back(read_group(group.getSplits()));
  branch.partitioned = read_ids<std::vector<ShuffleId>>(in.getPartitioned());
  branch.broadcast = read_ids<std::vector<ShuffleId>>(in.getBroadcast());
  for (std::uint32_t input : in.getSplittable()) branch.splittable.push_back(input);
  branch.mergeable = in.getMergeable();
  return branch;
}

schedulers::Resources read(wire::Resources::Reader in) { return detail::read_resources(in); }

Stage read(wire::Stage::Reader in) {
  Stage stage;
  stage.id = StageId(in.getId());
  stage.name = text_of(in.getName());
  for (auto name : in.getOperators()) stage.operators.push_back(text_of(name));
  for (auto branch : in.getBranches()) stage.branches.push_back(read(branch));
  stage.output = static_cast<OutputKind>(in.getOutput());
  stage.partitions = in.getPartitions();
  stage.fingerprint = in.getFingerprint();
  stage.demand = read(in.getDemand());
  stage.estimated_task_duration = schedulers::Time(in.getEstimatedTaskNanos());
  return stage;
}

}  // namespace

Buffer encode(const PlanPart& part) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<wire::PlanPart>();
  root.setAction(part.action.value());
  auto stages = root.initStages(static_cast<unsigned>(part.stages.size()));
  for (unsigned i = 0; i < stages.size(); ++i) write(stages[i], part.stages[i]);
  write_ids(root.initTargets(static_cast<unsigned>(part.targets.size())), part.targets);
  write_ids(root.initReleased(static_cast<unsigned>(part.released.size())), part.released);
  return detail::to_buffer(message);
}

Result<PlanPart> decode_part(ByteView bytes) {
  return detail::from_bytes<wire::PlanPart>(bytes, "a plan", [](wire::PlanPart::Reader in) {
    PlanPart part;
    part.action = ActionId(in.getAction());
    part.stages.reserve(in.getStages().size());
    for (auto stage : in.getStages()) part.stages.push_back(read(stage));
    part.targets = read_ids<std::vector<StageId>>(in.getTargets());
    part.released = read_ids<std::vector<ShuffleId>>(in.getReleased());
    return part;
  });
}

Buffer encode(const TaskSpec& spec) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<wire::TaskSpec>();
  root.setBranch(spec.branch);
  root.setPartition(spec.partition);
  root.setOutputPartitions(spec.output_partitions);
  write_group(root.initSplits(static_cast<unsigned>(spec.splits.size())), spec.splits);
  root.setFingerprint(spec.fingerprint);
  auto inputs = root.initInputs(static_cast<unsigned>(spec.inputs.size()));
  for (unsigned i = 0; i < inputs.size(); ++i) {
    inputs[i].setShuffle(spec.inputs[i].shuffle.value());
    inputs[i].setFirstMap(spec.inputs[i].maps.first);
    inputs[i].setEndMap(spec.inputs[i].maps.end);
    inputs[i].setBytes(spec.inputs[i].bytes);
    inputs[i].setPartitions(spec.inputs[i].partitions);
  }
  return detail::to_buffer(message);
}

Result<TaskSpec> decode_spec(ByteView bytes) {
  return detail::from_bytes<wire::TaskSpec>(bytes, "a task", [](wire::TaskSpec::Reader in) {
    TaskSpec spec;
    spec.branch = in.getBranch();
    spec.partition = in.getPartition();
    spec.output_partitions = in.getOutputPartitions();
    spec.splits = read_group(in.getSplits());
    spec.fingerprint = in.getFingerprint();
    for (auto input : in.getInputs())
      spec.inputs.push_back(
          {ShuffleId(input.getShuffle()), {input.getFirstMap(), input.getEndMap()}, input.getBytes(), input.getPartitions()});
    return spec;
  });
}

}  // namespace weft::plan
