// Which rounds of what is brought ahead wait out of memory: what the core tells its book of them, and the nodes when that decides.
#include <algorithm>
#include <chrono>

#include "engine/master/core_impl.hpp"
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
std::uint64_t to_bring(const schedulers::ShuffleSizes& output, double size, std::uint32_t partition, NodeId node) {
  const auto here = output.by_node().find(node);
  const auto all = static_cast<double>(output.partition_bytes(partition));
  const double own = here == output.by_node().end() || all <= 0 ? 0 : static_cast<double>(here->second[partition]) / all;
  return static_cast<std::uint64_t>(size * (1 - std::min(own, 1.0)));
}

}  // namespace

/// `partitions`: what the reader's tasks that were placed on a node read, in the order in which the node has it.
void Core::Impl::place_units(const JobRecord& job, StageRecord& input, const PartitionsByNode& partitions) {
  if (!units_.limited()) return;
  const auto sizes = schedulers::predict_partitions(*input.info);
  std::vector<PrefetchBudget::Place> places;
  for (const auto& [node, there] : partitions) {
    for (std::uint32_t rank = 0; rank < there.size(); ++rank) {
      const auto& [partition, reader] = there[rank];
      const double fit = schedulers::slots_of(state_.node(node)->capacity, job.info->stages.at(reader).demand);
      const auto slots = static_cast<std::uint32_t>(std::max(fit, 1.0));
      const double size = sizes && partition < sizes->size() ? (*sizes)[partition] : 0;
      places.push_back({partition, reader, node, rank / slots, to_bring(input.info->output, size, partition, node)});
    }
  }
  units_.place({job.spec.job, input.plan.id}, {job.info->priority, job.info->submitted, job.spec.job}, places);
  input.units_sized_by = input.info->output.finished_maps();
}

/// After a map of the input has ended. Sizes are predicted anew when twice as many have as when they were last, and known when all
/// have.
void Core::Impl::resize_units(const JobRecord& job, StageRecord& input) {
  const schedulers::ShuffleSizes& output = input.info->output;
  if (input.units_sized_by == 0) return;
  if (!input.info->complete() && output.finished_maps() / 2 < input.units_sized_by) return;
  input.units_sized_by = output.finished_maps();
  const auto sizes = schedulers::predict_partitions(*input.info);
  if (!sizes) return;
  units_.resize(
      {job.spec.job, input.plan.id},
      [&](std::uint32_t partition, NodeId node) {
        return to_bring(output, partition < sizes->size() ? (*sizes)[partition] : 0, partition, node);
      },
      input.info->complete());
}

/// At the end of an event.
void Core::Impl::decide_units() {
  if (!units_.due() || (units_decided_ && state_.now() < *units_decided_ + pause_for(units_.places()))) return;
  units_decided_ = state_.now();
  for (PrefetchBudget::Change& change : units_.decide(round_order())) {
    const StageRecord& input = jobs_.at(change.key.first).stages.at(change.key.second);
    emit(PrefetchShuffle{change.node,
                         change.key.first,
                         ShuffleId(change.key.second.value()),
                         std::nullopt,
                         {},
                         block_bytes(input.info->output),
                         input.info->complete(),
                         std::move(change.held_back)});
  }
}

}  // namespace weft::master
