// weft job wait|attach|tail, and what weft job logs --follow does
#include "engine/tools/cli/job_watch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/client/admin.hpp"
#include "engine/client/job_summary.hpp"
#include "engine/client/master_link.hpp"
#include "engine/client/progress.hpp"
#include "engine/client/stop_signal.hpp"
#include "engine/tools/cli/command.hpp"
#include "engine/tools/cli/connections.hpp"
#include "engine/tools/display/job_text.hpp"
#include "engine/tools/display/log_tail.hpp"
#include "engine/tools/display/standard_output.hpp"
#include "storage/retry.hpp"

namespace weft::tools {

namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(20);
constexpr Duration kLongestPause = std::chrono::milliseconds(500);
constexpr std::uint64_t kLogBytes = 256u << 10;  // of each worker, at a time

// How a job ended, as exit status. 0: it finished; 1: its end is not known.
constexpr int kFailed = 3;
constexpr int kKilled = 4;
constexpr int kStillRunning = 5;

struct WatchOptions {
  MasterOption master;
  std::uint64_t job = 0;
  bool json = false, quiet = false;
  Duration timeout{0};  // 0: none
};

/// How long one look at the job may take, `spent` after the first, when the master is away. Without --patience as long as the job's
/// driver waits for it, the first time too: the job's number came from a master. A script that waits for it must not take a master
/// that is being replaced for the end of the job.
Duration patience_of(const WatchOptions& options, Duration spent) {
  const Duration patience = options.master.patience_given.empty() ? client::kMasterAway : options.master.patience;
  return options.timeout > Duration(0) ? std::clamp<Duration>(options.timeout - spent, Duration(0), patience) : patience;
}

/// Reports the end of a job. One that did not finish is an error, and sets the exit status.
Result<void> report_end(const WatchOptions& options, const client::JobList& found, int& exit_status) {
  const master::JobStatus& job = found.jobs[0];
  const std::string how = std::string(name_of(job.state));
  if (options.json) print(job_json(job, found.now));
  if (job.state == master::JobState::finished) {
    if (!options.json)
      print(fmt::format("job {} {} finished after {}\n", options.job, escaped(client::shown_name(job)),
                        human_duration(age(job, found.now))));
    return {};
  }
  exit_status = job.state == master::JobState::killed ? kKilled : kFailed;
  const std::string why = job.error.empty() ? "" : ": " + job.error;
  return fail(Code::user_code,
              fmt::format("job {} {}{}", options.job, job.state == master::JobState::killed ? "was killed" : how, why));
}

/// The answer of a master that may be away for a while; a signal ends the wait.
Result<client::JobList> answer_of(client::Admin& admin, const WatchOptions& options, Duration spent,
                                  const client::StopSignal& stop) {
  const storage::Waiting tell = tell_waiting;
  storage::Retry retry(patience_of(options, spent), tell, {kFirstPause, kLongestPause});
  while (true) {
    auto found = admin.job(JobId(options.job));
    if (found || stop.requested() || !retry.again(found.error())) return found;
  }
}

/// Asks until the job is over, and calls `look` with each answer.
template <class Look>
Result<client::JobList> follow(client::Admin& admin, const WatchOptions& options, int& exit_status, const Look& look) {
  const client::StopSignal stop;
  const TimePoint began = SystemClock().now();
  for (Duration pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    WEFT_ASSIGN(auto found, answer_of(admin, options, SystemClock().now() - began, stop));
    WEFT_TRY(look(found));
    if (found.jobs[0].state != master::JobState::running) return found;
    if (stop.requested()) return fail(Code::cancelled, fmt::format("stopped by a signal; job {} goes on", options.job));
    const Duration waited = SystemClock().now() - began;
    if (options.timeout > Duration(0) && waited >= options.timeout) {
      exit_status = kStillRunning;
      return fail(Code::deadline_exceeded,
                  fmt::format("job {} still runs after {}; it goes on", options.job, human_duration(options.timeout)));
    }
    std::this_thread::sleep_for(options.timeout > Duration(0) ? std::min(pause, options.timeout - waited) : pause);
  }
}

/// Waits for a master that is away now, or goes away again at once; one that goes away later is waited for by answer_of().
Result<std::unique_ptr<client::Admin>> asked_again(const WatchOptions& options) {
  client::AdminOptions first;
  first.patience = first.at_first = patience_of(options, Duration(0));
  first.waiting = tell_waiting;
  storage::Retry retry(first, {kFirstPause, kLongestPause});
  while (true) {
    WEFT_TRY(client::Admin::connect(options.master.address, first));
    auto admin = client::Admin::connect(options.master.address);
    if (admin || !retry.again(admin.error())) return admin;
  }
}

Result<void> wait(const WatchOptions& options, int& exit_status) {
  WEFT_ASSIGN(const auto admin, asked_again(options));
  WEFT_ASSIGN(const auto ended, follow(*admin, options, exit_status, [](const client::JobList&) { return Result<void>(); }));
  return report_end(options, ended, exit_status);
}

/// Progress of a job whose times are those of the job, on the master's clock, however late this looks.
class WatchedProgress {
 public:
  explicit WatchedProgress(const WatchOptions& options) : progress_(fmt::format("job {}", options.job), options.quiet) {}

  void show(const client::JobList& found) {
    const TimePoint now = SystemClock().now();
    if (!submitted_) progress_.watch_since(submitted_.emplace(now - age(found.jobs[0], found.now)));
    if (found.jobs[0].state == master::JobState::running && progress_.due(now)) progress_.update(now, found.jobs[0]);
  }
  void pause() { progress_.pause(); }
  /// The last of the progress, and the end, after a show() of it.
  Result<void> report_end(const WatchOptions& options, const client::JobList& ended, int& exit_status) {
    const master::JobStatus& job = ended.jobs[0];
    if (job.state == master::JobState::finished) {
      progress_.finish(*submitted_ + age(job, ended.now), job);
      return {};
    }
    progress_.fail(job);
    return tools::report_end(options, ended, exit_status);
  }

 private:
  client::Progress progress_;
  std::optional<TimePoint> submitted_;  // on this machine's clock
};

Result<void> attach(const WatchOptions& options, int& exit_status) {
  WEFT_ASSIGN(const auto admin, asked_again(options));
  WatchedProgress progress(options);
  const auto ended = follow(*admin, options, exit_status, [&](const client::JobList& found) -> Result<void> {
    progress.show(found);
    return {};
  });
  progress.pause();
  if (ended) return progress.report_end(options, *ended, exit_status);
  if (ended.error().code() == Code::cancelled) exit_status = kStillRunning;
  return fail(ended.error());
}

Result<void> tail(const WatchOptions& options, int& exit_status) {
  WEFT_ASSIGN(const auto admin, asked_again(options));
  WatchedProgress progress(options);
  LogTail logs;
  const auto look = [&](const client::JobList& found) -> Result<void> {
    // Logs of a job that has ended may be gone with its workers; its end is reported anyway.
    if (const auto pieces = admin->logs(JobId(options.job), kLogBytes)) print(logs.add(*pieces));
    std::fflush(stdout);
    WEFT_TRY(check_reader());
    progress.show(found);
    return {};
  };
  const auto ended = follow(*admin, options, exit_status, look);
  progress.pause();
  print(logs.rest());
  if (!ended) return fail(ended.error());
  return progress.report_end(options, *ended, exit_status);
}

}  // namespace

Result<void> follow_logs(const MasterOption& master, std::uint64_t job, std::uint64_t bytes) {
  const WatchOptions options{.master = master, .job = job};
  WEFT_ASSIGN(const auto admin, asked_again(options));
  LogTail logs;
  int ignored = 0;
  Result<void> read;  // how the last look at the logs went
  const auto ended = follow(*admin, options, ignored, [&](const client::JobList&) -> Result<void> {
    read = admin->logs(JobId(job), bytes).map([&](const auto& pieces) { print(logs.add(pieces)); });
    std::fflush(stdout);
    return check_reader();
  });
  print(logs.rest());
  return ended ? read : ended.map([](auto&&) {});
}

void add_job_watch(CLI::App& job, Action& action, int& exit_status) {
  const auto add = [&](const char* name, const char* help, Result<void> (*run)(const WatchOptions&, int&)) {
    const auto watch = [run, &exit_status](const WatchOptions& options) { return run(options, exit_status); };
    Command<WatchOptions> command(job, action, name, help, watch);
    command.master().job();
    command.app()
        .get_option("--patience")
        ->description("How long to wait for a master that is away (default: 10min, as drivers do)");
    command.app().footer(
        "Exit status: 0 when the job finished, 3 when it failed, 4 when it was killed, 5 when it still runs at the end\n"
        "of the time, or an interrupt ended weft job attach, 1 when its end is not known (no such job, no master).");
    add_duration_option(command.app(), "--timeout", command.options().timeout, Zero::allowed,
                        "Not longer than this; 0s: until it ends (default: 0s)");
    return command;
  };
  add("wait", "Wait until a job has ended; the exit status says how", wait)
      .flag("--json", &WatchOptions::json, "Its last status as JSON, as weft job status has it");
  add("attach", "Show a job's progress until it has ended, as its program does; an interrupt leaves the job alone", attach)
      .flag("--quiet", &WatchOptions::quiet, "No progress, only the end");
  add("tail", "Follow a job until it has ended: what its tasks print, and its progress on standard error", tail)
      .flag("--quiet", &WatchOptions::quiet, "No progress, only what its tasks print");
}

}  // namespace weft::tools
