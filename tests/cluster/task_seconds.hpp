// What `weft job status --json` says of predicted and true durations of tasks.
#pragma once

#include <cmath>
#include <string>

#include "base/json_reader.hpp"

namespace weft::test {

/// Seconds of all tasks of a job together, of stages that were predicted by history.
struct TaskSeconds {
  double predicted = 0, truth = 0;
  int stages = 0;  // predicted ones
  double error() const { return truth > 0 ? std::abs(predicted - truth) / truth : 1; }
};

inline Result<TaskSeconds> task_seconds_of(const std::string& status) {
  TaskSeconds sum;
  JsonReader json(status, "job status");
  const auto one_stage = [&]() -> Result<void> {
    double tasks = 0, predicted = 0, mean = 0;
    bool history = false;
    WEFT_TRY(json.object([&](std::string_view member) -> Result<void> {
      double* const number = member == "tasks"                    ? &tasks
                             : member == "predicted_task_seconds" ? &predicted
                             : member == "mean_task_seconds"      ? &mean
                                                                  : nullptr;
      if (member == "predicted_by") {
        WEFT_ASSIGN(const std::string by, json.text());
        history = by == "history";
        return {};
      }
      if (number == nullptr) return json.skip();
      WEFT_ASSIGN(*number, json.number());
      return {};
    }));
    if (!history) return {};
    ++sum.stages;
    sum.predicted += tasks * predicted;
    sum.truth += tasks * mean;
    return {};
  };
  WEFT_TRY(json.object([&](std::string_view key) { return key == "stages" ? json.array(one_stage) : json.skip(); }));
  return sum;
}

}  // namespace weft::test
