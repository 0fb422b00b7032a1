// What user functions may use of the task that runs them: counters, bad records, and the path of the input.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

/// A counter of the job, summed over the tasks that succeeded. Use it inside user functions: weft::counter("bad lines").add(1).
class Counter {
 public:
  explicit Counter(std::int64_t* value) : value_(value) {}
  void add(std::int64_t n = 1) const { *value_ += n; }

 private:
  std::int64_t* value_;  // of the running task
};

/// Valid during one call of a user function. Cheap when called again with the same name. Throws std::logic_error outside of tasks.
Counter counter(std::string_view name);

/// Reports a malformed record. The job counts it for its stage, keeps the first few reasons with their positions in the input, and
/// shows both when it ends. It fails when there are more than --max-bad-records allows. The function decides what happens to the
/// record. If a task runs several times, one attempt counts. Throws std::logic_error outside of tasks.
void bad_record(std::string_view reason);

/// The path of the file that the current record comes from; empty behind a shuffle, which sends records without their place. A join
/// may be one or may not, as its plan says: take the path before it. Valid during the task. Throws std::logic_error outside of
/// tasks.
std::string_view input_path();

}  // namespace weft
