#include "weft/detail/stage.hpp"

#include "shuffle/store/task_shuffle.hpp"

namespace weft::detail {

struct SegmentOutput::Segment {
  explicit Segment(TaskContext& context)
      : writer(value_or_throw(context.shuffle->create_segment(context.output_partitions))),
        partitions(std::in_place, context.operators, *writer, context.output_partitions) {}

  const std::unique_ptr<shuffle::SegmentWriter> writer;
  std::optional<runtime::PartitionedWriter> partitions;
};

SegmentOutput::SegmentOutput(TaskContext& context)
    : context_(context), segment_(std::make_unique<Segment>(context)), writer_(&*segment_->partitions) {}
SegmentOutput::~SegmentOutput() = default;

void SegmentOutput::commit() {
  writer_->finish();
  segment_->partitions.reset();  // its room in the segment is given back
  value_or_throw(context_.shuffle->commit(value_or_throw(segment_->writer->seal())));
}

namespace {

using VisitBlock = void (*)(void* self, const shuffle::Block& block);

void visit(TaskContext& context, ShuffleId shuffle, const shuffle::PartitionRange& partitions, const shuffle::MapRange& maps,
           void* self, VisitBlock each_block) {
  const shuffle::BlockVisitor each = [&](const shuffle::Block& block) -> weft::Result<void> {
    context.check_stop();
    each_block(self, block);
    return {};
  };
  value_or_throw(context.shuffle->read(shuffle, partitions, maps, each));
}

}  // namespace

void visit_blocks(TaskContext& context, ShuffleId shuffle, std::uint32_t partition, void* self, VisitBlock each_block) {
  visit(context, shuffle, {partition, partition + context.partitions_of(shuffle)}, context.maps_of(shuffle), self, each_block);
}

void visit_map_blocks(TaskContext& context, ShuffleId shuffle, std::uint32_t first_map, std::uint32_t end_map, void* self,
                      VisitBlock each_block) {
  visit(context, shuffle, {0, 1}, {first_map, end_map}, self, each_block);
}

std::shared_ptr<runtime::SharedTable> find_table(TaskContext& context, ShuffleId whole, runtime::SharedTables::Make make) {
  runtime::SharedTables* const tables = context.operators.tables;
  const std::uint64_t bytes = context.input_bytes_of(whole);
  if (tables == nullptr || bytes > tables->limit_bytes()) return nullptr;
  const shuffle::MapRange maps = context.maps_of(whole);
  const std::uint32_t count = maps.end == UINT32_MAX ? 0 : maps.end - maps.first;  // not said by masters of older releases
  return tables->get({context.attempt.task.stage, whole, context.first_attempt}, {count, bytes}, make);
}

void refuse_unknown_side() {
  throw runtime::TaskError{Error(Code::plan_mismatch,
                                 "the master does not say which side of the join its tasks read whole, because it is of an older "
                                 "release than the program; upgrade it, or give the join JoinStrategy::hash")};
}

}  // namespace weft::detail
