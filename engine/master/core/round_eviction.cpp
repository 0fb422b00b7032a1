#include "engine/master/core/round_eviction.hpp"

#include <algorithm>
#include <chrono>

#include "schedulers/parts/preplacement.hpp"
#include "schedulers/prediction/size_prediction.hpp"

namespace weft::master {

namespace {

/// Between decisions, under pressure: each looks at every place, for less than a microsecond, and is to take a tenth of the time at
/// most.
Time pause_for(std::size_t places) {
  return std::chrono::milliseconds(100) + std::chrono::microseconds(10) * static_cast<std::int64_t>(places);
}

/// Of a partition that will be so large: what is not on the node already, as far as maps have ended.
std::uint64_t to_prefetch(const schedulers::ShuffleSizes& output, double size, std::uint32_t partition, NodeId node) {
  const auto here = output.by_node().find(node);
  const auto all = static_cast<double>(output.partition_bytes(partition));
  const double own = here == output.by_node().end() || all <= 0 ? 0 : static_cast<double>(here->second[partition]) / all;
  return static_cast<std::uint64_t>(size * (1 - std::min(own, 1.0)));
}

}  // namespace

std::optional<std::uint32_t> first_reader(const plan::Stage& reader, StageId input) {
  std::optional<std::uint32_t> first;
  std::uint32_t task = 0;
  for (const plan::Branch& branch : reader.branches) {
    if (branch.kind != plan::BranchKind::shuffles) return std::nullopt;
    const auto& read = branch.partitioned;
    if (!first && std::find(read.begin(), read.end(), ShuffleId(input.value())) != read.end()) first = task;
    task += branch.tasks;
  }
  return first;
}

std::uint64_t mean_block_bytes(const schedulers::ShuffleSizes& sizes) {
  return sizes.total_bytes() / (std::uint64_t{std::max(1u, sizes.finished_maps())} * std::max(1u, sizes.partitions()));
}

void RoundEviction::place(const JobRecord& job, StageRecord& input, const PartitionsByNode& partitions) {
  if (!budget_.limited()) return;
  const auto sizes = schedulers::predict_partitions(*input.info);
  std::vector<PrefetchBudget::Place> places;
  for (const auto& [node, there] : partitions) {
    for (std::uint32_t rank = 0; rank < there.size(); ++rank) {
      const auto& [partition, reader] = there[rank];
      const double fit = schedulers::slots_of(context_.view.node(node)->capacity, job.info->stages.at(reader).demand);
      const auto slots = static_cast<std::uint32_t>(std::max(fit, 1.0));
      const double size = sizes && partition < sizes->size() ? (*sizes)[partition] : 0;
      places.push_back({partition, reader, node, rank / slots, to_prefetch(input.info->output, size, partition, node)});
    }
  }
  budget_.place({job.spec.job, input.plan.id}, {job.info->priority, job.info->submitted, job.spec.job}, places);
  input.prefetch.sized_by = input.info->output.finished_maps();
}

void RoundEviction::resize(const JobRecord& job, StageRecord& input) {
  const schedulers::ShuffleSizes& output = input.info->output;
  std::uint32_t& sized_by = input.prefetch.sized_by;
  if (sized_by == 0) return;
  if (!input.info->complete() && output.finished_maps() / 2 < sized_by) return;
  sized_by = output.finished_maps();
  const auto sizes = schedulers::predict_partitions(*input.info);
  if (!sizes) return;
  budget_.resize(
      {job.spec.job, input.plan.id},
      [&](std::uint32_t partition, NodeId node) {
        return to_prefetch(output, partition < sizes->size() ? (*sizes)[partition] : 0, partition, node);
      },
      input.info->complete());
}

void RoundEviction::read(const JobRecord& job, const StageRecord& reader, std::uint32_t task) {
  if (!budget_.limited()) return;
  for (StageId input : reader.placed_by) {
    if (const std::uint32_t first = *first_reader(reader.plan, input); task >= first)
      budget_.read({job.spec.job, input}, task - first, reader.plan.id);
  }
}

void RoundEviction::decide() {
  if (!budget_.due() || (decided_ && context_.now() < *decided_ + pause_for(budget_.places()))) return;
  decided_ = context_.now();
  for (PrefetchBudget::Change& change : budget_.decide(context_.scheduler.round_order())) {
    const auto& [job, stage] = change.key;
    const schedulers::StageInfo& input = *context_.view.stage(job, stage);
    PrefetchShuffle command{change.node, job, ShuffleId(stage.value()), std::nullopt, {}};
    command.block_bytes = mean_block_bytes(input.output);
    command.complete = input.complete();
    command.deferred = std::move(change.deferred);
    context_.emit(std::move(command));
  }
}

}  // namespace weft::master
