// What there is in a simulated run, which its parts share: machines, links, jobs and how far they are, and the time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/master/core/events.hpp"
#include "engine/simulator/accounts.hpp"
#include "engine/simulator/agenda.hpp"
#include "engine/simulator/contention.hpp"
#include "engine/simulator/machines.hpp"
#include "engine/simulator/placement.hpp"
#include "engine/simulator/plans.hpp"
#include "engine/simulator/simulate.hpp"
#include "shuffle/store/segment_room.hpp"

namespace weft::simulator {

/// An attempt by its place in the table of attempts; given again when it has ended.
using Slot = std::uint32_t;

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
  std::vector<shuffle::PartitionSize> row;        // what each task reports as written, once one has, unless the spec says
  double bytes_per_task = 0;                      // of its shuffle
  std::map<std::uint32_t, std::uint32_t> failed;  // by task: of the failures of its spec, those that have happened
  // Of stages that somebody reads.
  std::vector<Output> outputs;
  std::vector<std::uint32_t> latest;                            // of each map, position in outputs plus 1; 0: none
  std::unordered_map<std::uint32_t, std::uint32_t> on_machine;  // outputs that are there, by machine that has some
  std::uint32_t there = 0, unreadable = 0;
  // Of stages that read: running attempts that wait for outputs.
  std::vector<Slot> waiting;

  bool complete() const { return there == spec->tasks; }
  /// What its tasks report as written is what the spec says of each.
  bool writes_as_told() const { return !spec->written.empty() && spec->written.front().size() == plan.partitions; }
  /// What a map that has ended wrote for a partition.
  std::uint64_t block(std::uint32_t map, std::uint32_t partition) const {
    return writes_as_told() ? spec->written[map][partition] : row[partition].bytes;
  }
};

struct JobRun {
  const JobSpec* spec = nullptr;
  bool running = false;
  bool early = false;  // readers start before all outputs are there, as the master said
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
  std::uint32_t taking = 0;     // inputs of which the prefetcher has not answered yet
  double left = 1;              // part of what is under way that a broken flow had not moved
  std::vector<Source> sources;  // with a shuffle mode: of which the last is under way, and the others wait
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
  Time work_ends{0};                            // as fast as its machine is now, where machines have no contention
  const StageSpec::Failure* failure = nullptr;  // what it is to come to
  std::uint32_t source = 0;                     // of the read
  std::optional<FlowNetwork::Flow> flow;
  Move move;
  std::uint64_t turn = 0;  // of its moves: what is on the agenda for an earlier one is void
  std::uint64_t input_bytes = 0;
  std::unique_ptr<Fetch> fetch;
  // With a shuffle mode.
  shuffle::SegmentRoom room;  // for its output
  bool writing = false;       // its output, beside its work
  Time began{0};              // to fetch, and then to wait for what it writes
  shuffle::ShuffleTimes shuffle_times;
};

/// Workload, model and options outlive it.
struct World {
  World(const Workload& what, const ClusterModel& cluster, const RunOptions& run)
      : workload(what),
        model(cluster),
        options(run),
        machines(cluster, network),
        accounts(what, run.series_step, run.fairness_window),
        jobs(what.jobs.size()) {
    if (cluster.interference.on()) contention.emplace(cluster.interference, machines.count());
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  bool flows() const { return model.network.flows; }
  static std::size_t index_of(JobId job) { return job.value() - 1; }
  static std::size_t index_of(const Attempt& attempt) { return index_of(attempt.id.task.job); }
  JobRun& job_of(JobId job) { return jobs[index_of(job)]; }
  JobRun& job_of(const Attempt& attempt) { return jobs[index_of(attempt)]; }
  StageRun& stage_of(const Attempt& attempt) { return job_of(attempt).stages[attempt.id.task.stage.value()]; }
  StageRun& stage_at(const Attempt& attempt, std::uint32_t stage) { return job_of(attempt).stages[stage]; }
  /// Puts down when the first of the machine's attempts will have worked; with contention.
  void note_next_worked(std::uint32_t machine) {
    if (const auto next = contention->next(machine)) agenda.add(next->at, {What::works_done, machine, 0, next->turn});
  }

  const Workload& workload;
  const ClusterModel& model;
  const RunOptions& options;
  Time now{0};
  Time last_progress{0};
  Agenda agenda;
  FlowNetwork network;
  Machines machines;
  std::vector<std::uint32_t> machine_of_node;  // by NodeId
  Accounts accounts;
  std::vector<JobRun> jobs;
  std::optional<Contention> contention;
};

}  // namespace weft::simulator
