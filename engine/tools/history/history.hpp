// What an event log (docs/formats/journal.md) tells of jobs: their stages, every attempt, where it ran and what became of it.
// Traces, lists of tasks and findings are made from it, of jobs that run, have ended, or belong to a cluster that is gone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/master/log/event_line.hpp"

namespace weft::history {

/// Since the master began whose log it is.
using Time = std::chrono::nanoseconds;

enum class Fate : std::uint8_t { running, finished, failed, killed, lost };
const char* name_of(Fate fate);

struct Attempt {
  std::uint32_t stage = 0, task = 0, attempt = 0;
  std::uint32_t node = 0, slot = 0;  // slot: the lowest there that no other attempt of the job had
  std::uint32_t partitions = 1;      // that it reads of its inputs: small ones are given to one task
  bool speculative = false;
  Fate fate = Fate::running;
  Time launched{0}, ended{0};
  std::string kind{}, why{};  // of what failed or was killed
  // Of what finished.
  std::uint64_t input_bytes = 0, input_records = 0, output_bytes = 0, output_records = 0, result_bytes = 0;
  Time shuffle_read{0}, shuffle_write{0};
  runtime::TaskUsage usage{};
  std::uint64_t changed = 0;  // History::changes() when it was launched or ended, whichever was last
};

/// A replica of a map output on its way to another node.
struct Copy {
  std::uint32_t shuffle = 0, map = 0, from = 0, node = 0;
  Time began{0}, ended{0};  // ended 0: under way, or it failed
};

/// What became of blocks that a node prefetched for a job, between two times.
struct Prefetched {
  std::uint32_t node = 0;
  Time from{0}, to{0};
  shuffle::PrefetchStats bytes{};
};

struct Job {
  enum class State : std::uint8_t { running, finished, failed, killed };

  std::uint64_t id = 0;
  std::string name{}, error{};
  State state = State::running;
  Time submitted{0}, ended{0};
  std::optional<Time> deadline{};
  master::JobOptions options{};
  std::map<std::string, std::int64_t> counters{};  // of what finished
  std::vector<master::LoggedStage> stages{};
  std::vector<Attempt> attempts{};                                                         // in the order of their launches
  std::map<std::uint32_t, std::vector<std::uint64_t>> partition_bytes{};                   // by the stage that writes the shuffle
  std::map<std::uint32_t, std::map<std::uint32_t, std::vector<std::uint64_t>>> outputs{};  // the same, and by node
  std::size_t output_cells = 0;                                                            // that `outputs` ever had
  bool outputs_left_out = false;                                                           // kMostOutputCells
  std::vector<std::string> lost_workers{};  // while it ran, but for those that left by themselves: "w2 (SIGBUS)"; the first few
  std::uint32_t workers_lost = 0;           // how many
  std::vector<Copy> copies{};
  shuffle::PrefetchStats prefetch{};                                        // of all nodes
  std::map<std::uint32_t, std::pair<Time, shuffle::PrefetchStats>> said{};  // of each, and when it said so
  std::vector<Prefetched> prefetched{};                                     // how that came; kMostPrefetched
  // For History:
  std::map<std::uint64_t, std::size_t> open{};         // places in `attempts` of those that run
  std::map<std::uint32_t, std::vector<bool>> taken{};  // slots, by node
  std::set<std::uint64_t> others{};                    // jobs that had slots while it had none yet; History::others
};
const char* name_of(Job::State state);

struct Worker {
  std::string name{}, host{}, rack{};
  std::uint32_t slots = 0;
  Time joined{0};
  std::optional<Time> lost{};
  std::string why{};  // it is lost
  double memory = 0;  // bytes; 0: it does not account for it
};

/// Numbers (nodes times partitions) in `outputs` of all jobs together; beyond that the earliest jobs lose theirs.
inline constexpr std::size_t kMostOutputCells = 4'000'000;

/// Of a job: later ones are counted and not told of.
inline constexpr std::size_t kMostPrefetched = 20'000;

/// A pure function of the lines. Lines that make no sense where they stand are passed over: logs may begin in the middle.
class History {
 public:
  using Workers = std::map<std::uint32_t, Worker>;

  /// With `only`, other jobs are passed over, but for others(). `most_attempts`: beyond that the earliest jobs that have ended are
  /// forgotten. `workers`: those that are there when it begins in the middle of a log.
  explicit History(std::optional<std::uint64_t> only = {}, std::size_t most_attempts = 2'000'000, Workers workers = {})
      : only_(only), most_attempts_(most_attempts), workers_(std::move(workers)) {}

  void apply(const master::EventLine& line);
  /// Nothing happened until then.
  void pass_to(Time at) { now_ = std::max(now_, at); }
  /// As if it had never been.
  void drop(std::uint64_t job);

  Time now() const { return now_; }  // of the last line
  const std::map<std::uint64_t, Job>& jobs() const { return jobs_; }
  const Workers& workers() const { return workers_; }
  /// Launches and ends of attempts so far: who has seen all up to one number asks for what changed behind it.
  std::uint64_t changes() const { return changes_; }
  /// Null when the log says nothing of it.
  const Job* job(std::uint64_t id) const;
  /// How many other jobs had slots while the job waited for its first.
  std::size_t others(const Job& job) const;
  /// Whether a job waits for its first slot, and lines of other jobs matter to a history of it alone.
  bool waits(std::uint64_t id) const;

 private:
  void restart(Time at);
  void submit(const master::EventLine& line);
  void launch(const master::EventLine& line, Job& job);
  void end_attempt(const master::EventLine& line, Job& job, Fate fate);
  void close(Job& job, std::size_t place, Fate fate, std::string why);
  void end_job(Job& job, Job::State state, const std::string& error);
  void lose(const master::EventLine& line);
  void note_other(const master::EventLine& line);
  void note_copy(const master::EventLine& line, Job& job);
  static void note_prefetched(const master::EventLine& line, Job& job);
  void note_output(const master::EventLine& line, Job& job);
  void leave_out_outputs(Job& job);
  void forget();

  std::optional<std::uint64_t> only_;
  std::size_t most_attempts_;
  std::map<std::uint64_t, Job> jobs_;
  Workers workers_;
  std::size_t attempts_ = 0;
  std::size_t output_cells_ = 0;
  std::uint64_t changes_ = 0;
  Time now_{0};
};

}  // namespace weft::history
