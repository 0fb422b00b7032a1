#include "weft/chosen.hpp"

#include <algorithm>
#include <stdexcept>

#include "runtime/executor/task.hpp"

namespace weft::detail {

int compare_encodings(const Encoder& a, const Encoder& b) {
  const ByteView x = a.view(), y = b.view();
  const auto order = std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end());
  return order < 0 ? -1 : static_cast<int>(order > 0);
}

RecordPlace next_place() {
  const runtime::TaskContext* const task = runtime::current_task();
  if (task == nullptr) throw std::logic_error("weft::first and weft::last work in tasks only");
  thread_local std::uint64_t number = 0;  // only grows, so that it orders the records of any task
  return {task->attempt.task.index, ++number};
}

}  // namespace weft::detail
