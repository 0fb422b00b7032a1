#include "runtime/executor/task.hpp"

#include "shuffle/store/task_shuffle.hpp"

namespace weft::runtime {

void TaskContext::throw_on() {
  if (!thrown) thrown = std::current_exception();
  throw;
}

void TaskContext::throw_kept() const { std::rethrow_exception(thrown); }

shuffle::MapRange TaskContext::maps_of(ShuffleId id) const {
  const shuffle::InputSlice* slice = slice_of(id);
  return slice == nullptr ? shuffle::MapRange() : slice->maps;
}

std::uint32_t TaskContext::partitions_of(ShuffleId id) const {
  const shuffle::InputSlice* slice = slice_of(id);
  return slice == nullptr ? 1 : slice->partitions;
}

std::uint64_t TaskContext::input_bytes_of(ShuffleId id) const {
  const shuffle::InputSlice* slice = slice_of(id);
  return slice == nullptr ? 0 : slice->bytes;
}

const shuffle::InputSlice* TaskContext::slice_of(ShuffleId id) const {
  for (const shuffle::InputSlice& slice : inputs) {
    if (slice.shuffle == id) return &slice;
  }
  return nullptr;
}

}  // namespace weft::runtime
