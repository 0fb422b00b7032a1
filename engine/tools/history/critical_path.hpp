// What a job's time went to: the chain of attempts and waits that led to its end. Shortening anything else makes no job faster.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/tools/history/history.hpp"

namespace weft::history {

/// What a part of the time was spent on.
enum class Spent : std::uint8_t {
  driver,      // the job's program: before it submitted a stage, and after the last task
  waiting,     // for slots, by a task whose inputs were there
  failed,      // attempts that did not finish
  starting,    // an attempt, before and after its stage's code
  reading,     // input files
  shuffle,     // waiting for map outputs
  code,        // user code, operators, spills
  writing,     // map outputs and output files
  unfinished,  // attempts that run: what they do is known when they end
};
inline constexpr std::size_t kSpentKinds = 9;
/// "user code"
const char* name_of(Spent spent);
/// "user_code", in JSON.
const char* key_of(Spent spent);

using SpentTimes = std::array<Time, kSpentKinds>;

struct StageOnPath {
  std::uint32_t stage = 0;
  SpentTimes spent{};
  std::size_t attempts = 0;  // on the path
  std::size_t longest = 0;   // of these, its place in LoggedJob::attempts
  Time longest_time{0};      // of it, on the path
  Time total() const;
};

struct CriticalPath {
  Time total{0};                      // from the job's submission to its end, or until now: the sum of all that follows
  Time driver{0};                     // Spent::driver
  std::vector<StageOnPath> stages{};  // in the order in which the path reaches them
  /// The stage with the most time on the path; nothing when no stage has any.
  const StageOnPath* limiting() const;
};

/// Backwards from the job's end: an attempt was preceded by the last of its inputs, by the attempt of the same job that left its
/// slot, by a failed attempt at the same task, or by the driver's submission of its stage, whichever was last; the time between
/// the two is waiting. Where an input was finished while the attempt ran already (slow start), only the time after that is the
/// attempt's. A pure function of the history.
CriticalPath critical_path(const EventHistory& history, const LoggedJob& job);

std::string path_json(const EventHistory& history, const LoggedJob& job);
/// A sentence, and a table of stages. Empty for a job that took no time.
std::string path_text(const EventHistory& history, const LoggedJob& job);

}  // namespace weft::history
