// Strong ids: the compiler refuses a StageId where a JobId is wanted. They are plain values that can be ordered, hashed and
// printed.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace weft {

template <class Tag, class Rep = std::uint32_t>
class Id {
 public:
  using rep = Rep;
  constexpr Id() = default;
  constexpr explicit Id(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  Rep value_ = 0;
};

using JobId = Id<struct JobTag, std::uint64_t>;
using StageId = Id<struct StageTag>;      // dense within a job, in order of definition
using ShuffleId = Id<struct ShuffleTag>;  // dense within a job; equals the value of the producing stage's id
using ActionId = Id<struct ActionTag>;    // dense within a job; the n-th value-returning action
using NodeId = Id<struct NodeTag>;        // one registration of a worker; a worker that comes back is a new node
using RackId = Id<struct RackTag>;

/// One task of a job: a partition of a stage.
struct TaskId {
  JobId job;
  StageId stage;
  std::uint32_t index = 0;
  friend constexpr auto operator<=>(const TaskId&, const TaskId&) = default;
};

/// One attempt at a task. Attempts are numbered from 0. Every result carries this id, so that late results can be refused.
struct AttemptId {
  TaskId task;
  std::uint32_t attempt = 0;
  friend constexpr auto operator<=>(const AttemptId&, const AttemptId&) = default;
};

/// Return "job 3 stage 1 task 17", and the same with " attempt 2".
std::string to_string(const TaskId& id);
std::string to_string(const AttemptId& id);

}  // namespace weft

template <class Tag, class Rep>
struct std::hash<weft::Id<Tag, Rep>> {
  std::size_t operator()(weft::Id<Tag, Rep> id) const noexcept { return std::hash<Rep>{}(id.value()); }
};
