// The inside of a simulated run: the world's state, what happens in it, and the master it talks to. Split over run_*.cpp by
// subject.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/master/core.hpp"
#include "engine/profiles/observer.hpp"
#include "engine/simulator/accounts.hpp"
#include "engine/simulator/agenda.hpp"
#include "engine/simulator/contention.hpp"
#include "engine/simulator/event_digest.hpp"
#include "engine/simulator/machines.hpp"
#include "engine/simulator/placement.hpp"
#include "engine/simulator/plans.hpp"
#include "engine/simulator/shuffle_service.hpp"
#include "engine/simulator/simulate.hpp"
#include "engine/simulator/watched.hpp"

namespace weft::simulator {

/// One output of a map, in the order of their making.
struct Output {
  std::uint32_t map = 0, attempt = 0, machine = 0;
  NodeId node;
  bool there = true;     // neither gone with its machine nor made again
  bool readable = true;  // else a reader finds out
  bool counted = true;   // as a finished task
  Time made_in{0};       // the length of the attempt
};

struct StageRun {
  const StageSpec* spec = nullptr;
  StagePlan plan;
  std::vector<shuffle::PartitionSize> row;        // what each task reports as written, once one has
  double bytes_per_task = 0;                      // of its shuffle
  std::map<std::uint32_t, std::uint32_t> failed;  // by task: of the failures of its spec, those that have happened
  // Of stages that somebody reads.
  std::vector<Output> outputs;
  std::vector<std::uint32_t> latest;                            // of each map, position in outputs plus 1; 0: none
  std::unordered_map<std::uint32_t, std::uint32_t> on_machine;  // outputs that are there, by machine that has some
  std::uint32_t there = 0, unreadable = 0;
  // Of stages that read: running attempts that wait for outputs.
  std::vector<std::uint32_t> waiting;  // slots

  bool complete() const { return there == spec->tasks; }
};

struct JobRun {
  const JobSpec* spec = nullptr;
  bool running = false;
  std::vector<StageRun> stages;
  std::deque<plan::PlanPart> parts;      // of its plan, that its driver has not given yet
  std::unique_ptr<Placement> placement;  // of what its tasks write, where that has several replicas
};

/// How far a reader is with the shuffles it reads.
struct Fetch {
  struct Input {
    std::uint32_t stage = 0;
    std::uint32_t next = 0;  // the first output not looked at
    std::uint32_t have = 0;
    std::uint32_t whole = 0;           // not 0: of all maps at once, the latest among so many outputs; then there are no lists
    std::vector<std::uint32_t> batch;  // outputs under way
    std::vector<bool> fetched;         // by map
    std::vector<std::uint32_t> here;   // by map: the attempt, plus 1, whose block was prefetched; none: no map's was
  };
  std::vector<Input> inputs;
  std::uint32_t taking = 0;  // inputs of which the prefetcher has not answered yet
  double left = 1;           // part of the batch that a broken flow had not moved
};

/// Bytes on their way that no attempt moves itself.
struct Transfer {
  std::optional<std::size_t> job;  // whose traffic it is, and with which it ends
  std::uint32_t from = 0, to = 0;  // machines, with which it breaks
  Move move;
  std::function<void(bool whole)> done;  // later
  bool behind = false;                   // from a page cache: nobody waits for it
};

/// taking: from the prefetcher; reported: ended, but its machine's next heartbeat is still to come; stalled: its machine is dead.
enum class Phase : std::uint8_t { reading, taking, fetching, waiting, working, writing, reported, stalled };

struct Attempt {
  AttemptId id;
  std::uint32_t machine = 0, place = 0;  // position in the machine's list
  std::uint32_t generation = 0;          // of the slot: what is on the agenda for an earlier one is void
  bool active = false;
  bool fails = false;      // by itself, on the way
  bool extra = false;      // the second of its task
  bool overtaken = false;  // the other one has finished
  Phase phase = Phase::working;
  Time launched{0};
  double factor = 1;                            // of its work
  const StageSpec::Failure* failure = nullptr;  // what it is to come to
  std::uint32_t source = 0;                     // of the read
  std::optional<FlowNetwork::Flow> flow;
  Move move;
  std::uint64_t input_bytes = 0;
  std::unique_ptr<Fetch> fetch;
  // With a shuffle mode.
  shuffle::SegmentRoom room;  // for its output
  bool writing = false;       // its output, beside its work
  Time began{0};              // to fetch, and then to wait for what it writes
  shuffle::ShuffleTimes shuffle_times;
};

class Run final : ShuffleService::World {
 public:
  Run(const Workload& workload, const ClusterModel& model, std::unique_ptr<schedulers::Scheduler> scheduler,
      const RunOptions& options);
  Result<RunResult> run();

 private:
  using Slot = std::uint32_t;
  enum class AttemptOutcome : std::uint8_t { useful, failed, lost, preempted, redundant };

  // The clock (run.cpp).
  bool step();
  void happen(const AgendaEvent& event);
  void pass_to(Time now);
  Moved moved_so_far();
  void flow_ended(Slot slot);

  // The master (run_master.cpp).
  void apply(master::Event event);
  void drain();
  void note_runnable();
  template <class Command>
  void carry_out(const Command& command);
  void arrive(std::size_t job);
  void plan_later(std::size_t job);
  void plan_next(std::size_t job);
  void tell(std::size_t position);
  void job_over(std::size_t job, Outcome outcome, std::string error);

  // Attempts (run_attempts.cpp).
  Attempt* find(Slot slot, std::uint32_t generation);
  std::optional<Slot> slot_of(const AttemptId& id, std::uint32_t machine) const;
  void launch(const master::LaunchTask& command);
  static const StageSpec::Failure* next_failure(const StageRun& stage, std::uint32_t task);
  void join_race(Slot slot);
  Attempt* other_of(Slot slot);
  bool wanted() const { return !core_.view().runnable_jobs().empty() || !core_.view().stragglers().empty(); }
  void count_locality(const JobRun& job, const Attempt& attempt);
  void read_input(Slot slot);
  void fail(Slot slot, master::FailureKind kind, std::string message, std::optional<shuffle::FetchFailure> fetch = {});
  void report(Slot slot, master::Event event);
  void deliver(Slot slot, master::Event event);
  Time end(Slot slot, AttemptOutcome outcome);
  bool start_move(Slot slot, Move move);
  void break_move(Slot slot);
  void count_traffic(std::size_t job, const Move& move, double part);

  // Work (run_work.cpp).
  void work(Slot slot);
  const schedulers::Resources& load_of(const Attempt& attempt);
  void note_next_worked(std::uint32_t machine);
  void works_done(std::uint32_t machine, std::uint64_t turn);
  void worked(Slot slot);
  void write_output(Slot slot);
  void written(Slot slot);

  // Shuffles (run_shuffles.cpp).
  void begin_fetch(Slot slot);
  void take_prefetched(Slot slot);
  void fetch_more(Slot slot);
  bool gather(Slot slot, std::vector<Source>& sources);
  static void itemize(Fetch::Input& input, const StageRun& stage);
  void wait(Slot slot);
  void stop_waiting(Slot slot);
  void fetched(Slot slot);
  void poll();
  void add_output(JobRun& job, StageRun& stage, const Attempt& attempt);
  void output_lost(JobRun& job, const shuffle::FetchFailure& failure);
  void place_output(JobRun& job, StageRun& stage, const Output& output);
  void remove_output(StageRun& stage, std::uint32_t position);
  void sources_gone(std::uint32_t machine);
  void refetch(Slot slot, std::uint32_t machine);
  std::optional<shuffle::FetchFailure> missing(const JobRun& job, std::uint32_t stage) const;
  double bytes_of(const JobRun& job, const Attempt& attempt, const StageRun& input) const;

  // The shuffle services (run_services.cpp).
  std::optional<std::uint32_t> machine_of(NodeId node) const override;
  std::optional<std::vector<std::uint64_t>> blocks(std::uint32_t machine, const shuffle::FetchRequest& request) const override;
  void fetch(JobId job, std::uint32_t from, std::uint32_t to, double bytes, Done done) override;
  void use_disk(std::uint32_t machine, double bytes, bool write, Done done) override;
  void begin_services(std::uint32_t machine);
  void end_services(std::uint32_t machine);
  void write_while_working(Slot slot);
  double write_behind(std::uint32_t machine, double bytes);
  void keep_output(const Attempt& attempt);
  void drop_prefetched(const Attempt& attempt);

  // Moves that no attempt makes (run_services.cpp).
  void transfer(Transfer what, double weight = 1);
  void transferred(const Transfer& transfer);
  void forget_behind(const Transfer& transfer, FlowNetwork::Flow flow);
  template <class Gone>
  void break_transfers(Gone gone);
  void transfers_gone(std::uint32_t machine);
  void transfers_over(std::size_t job);

  // Replicas of map outputs (run_replicas.cpp).
  void copy_output(const master::ReplicateOutput& command);
  void copied(const master::OutputCopy& copy, std::uint32_t to, std::uint64_t bytes, bool whole);
  void move_output(const master::OutputMoved& command);

  // Machines (run_machines.cpp).
  void join(std::uint32_t machine);
  void die(std::uint32_t machine, bool silent, Time repair);
  void lose(std::uint32_t machine, std::string reason);
  void repair(std::uint32_t machine);
  void next_death();
  void set_availability(std::size_t step);
  std::optional<std::string> never_fits(const JobRun& job) const;
  std::vector<schedulers::CapacityStep> forecast(std::uint32_t machine) const;
  schedulers::Resources capacity_of(std::uint32_t machine) const;
  void update_capacity();
  void heartbeat(std::uint32_t machine);
  void wake(std::uint32_t machine);
  void wake_free();
  Time next_beat(const Machine& machine) const;
  schedulers::Resources measured(std::uint32_t machine);
  void report_rates();
  schedulers::UplinkRate rate_of(std::uint32_t machine);

  JobRun& job_of(const Attempt& attempt) { return jobs_[attempt.id.task.job.value() - 1]; }
  StageRun& stage_of(const Attempt& attempt) { return job_of(attempt).stages[attempt.id.task.stage.value()]; }
  StageRun& stage_at(const Attempt& attempt, std::uint32_t stage) { return job_of(attempt).stages[stage]; }
  std::size_t index_of(const Attempt& attempt) const { return attempt.id.task.job.value() - 1; }
  bool flows() const { return model_.network.flows; }
  JobRun& job_of(JobId job) { return jobs_[job.value() - 1]; }
  bool early(const JobRun& job) const { return std::min(model_.slow_start, job.spec->slow_start) < 1; }

  const Workload& workload_;
  const ClusterModel& model_;
  const RunOptions& options_;
  Time now_{0};
  Agenda agenda_;
  FlowNetwork network_;
  Machines machines_;
  Watch watch_;  // outlives the core, whose scheduler reports to it
  std::string scheduler_name_;
  master::Core core_;
  std::optional<profiles::Observer> observer_;  // where there is a history
  Accounts accounts_;
  EventDigest digest_;
  Random deaths_;
  std::vector<std::size_t> order_;  // jobs by arrival
  std::size_t arrived_ = 0, over_ = 0;
  std::vector<JobRun> jobs_;
  std::optional<Contention> contention_;
  std::optional<ShuffleService> service_;  // outlives what holds its rooms
  std::vector<Attempt> attempts_;
  std::vector<Slot> free_slots_;
  std::uint64_t running_ = 0;
  std::map<TaskId, std::pair<Slot, Slot>> speculating_;  // tasks that run in two attempts
  std::vector<Slot> flow_owner_;
  std::map<FlowNetwork::Flow, Transfer> transfers_;  // none of which has an owner
  std::vector<FlowNetwork::Flow> ended_;
  std::vector<Transfer> ended_transfers_;
  std::vector<std::pair<Slot, std::uint32_t>> ended_slots_;
  std::vector<std::uint32_t> machine_of_node_;  // by NodeId
  struct Report {
    Slot slot;
    std::uint32_t generation;
    master::Event event;
  };
  std::vector<std::vector<Report>> outbox_;  // by machine, with heartbeats
  std::deque<master::Event> events_;         // to be applied in this moment
  std::vector<master::Command> commands_;
  bool draining_ = false;
  bool runnable_ = false;
  std::uint64_t waiting_readers_ = 0;
  bool polling_ = false;
  std::vector<Source> sources_;    // scratch
  std::vector<double> from_;       // scratch: bytes by machine
  TrafficByKind instant_traffic_;  // without flows
  std::uint64_t events_applied_ = 0, deaths_count_ = 0;
  Time last_progress_{0};
};

}  // namespace weft::simulator
