// The core's inside: what it keeps beyond the ClusterView, and the steps events are made of. Split over core_*.cpp by subject.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/master/core.hpp"
#include "engine/master/prefetch_budget.hpp"
#include "engine/master/replica_placement.hpp"
#include "engine/master/stage_replicas.hpp"
#include "schedulers/view/state.hpp"

namespace weft::master {

/// What a task of a hot partition reads: the outputs of some maps of one input, and all of the others.
struct Cut {
  std::uint32_t task = 0;   // the one whose partition it is
  std::uint32_t input = 0;  // position in the branch's partitioned inputs
  shuffle::MapRange maps;
};

struct StageRecord {
  plan::Stage plan;
  schedulers::StageInfo* info = nullptr;
  std::vector<StageId> inputs;        // each once
  std::optional<ActionId> action;     // result stages of an action that is not finished
  bool active = false;                // somebody waits for it: its missing tasks are to run once its inputs are complete
  bool released = false;              // the driver will not read it again
  bool shaped = false;                // it was ready once: its number of tasks stays
  bool dropped = false;               // complete, but its segments were given up; recomputed when lineage asks for it
  std::map<std::uint32_t, Cut> cuts;  // by task; those of additional tasks come after the plan's
  std::vector<Buffer> results;
  std::vector<bool> counted;                         // tasks whose counters are in the job's already (a recomputed map counts once)
  std::uint64_t input_bytes = 0, shuffle_bytes = 0;  // of the counted tasks
  std::uint32_t table_version = 1;                   // of the location table; grows with each lost output
  OutputTable table;                                 // as it was made last
  std::uint32_t version_of_table = 0;
  std::map<NodeId, std::uint32_t> sent;                // table version each node has
  std::set<NodeId> told;                               // nodes that bring its blocks to readers placed there
  std::set<std::uint32_t> untold;                      // maps whose outputs they do not know of yet
  std::uint32_t units_sized_by = 0;                    // maps that had ended when what they bring was foretold last; 0: never
  std::map<NodeId, std::uint32_t> fetch_failures;      // of outputs on a node
  StageReplicas copies;                                // of its outputs
  bool unlike = false;                                 // its maps write for different reduces: one says nothing of the others
  std::vector<StageId> placed_by;                      // inputs by whose sizes its tasks were given nodes, in that order
  std::uint32_t speculative = 0, speculative_won = 0;  // second attempts launched, and those that finished first

  std::string title() const;
};

struct ActionRecord {
  std::vector<StageId> targets;
  std::uint64_t bytes = 0;
};

struct JobRecord {
  JobSubmitted spec;
  schedulers::JobInfo* info = nullptr;
  std::map<StageId, StageRecord> stages;
  std::set<StageId> open;             // with unfinished tasks
  std::set<StageId> release_pending;  // released, segments still held
  std::map<ActionId, ActionRecord> actions;
  std::set<ActionId> seen_actions;
  std::set<NodeId> nodes;  // live ones that were given something of it
  bool patient = false;    // its stages wait for complete inputs, also with slow start
  Counters counters;
  std::uint64_t shuffle_bytes = 0, input_bytes = 0, input_records = 0;
  std::vector<std::string> lost_workers;  // the first few
  std::uint32_t workers_lost = 0;
};

/// A running attempt's records. Valid until the attempt or the job ends.
struct TaskRef {
  JobRecord* job;
  StageRecord* stage;
  std::uint32_t index;
  bool second = false;  // the second attempt of the task
  schedulers::TaskInfo& info() const { return stage->info->tasks[index]; }
  const schedulers::SpeculativeAttempt& second_info() const { return stage->info->speculative.at(index); }
  TaskId id() const { return {job->spec.job, stage->plan.id, index}; }
  AttemptId attempt() const { return {id(), second ? second_info().attempt : info().attempt()}; }
  NodeId node() const { return second ? second_info().node : info().node; }
  Time launched() const { return second ? second_info().launched : info().launched; }
  bool races() const { return stage->info->speculative.contains(index); }
  TaskRef rival() const { return {job, stage, index, !second}; }  // when it races
};

class Core::Impl final : public schedulers::Decisions {
 public:
  Impl(std::unique_ptr<schedulers::Scheduler> scheduler, CoreOptions options, SchedulerFactory factory);

  void restore(Time now, std::vector<JobStatus> ended);
  Result<void> apply(Time now, Event event, std::vector<Command>& commands);
  Result<JobStatus> job(JobId id, bool predict) const;
  std::vector<JobStatus> jobs() const;
  Result<JobExplanation> explain(JobId id) const;
  const schedulers::ClusterView& view() const { return state_; }
  const SchedulerFaults& scheduler_faults() const { return trouble_; }
  const SchedulerConfigured& configuration() const { return configuration_; }
  Result<std::vector<schedulers::GroupStatus>> groups() const;

  // Decisions, valid while schedule() runs.
  Result<void> launch(const TaskId& task, NodeId node, std::string_view reason) override;
  Result<void> preempt(const AttemptId& attempt, std::string_view reason) override;
  Result<void> preplace(const TaskId& task, NodeId node, std::string_view reason) override;
  void hold(JobId job, std::optional<StageId> stage, std::string_view reason) override;
  void wake_at(Time at) override;

 private:
  // Events (core_jobs.cpp, core_tasks.cpp, core_nodes.cpp). Each checks everything before it changes anything.
  Result<void> on(JobSubmitted event);
  Result<void> on(PlanExtended event);
  Result<void> on(JobClosed event);
  Result<void> on(JobKilled event);
  Result<void> on(WorkerJoined event);
  Result<void> on(WorkerHeartbeat event);
  Result<void> on(WorkerLost event);
  Result<void> on(TaskFinished event);
  Result<void> on(TaskFailed event);
  Result<void> on(TimerFired event);
  Result<void> on(OutputCopied event);
  Result<void> on(CopyFailed event);
  Result<void> on(SchedulerConfigured event);

  // Jobs.
  Result<JobRecord*> running_job(JobId id);
  void add_stage(JobRecord& job, plan::Stage stage);
  void end_job(JobRecord& job, JobState state, const Error* error);
  void remember(JobStatus ended);
  void doom(JobRecord& job, Error error);
  void finish_actions(JobRecord& job);
  JobStatus status_of(const JobRecord& job, bool with_stages) const;
  static void add_predictions(const JobRecord& job, JobStatus& status);

  // Stages and shuffles (core_shuffles.cpp).
  /// Works out again which stages are active and ready, revives what lineage needs, drops what nobody needs.
  void refresh(JobRecord& job);
  void set_ready(JobRecord& job, StageRecord& stage, bool ready);
  // Slow start (core_slow_start.cpp).
  std::uint32_t start_threshold(const StageRecord& input) const;
  void set_inputs_complete(StageRecord& stage, bool complete);
  void extend_tables(JobRecord& job, StageRecord& stage, const TaskRef& task);
  bool make_way();
  std::optional<TaskRef> newest_early_reader();
  bool starved(const JobRecord& job) const;
  void ask_for(NodeId node);
  bool all_asked() const;
  void stage_complete(JobRecord& job, StageRecord& stage);
  void lose_output(JobRecord& job, StageRecord& stage, std::uint32_t map);
  bool lose_outputs_on(JobRecord& job, StageRecord& stage, NodeId node, const std::string& why);
  void revive(JobRecord& job, StageRecord& stage);
  void drop_released(JobRecord& job);
  void drop(JobRecord& job, StageRecord& stage);
  void send_locations(JobRecord& job, StageRecord& stage, NodeId node);
  static const OutputTable& table_of(StageRecord& stage);

  // Second copies of outputs (core_copies.cpp).
  void copy_output(JobRecord& job, StageRecord& stage, std::uint32_t map);
  void copy_waiting_outputs();
  void forget_copy(StageRecord& stage, std::uint32_t map);
  void forget_copies(StageRecord& stage);
  bool use_copy(JobRecord& job, StageRecord& stage, std::uint32_t map, const std::string& why);
  void tell_moved(JobRecord& job, StageRecord& stage);
  void lose_copies_on(JobRecord& job, StageRecord& stage, NodeId node);
  Result<StageRecord*> copying_stage(const OutputCopy& copy);
  void note_lost_node(NodeId id, const std::string& reason);
  std::string where_it_was(const shuffle::FetchFailure& fetch, const std::string& message) const;
  std::string where_it_is(const StageRecord& source, const shuffle::FetchFailure& fetch) const;

  // Placing readers while maps run (core_preplacement.cpp).
  void preplace_readers(JobRecord& job, StageRecord& input, const TaskRef& task);
  void preplace(JobRecord& job, StageRecord& reader, std::optional<StageId> fresh);
  void tell_outputs(const JobRecord& job, StageRecord& input);
  void tell_places(JobRecord& job, StageRecord& input);
  void call_preplace(const schedulers::Preplaceable& what);
  static std::uint64_t block_bytes(const schedulers::ShuffleSizes& sizes);

  // What of it waits out of memory (core_units.cpp).
  using PartitionsByNode = std::map<NodeId, std::vector<std::pair<std::uint32_t, StageId>>>;  // and who reads each
  void place_units(const JobRecord& job, StageRecord& input, const PartitionsByNode& partitions);
  void resize_units(const JobRecord& job, StageRecord& input);
  void read_units(const JobRecord& job, const StageRecord& reader, std::uint32_t task);
  void decide_units();
  schedulers::RoundOrder round_order();

  // How partitions become tasks (core_shape.cpp), hot ones (core_skew.cpp).
  void shape(const JobRecord& job, StageRecord& stage);
  bool may_merge(const JobRecord& job, const StageRecord& stage) const;
  std::uint32_t merged_tasks(std::uint64_t bytes, std::uint32_t partitions) const;
  void merge(const JobRecord& job, StageRecord& stage);
  void cut(const JobRecord& job, StageRecord& stage);
  std::vector<Cut> cuts_of(const JobRecord& job, const plan::Branch& branch, std::uint32_t first_task) const;
  void set_task_count(StageRecord& stage, std::uint32_t tasks);
  plan::TaskSpec spec_of(const JobRecord& job, const StageRecord& stage, std::uint32_t task) const;

  // Tasks.
  Result<TaskRef> running_task(const AttemptId& attempt, NodeId node);
  TaskRef ref_of(const AttemptId& running);
  void release(const TaskRef& task);
  void vacate(const TaskRef& task);  // and says so to the scheduler
  void requeue(const TaskRef& task, std::optional<NodeId> avoid);
  void give_up_attempt(const TaskRef& task);
  void count_failure(const TaskRef& task, FailureKind kind, std::string message);
  void lose_attempt(const TaskRef& task, std::string why);
  void count_loss(const TaskRef& task, const std::string& where, std::string why);
  void fetch_failed(const TaskRef& task, const shuffle::FetchFailure& fetch, const std::string& message);
  bool lose_fetched(JobRecord& job, StageRecord& source, const shuffle::FetchFailure& fetch, const std::string& why);
  void store_output(const TaskRef& task, const TaskFinished& event);
  void store_result(const TaskRef& task, Buffer result);
  void add_counters(const TaskRef& task, const TaskFinished& event);

  // Second attempts (core_speculation.cpp).
  void emit_launch(JobRecord& job, StageRecord& stage, const AttemptId& attempt, NodeId node, std::string_view reason);
  void win_race(const TaskRef& winner);
  void watch_stage(const JobRecord& job, const StageRecord& stage);
  void look_at(Time at);
  void look_for_stragglers();
  struct Straggling {
    double overdue = 0;  // its time over what it should take
    TaskId task;
    NodeId node;
  };
  std::optional<Time> typical_duration(const StageRecord& stage);
  std::optional<Time> find_stragglers(JobRecord& job, StageRecord& stage, std::vector<Straggling>& found);
  void publish(std::vector<Straggling> found, const std::map<JobId, std::uint64_t>& racing);
  void note_pace(const StageRecord& stage, NodeId node, Time took);
  void note_slow_nodes(const std::vector<Straggling>& found);

  // Nodes.
  void lose_node(NodeId node, const std::string& reason);
  void node_failed(NodeId node);
  void exclude(NodeId node);
  bool another_node(const schedulers::StageInfo& stage, NodeId than) const;
  void lift_avoidance(schedulers::StageInfo& stage);
  void lift_avoidance();
  std::string node_name(NodeId node) const;

  // Tasks larger than any worker (core_placement.cpp).
  void count_shape(const schedulers::Resources& capacity, int change);
  bool placeable(const schedulers::Resources& demand) const;
  std::optional<Error> too_large(const JobRecord& job) const;
  void review_placement();
  void placement_due(JobId job);

  // Timers.
  struct Timer {
    enum class Purpose : std::uint8_t { heartbeat, exclusion, scheduler, placement, step, stragglers };
    Purpose purpose;
    NodeId node;  // of heartbeat and exclusion
    Time at;
    JobId job{};  // of placement
  };
  void set_timer(Timer::Purpose purpose, NodeId node, Time at, JobId job = {});

  // The scheduler, which may be a user's own: it may throw, and decide nonsense (core_scheduler.cpp).
  void run_scheduler();
  void ask_for_step();
  void call_scheduler(const schedulers::Trigger& trigger);
  void scheduler_failed(std::string what);
  Result<void> admit(const schedulers::JobInfo& job);
  void count_decision();
  void record_reason(JobId job, std::optional<StageId> stage, std::string_view reason);
  tl::unexpected<Error> refuse(JobId job, StageId stage, std::string why);

  // Why tasks wait (core_explain.cpp).
  void explain_stage(const JobRecord& job, const StageRecord& stage, std::vector<WaitingTasks>& out) const;
  static const std::optional<schedulers::Reason>& why_held(const JobRecord& job, const StageRecord& stage);
  WaitingTasks explain_held(const JobRecord& job, const StageRecord& stage, std::uint32_t tasks) const;
  std::string room_for(const schedulers::Resources& demand) const;

  void trigger_node(NodeId node);
  void trigger_work() { work_ = true, ++changes_; }
  void notify(schedulers::Notice notice);
  void tell_changes();
  void start_scheduler();
  template <class C>
  void emit(C command) {
    commands_->emplace_back(std::in_place_type<C>, std::move(command));
  }

  std::unique_ptr<schedulers::Scheduler> scheduler_;
  SchedulerFactory factory_;
  SchedulerConfigured configuration_;
  CoreOptions options_;
  schedulers::ClusterState state_;
  std::map<JobId, JobRecord> jobs_;
  std::map<JobId, JobStatus> ended_;  // the latest finished_jobs_kept
  std::deque<JobId> ended_order_;
  std::map<JobId, Error> doomed_;  // to fail at the end of this event
  std::set<NodeId> seen_nodes_;
  ReplicaPlacement replica_placement_;
  struct LostNode {
    std::string name, reason;
    Time at{0};
  };
  std::map<NodeId, LostNode> lost_nodes_;          // the latest
  std::map<NodeId, std::uint32_t> node_failures_;  // consecutive
  std::vector<std::pair<schedulers::Resources, std::uint32_t>>
      shapes_;                   // distinct capacities of live nodes, and how many have each
  std::set<JobId> unplaceable_;  // with a timer: tasks that no live node is large enough for
  std::map<std::uint64_t, Timer> timers_;
  std::uint64_t next_timer_ = 1;
  std::multiset<Time> wakes_;                 // of the timers the scheduler asked for
  std::vector<Command>* commands_ = nullptr;  // of the event being applied
  bool work_ = false;                         // what the scheduler is to look at afterwards
  std::optional<NodeId> triggered_;
  bool timer_ = false;
  std::optional<NodeId> heartbeat_;  // this event is one
  bool step_ = false, step_asked_ = false;
  std::uint64_t running_ = 0, early_ = 0;            // attempts; of these, readers of incomplete inputs
  std::uint64_t changes_ = 0, in_vain_at_ = 0;       // what a scheduler could make use of: counted, and of the nodes below
  std::set<NodeId> in_vain_;                         // asked by heartbeats, and given nothing, since anything changed
  std::uint32_t refused_now_ = 0, decided_now_ = 0;  // in the scheduler's current call
  Speculation speculation_;
  std::set<std::pair<JobId, StageId>> watched_;  // stages whose running tasks are measured against finished ones
  std::optional<Time> next_look_;                // has a timer
  PrefetchBudget units_;
  std::optional<Time> units_decided_;  // last
  std::map<NodeId, double> paces_;     // how long attempts take there, over what their stages' do in the mean; recent ones
  SchedulerFaults trouble_;
  std::vector<std::uint64_t> sizes_;  // scratch
  std::vector<Time> durations_;       // scratch
};

}  // namespace weft::master
