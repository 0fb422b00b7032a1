// How a job is to be run, besides its plan. Each option is described once, in the list of job_options.cpp: the
// command line, run_locally(), the event log, statuses, the page and workloads of the simulator take it from there. A message needs
// its field in master/protocol/protocol.capnp, too.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/json_reader.hpp"
#include "base/result.hpp"
#include "runtime/protocol/bad_records.hpp"
#include "schedulers/view/resources.hpp"
#include "shuffle/store/mode.hpp"

namespace weft::master {

enum class Switch : std::uint8_t { on, off };
constexpr Switch last_of(Switch) { return Switch::off; }
/// What becomes of a job whose driver's connection is lost and does not come back.
enum class OnDisconnect : std::uint8_t { kill, go_on };
constexpr OnDisconnect last_of(OnDisconnect) { return OnDisconnect::go_on; }

/// No request id and no name of a job is longer, in bytes.
inline constexpr std::size_t kMostRequestId = 128, kMostJobName = 128;
/// No job may ask for more of each task.
inline constexpr std::uint32_t kMostAttempts = 1000;

/// What is unset is as the cluster has it, or else as the list says. In the order of the schema's Submit.
struct JobOptions {
  std::string user, pool;  // the pool is also the queue
  int priority = 0;
  std::uint32_t max_attempts = 4;
  std::chrono::nanoseconds task_timeout{0};  // 0: none
  std::chrono::nanoseconds deadline{0};      // after the submission; 0: none
  schedulers::Resources demand{};            // of every task unless its stage says otherwise
  std::optional<shuffle::Mode> shuffle_mode{};
  std::optional<std::uint32_t> shuffle_replicas{};
  std::optional<double> weight{};
  std::optional<double> slow_start{};
  std::map<std::string, std::string> hints{};  // which schedulers::set_hint() takes
  std::optional<runtime::BadRecordLimit> max_bad_records{};
  Switch speculate = Switch::on;  // off: none of its tasks gets a speculative attempt
  std::string request_id{};       // a submission of the same user with the id of a job that is known is that job; empty: none
  OnDisconnect on_disconnect = OnDisconnect::kill;  // go_on: its driver is started in the cluster
  std::uint64_t submitter =
      0;                // no option: drawn by the driver, the same when it submits again because an answer was lost; 0: not known
  std::string title{};  // --name: what people see in place of the program's name; empty: that
  friend bool operator==(const JobOptions&, const JobOptions&) = default;
};

/// All that is known of one option.
struct JobOption {
  std::string name;   // "max-bad-records": --max-bad-records
  std::string value;  // stands for its value in help: "N|P%"
  std::string help;   // a line, with the default
  std::string key;  // of its member in JSON: "max_bad_records"; of durations, in nanoseconds, "…_ns"; of what may be repeated, "…s"
  bool repeatable = false;
  bool simulated = false;  // workloads of the simulator have it, too, and in its own form
  /// From the command line. invalid_argument says what is wrong with the text; nothing has changed then.
  std::function<Result<void>(std::string_view text, JobOptions&)> set;
  /// What set() takes to the same (of what may be repeated, joined by commas); nothing when it is as it would be without the
  /// option.
  std::function<std::optional<std::string>(const JobOptions&)> text;
  std::function<void(JsonWriter&, const JobOptions&)> write;  // the value of its member
  std::function<Result<void>(JsonReader&, JobOptions&)> read;
};

/// In the order in which help shows them.
const std::vector<JobOption>& job_options();

/// Sets options by name. invalid_argument names the option, and those that there are where it is none.
Result<void> set_job_options(const std::map<std::string, std::string>& texts, JobOptions& options);
/// Those that are set, by name.
std::map<std::string, std::string> texts_of(const JobOptions& options);

}  // namespace weft::master
