#include "shuffle/store/local_task_shuffle.hpp"

#include <algorithm>
#include <string>

namespace weft::shuffle {

Result<std::unique_ptr<SegmentWriter>> LocalTaskShuffle::create_segment(std::uint32_t partitions) {
  if (mode_ == Mode::pull) return SegmentWriter::on_disk(store_.directory(), partitions);
  room_ = store_.reserve(attempt_.task.job, ShuffleId(attempt_.task.stage.value()));
  if (room_.bytes() == 0) return SegmentWriter::on_disk(store_.directory(), partitions);
  return SegmentWriter::in_process(partitions, {room_.bytes(), store_.directory()}, store_.pages());
}

Result<void> LocalTaskShuffle::store(SealedSegment segment) {
  const SegmentKey key{attempt_.task.job, ShuffleId(attempt_.task.stage.value()), attempt_.task.index, attempt_.attempt};
  auto stored = store_.put(key, std::move(segment));
  room_ = {};
  return stored;
}

Result<void> LocalTaskShuffle::visit_blocks(ShuffleId shuffle, PartitionRange partitions, MapRange maps,
                                            const BlockVisitor& visit) {
  failure_.reset();
  const auto known = lookup_(shuffle, std::nullopt);
  if (!known) return fail(Code::internal, "shuffle " + std::to_string(shuffle.value()) + " is read before it is complete");
  for (std::uint32_t partition = partitions.first; partition < partitions.end; ++partition) {
    if (known->maps > 0) {
      WEFT_TRY(read_early(shuffle, partition, {maps.first, std::min(maps.end, known->maps)}, visit));
      continue;
    }
    for (const MapOutput& output : known->with(partition, maps)) WEFT_TRY(read_map(shuffle, output, partition, visit));
  }
  return {};
}

Result<void> LocalTaskShuffle::read_early(ShuffleId shuffle, std::uint32_t partition, MapRange maps, const BlockVisitor& visit) {
  for (std::uint32_t map = maps.first; map < maps.end; ++map) {
    const auto known = lookup_(shuffle, map);
    if (!known) return fail(Code::cancelled, "the task was asked to stop");
    const MapOutput* const output = known->find(map);
    if (known->may_have(static_cast<std::size_t>(output - known->outputs.data()), partition))
      WEFT_TRY(read_map(shuffle, *output, partition, visit));
  }
  return {};
}

Result<void> LocalTaskShuffle::read_map(ShuffleId shuffle, const MapOutput& output, std::uint32_t partition,
                                        const BlockVisitor& visit) {
  auto segment = store_.get({attempt_.task.job, shuffle, output.map, output.attempt});
  if (!segment && segment.error().code() == Code::resource_exhausted) return fail(std::move(segment).error());  // it is there
  if (!segment) return lost(shuffle, output, std::move(segment).error());
  if (partition >= (*segment)->partitions())
    return fail(Code::internal, "partition " + std::to_string(partition) + " of a shuffle with " +
                                    std::to_string((*segment)->partitions()) + " partitions is read");
  return visit_extents(*segment, partition, visit, [&](Error why) { return lost(shuffle, output, std::move(why)); });
}

tl::unexpected<Error> LocalTaskShuffle::lost(ShuffleId shuffle, const MapOutput& output, Error why) {
  failure_ = FetchFailure{shuffle, output.map, output.attempt, output.node};
  return fail(std::move(why).wrap(Code::unavailable, "output of map " + std::to_string(output.map) + " of shuffle " +
                                                         std::to_string(shuffle.value()) + " cannot be read"));
}

}  // namespace weft::shuffle
