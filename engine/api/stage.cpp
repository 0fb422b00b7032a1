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

void visit_blocks(TaskContext& context, ShuffleId shuffle, std::uint32_t partition, void* self,
                  void (*visit)(void* self, const shuffle::Block& block)) {
  const shuffle::BlockVisitor each = [&](const shuffle::Block& block) -> weft::Result<void> {
    context.check_stop();
    visit(self, block);
    return {};
  };
  const shuffle::PartitionRange partitions{partition, partition + context.partitions_of(shuffle)};
  value_or_throw(context.shuffle->read(shuffle, partitions, context.maps_of(shuffle), each));
}

}  // namespace weft::detail
