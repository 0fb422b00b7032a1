#include "shuffle/store/task_shuffle.hpp"

#include <algorithm>
#include <utility>

namespace weft::shuffle {

Result<void> TaskShuffle::commit(SealedSegment segment) {
  std::vector<PartitionSize> sizes = segment.partitions;
  WEFT_TRY(store(std::move(segment)));
  output_ = std::move(sizes);
  return {};
}

Result<void> TaskShuffle::read(ShuffleId shuffle, PartitionRange partitions, MapRange maps, const BlockVisitor& visit) {
  return visit_blocks(shuffle, partitions, maps, [&](const Block& block) {
    read_bytes_ += block.bytes.size();
    return visit(block);
  });
}

}  // namespace weft::shuffle
