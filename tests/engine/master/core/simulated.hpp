// A shell of the core without machines: virtual time, simulated nodes with slots, task durations and faults from one seed. Carries
// out every command and checks that the core keeps its promises. For tests; the same seed gives the same run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "base/random.hpp"
#include "engine/master/core/core.hpp"
#include "tests/engine/master/core/simulated_journal.hpp"

namespace weft::master {

struct SimulatedOptions {
  std::uint64_t seed = 1;
  std::uint32_t nodes = 3;
  std::uint32_t slots = 2;
  std::uint32_t racks = 1;
  double memory = 0;                 // of a node; 0: not accounted
  std::uint64_t prefetch_bytes = 0;  // of prefetched blocks that a node holds; 0: no limit
  Time shortest_task = std::chrono::milliseconds(10);
  Time longest_task = std::chrono::milliseconds(100);
  double straggler_rate = 0;    // of attempts, which take twenty times as long
  double failure_rate = 0;      // of attempts, in user code; and of copies of map outputs
  double loss_rate = 0;         // of finished map outputs: silently gone, found by a reader
  std::uint64_t hot_bytes = 0;  // what every map writes to its first partition, above a few bytes
  Time between_deaths{0};       // mean time between deaths of nodes; 0: never. A fresh node replaces each
  double silent_deaths = 0.5;   // share of deaths only noticed by the missing heartbeat
  double zombies = 0.5;         // share of dead or killed attempts that go on and report
  Time between_restarts{0};     // mean time between restarts of the master; 0: never, and nothing is recorded
  double cut_off = 0;           // share of masters that go on for a while, and promise nothing, before their successors begin
  Time longest_cut_off = std::chrono::seconds(5);
  bool releases = true;  // of shuffles that later stages may read nevertheless
  double synced = 0.3;   // chance that what was recorded is on the disk after an event that nobody waits for
  double returns = 0.9;  // share of nodes that come back to a master that was started again
  Time heartbeat = std::chrono::milliseconds(500);
  std::string scheduler = "fifo";
  CoreOptions core;
};

/// An event that a core accepted, and when.
struct AcceptedEvent {
  Time at{0};
  Event event;
};
/// Applies them to a fresh core, which gives the same commands as the first. An event that is refused is an error: the core has
/// other options, or another scheduler.
Result<void> replay(const std::vector<AcceptedEvent>& events, Core& core, std::vector<Command>& commands);

class SimulatedCluster {
 public:
  explicit SimulatedCluster(SimulatedOptions options);
  SimulatedCluster(SimulatedOptions options, std::unique_ptr<schedulers::Scheduler> scheduler, SchedulerFactory factory = {});

  JobId submit(JobSubmitted job);
  void extend(JobId job, plan::PlanPart part);
  void kill(JobId job, std::string reason);
  void close(JobId job);
  /// Another scheduler from now on.
  Result<void> configure(std::string spec) { return apply(SchedulerConfigured{std::move(spec), {}}); }
  void kill_node(NodeId node, bool silently);
  /// The master dies, and another one goes on with what its journal has. Its nodes come back one after the other, or never.
  void restart_master();
  std::uint64_t cut_offs() const { return cut_offs_; }
  NodeId add_node();

  /// Runs until every action asked for is finished or its job failed; false when `limit` of virtual time passes first.
  bool run(Time limit);
  /// Lets end what runs, without a new action, and checks that nothing of released shuffles is left on the nodes.
  void settle();
  bool step();  // one item; false when nothing is left to happen

  Core& core() { return *core_; }
  Time now() const { return now_; }
  const std::map<std::pair<JobId, ActionId>, std::vector<std::vector<Buffer>>>& results() const { return results_; }
  const std::map<JobId, Error>& failures() const { return failures_; }
  /// Broken promises of the core, in words; empty when all is well.
  const std::vector<std::string>& violations() const { return violations_; }
  const std::vector<AcceptedEvent>& events() const { return events_; }
  /// They, a line each.
  std::string event_lines() const;
  /// Every command, a line each.
  const std::string& command_log() const { return command_log_; }
  std::uint64_t zombies_refused() const { return zombies_refused_; }
  std::uint64_t second_attempts() const { return second_attempts_; }
  std::uint64_t outputs_moved() const { return outputs_moved_; }
  std::uint64_t rolled_back() const { return rolled_back_; }  // stages
  /// What runs and what waits, in words: for failures.
  std::string standing() const;
  std::uint64_t restarts() const { return restarts_; }
  /// Attempts that came to a good end after another one at the same task had.
  std::uint64_t ended_again() const { return ended_again_; }
  const SimulatedJournal& journal() const { return *journal_; }

 private:
  struct Output {
    JobId job;
    ShuffleId shuffle;
    std::uint32_t map = 0, attempt = 0;
    friend auto operator<=>(const Output&, const Output&) = default;
  };
  /// An end of an attempt that the master had before it was on its disk.
  struct Unkept {
    Event event;
    std::uint64_t records = 0;  // on the disk when it is kept
  };
  /// Which attempt at each task of an indeterminate stage wrote what something is made of. No two may be mixed.
  using Origin = std::map<TaskId, std::uint32_t>;
  struct Running {
    LaunchTask launch;
    std::vector<ShuffleLocations> tables;                                 // as known at the launch
    bool fenced = false;                                                  // the core gave it up; it may report nevertheless
    std::map<std::pair<ShuffleId, std::uint32_t>, std::uint32_t> read{};  // of maps: the attempt whose output it has already
  };
  struct Node {
    std::set<Output> store;
    std::multiset<Output> coming;  // copies
    std::map<std::pair<JobId, ShuffleId>, ShuffleLocations> tables;
    std::map<std::pair<JobId, ShuffleId>, std::set<std::tuple<std::uint32_t, std::uint32_t, NodeId>>>
        told;                                                               // to prefetch: map, attempt, where
    std::map<std::pair<JobId, ShuffleId>, std::set<std::uint32_t>> placed;  // partitions, likewise
    std::map<AttemptId, Running> running;
    std::uint32_t busy = 0;      // attempts that are not fenced
    bool alive = true;           // of the world
    bool known = true;           // to the core
    bool connected = true;       // to the master that runs
    std::vector<Unkept> unkept;  // ends that the master may forget, or has not heard of
  };
  struct TaskEnd {
    NodeId node;
    AttemptId attempt;
  };
  struct Heartbeat {
    NodeId node;
  };
  struct CopyEnd {
    ReplicateOutput copy;
    std::uint64_t restarts = 0;  // of masters before it
  };
  struct Death {};
  struct Restart {};
  struct TakeOver {
    std::uint64_t restarts = 0;  // before it
  };
  struct Return {
    NodeId node;
  };
  using AgendaItem = std::variant<TaskEnd, Heartbeat, Death, TimerFired, CopyEnd, Restart, TakeOver, Return>;

  void at(Time when, AgendaItem item) { agenda_.emplace(std::pair(when, sequence_++), std::move(item)); }
  Result<void> apply(Event event);
  void check(bool good, std::string what);
  void check_released(JobId job, std::optional<ShuffleId> shuffle);

  void on(const TaskEnd& end);
  void on(const Heartbeat& beat);
  void on(const Death& death);
  void on(const TimerFired& timer);
  void on(const CopyEnd& end);
  void on(const Restart&);
  void on(const TakeOver& next);
  void on(const Return& back);
  void report(NodeId node, Event event, bool fenced);
  void keep_all();
  void forget_unrecorded();
  std::unique_ptr<Core> new_core();
  void read_some(Running& task);
  void note_origin(const AttemptId& attempt, const Running& task);
  void check_origins(const ActionFinished& finished);
  Event outcome(NodeId node, const AttemptId& attempt, const Running& task);
  bool waits(const Running& task) const;
  std::optional<shuffle::FetchFailure> missing_input(const Running& task) const;
  void forget_lost_nodes();
  void fence(Node& node);

  void carry_out(const LaunchTask& command);
  void carry_out(const KillTask& command);
  void carry_out(const ShuffleLocations& command);
  void carry_out(const ShuffleExtended& command);
  void carry_out(const PrefetchShuffle& command);
  void carry_out(const ReplicateOutput& command);
  void carry_out(const OutputMoved& command);
  void carry_out(const StageRolledBack& command);
  void carry_out(const ReleaseShuffle& command);
  void carry_out(const ReleaseJob& command);
  void carry_out(const NodeLost&) {}  // readers find out
  void carry_out(const ActionFinished& command);
  void carry_out(const JobFailed& command);
  void carry_out(const JobFinished& command);
  void carry_out(const SetTimer& command);

  SimulatedOptions options_;
  Random random_;
  Random reading_;  // what a running task has read
  std::unique_ptr<Core> core_;
  std::unique_ptr<SimulatedJournal> journal_;  // null: nothing is recorded
  std::optional<std::uint64_t> cut_off_;       // another master is about to take over, with at most that many records
  int joining_ = 0;                            // nodes that cannot join before that
  std::vector<AcceptedEvent> events_;
  std::string command_log_;
  Time now_{0};
  std::map<std::pair<Time, std::uint64_t>, AgendaItem> agenda_;
  std::uint64_t sequence_ = 0;
  std::map<NodeId, Node> nodes_;
  std::uint32_t next_node_ = 1;
  std::uint64_t next_job_ = 1;
  std::map<JobId, std::set<StageId>> targets_;  // result stages
  std::map<std::pair<JobId, ActionId>, std::vector<StageId>> of_action_;
  std::set<std::pair<JobId, StageId>> indeterminate_;
  std::map<AttemptId, Origin> origins_;            // of attempts that came to a good end
  std::set<AttemptId> mixed_;                      // of these, those that read what does not belong together
  std::map<JobId, std::set<ShuffleId>> released_;  // by the plan, and not read since
  std::set<AttemptId> started_;
  std::set<TaskId> committed_;  // tasks of result stages
  std::set<std::pair<JobId, ActionId>> waiting_;
  std::map<std::pair<JobId, ActionId>, std::vector<std::vector<Buffer>>> results_;
  std::map<JobId, Error> failures_;
  std::set<JobId> over_;
  std::vector<std::string> violations_;
  std::uint64_t zombies_refused_ = 0, second_attempts_ = 0, outputs_moved_ = 0, rolled_back_ = 0, restarts_ = 0, cut_offs_ = 0,
                ended_again_ = 0;
  std::set<TaskId> ended_;
  bool returning_ = false;  // a node comes back: what of its outputs is of no use is released there alone
};

/// A command in words, complete: equal text, equal command.
std::string to_text(const Command& command);

}  // namespace weft::master
