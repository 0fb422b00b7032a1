// What an event log (docs/formats/journal.md) records of jobs: their stages, every attempt, where it ran and how it ended. Traces,
// lists of tasks and findings are made from it, for jobs that run, have ended, or belong to a cluster that is gone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/master/core/core.hpp"
#include "engine/master/log/event_line.hpp"

namespace weft::history {

using master::JobState;
/// Since the start of the master that wrote the log.
using Time = std::chrono::nanoseconds;

enum class Fate : std::uint8_t { running, finished, failed, killed, lost };
const char* name_of(Fate fate);

struct LoggedAttempt {
  std::uint32_t stage = 0, task = 0, attempt = 0;
  std::uint32_t node = 0, slot = 0;  // slot: the lowest of the node that no other attempt of the job had
  std::uint32_t partitions = 1;      // that it reads of its inputs: small ones are given to one task
  bool speculative = false;
  Fate fate = Fate::running;
  Time launched{0}, ended{0};
  std::string kind{}, why{};  // of what failed or was killed
  // Of what finished.
  std::uint64_t input_bytes = 0, input_records = 0, output_bytes = 0, output_records = 0, result_bytes = 0;
  Time shuffle_read{0}, shuffle_write{0};
  runtime::TaskUsage usage{};
  std::uint64_t changed = 0;  // EventHistory::changes() when it was launched or ended, whichever was last
};

/// The transfer of a replica of a map output to another node.
struct LoggedReplica {
  std::uint32_t shuffle = 0, map = 0, from = 0, node = 0;
  Time began{0}, ended{0};  // ended 0: under way, or it failed
};

/// What a node prefetched for a job between two times, and how much of it was read, wasted and evicted.
struct Prefetched {
  std::uint32_t node = 0;
  Time from{0}, to{0};
  shuffle::PrefetchStats bytes{};
};

/// What a node last reported of the blocks that it prefetched for a job, and when.
struct PrefetchTotals {
  Time at{0};
  shuffle::PrefetchStats bytes{};
};

/// Of a slot that an attempt has.
inline constexpr Time kTaken = Time::max();

struct LoggedJob {
  master::JobStatus status{};  // without stages and the sums over them: status_of() adds these
  master::JobOptions options{};
  std::vector<master::LoggedStage> stages{};
  std::vector<Time> planned{};            // when the driver submitted each of these
  std::vector<LoggedAttempt> attempts{};  // in the order of their launches; EventHistory::launch_unseen adds some at their ends
  std::map<std::uint32_t, std::vector<std::uint64_t>> partition_bytes{};  // by the stage that writes the shuffle
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::string, std::uint64_t>>
      hot_keys{};                                                                          // records, by stage and partition
  std::map<std::uint32_t, std::map<std::uint32_t, std::vector<std::uint64_t>>> outputs{};  // the same, and by node
  std::size_t output_cells = 0;                                                            // that `outputs` ever had
  bool outputs_left_out = false;                                                           // kMostOutputCells
  std::vector<LoggedReplica> replicas{};
  std::map<std::uint32_t, PrefetchTotals> reported{};  // by node
  std::vector<Prefetched> prefetched{};                // the increments between reports, at most kMostPrefetched
  // For EventHistory:
  std::map<std::uint64_t, std::size_t> open{};         // places in `attempts` of those that run
  std::unordered_set<std::uint64_t> known{};           // all of `attempts`: ends of some are logged twice
  std::unordered_set<std::uint64_t> counted{};         // tasks whose outputs are in the sums: one that runs again adds nothing
  std::map<std::uint32_t, std::vector<Time>> slots{};  // by node: since when each is free, or kTaken
  std::set<std::uint64_t> others{};                    // jobs that had slots while it had none yet; EventHistory::others
};

struct LoggedWorker {
  std::string name{}, host{}, rack{};
  std::uint32_t slots = 0;
  Time joined{0};
  std::optional<Time> lost{};
  std::string why{};  // it is lost
  double memory = 0;  // bytes; 0: it does not account for it
};

/// Numbers (nodes times partitions) in `outputs` of all jobs together; beyond that the earliest jobs lose theirs.
inline constexpr std::size_t kMostOutputCells = 4'000'000;

/// Of a job. Later increments count only in the sum, LoggedJob::status.
inline constexpr std::size_t kMostPrefetched = 20'000;

/// A pure function of the lines. Lines that make no sense where they stand are passed over: logs may begin in the middle.
class EventHistory {
 public:
  using Workers = std::map<std::uint32_t, LoggedWorker>;

  /// With `only`, other jobs count only for others(), and workers() are those of the run of the master in which the job ended.
  /// `most_attempts`: beyond that the earliest jobs that have ended are forgotten. `workers`: those that are registered where it
  /// begins, in the middle of a log.
  explicit EventHistory(std::optional<std::uint64_t> only = {}, std::size_t most_attempts = 2'000'000, Workers workers = {})
      : only_(only), most_attempts_(most_attempts), workers_(std::move(workers)) {}

  void apply(const master::EventLine& line);
  /// Nothing happened until then.
  void pass_to(Time at) { now_ = std::max(now_, at); }
  /// As if it had never been.
  void drop(std::uint64_t job);

  Time now() const { return now_; }  // of the last line
  const std::map<std::uint64_t, LoggedJob>& jobs() const { return jobs_; }
  const Workers& workers() const { return workers_then_ ? *workers_then_ : workers_; }
  /// Null when the log has no worker with this number.
  const LoggedWorker* worker(std::uint32_t node) const;
  /// Its name, or "node 7".
  std::string worker_name(std::uint32_t node) const;
  /// Launches and ends of attempts so far. A client that has seen all changes up to N asks for those after N.
  std::uint64_t changes() const { return changes_; }
  /// Null when the log has no such job.
  const LoggedJob* job(std::uint64_t id) const;
  /// How many other jobs had slots while the job waited for its first.
  std::size_t others(const LoggedJob& job) const;
  /// Whether a job waits for its first slot, and lines of other jobs matter to a history of it alone.
  bool waits(std::uint64_t id) const;

 private:
  bool is_over() const;
  void restart(Time at);
  void submit(const master::EventLine& line);
  void launch(const master::EventLine& line, LoggedJob& job, Time at, Time slot_free_since);
  bool launch_unseen(const master::EventLine& line, LoggedJob& job);
  void end_attempt(const master::EventLine& line, LoggedJob& job, Fate fate);
  void close(LoggedJob& job, std::size_t place, Fate fate, std::string why);
  void end_job(LoggedJob& job, JobState state, const std::string& error);
  void lose(const master::EventLine& line);
  void note_other(const master::EventLine& line);
  void note_replica(const master::EventLine& line, LoggedJob& job);
  static void note_prefetched(const master::EventLine& line, LoggedJob& job);
  static void note_task(const master::EventLine& line, LoggedJob& job);
  void note_output(const master::EventLine& line, LoggedJob& job);
  void leave_out_outputs(LoggedJob& job);
  void forget();

  std::optional<std::uint64_t> only_;
  std::size_t most_attempts_;
  std::map<std::uint64_t, LoggedJob> jobs_;
  Workers workers_;
  std::optional<Workers> workers_then_;  // when the run ended in which the one job did
  std::size_t attempts_ = 0;
  std::size_t output_cells_ = 0;
  std::uint64_t changes_ = 0;
  Time now_{0};
};

}  // namespace weft::history
