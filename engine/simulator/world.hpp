// The state that the parts of a simulated run share: machines, links, jobs and their progress, the agenda and the time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
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

/// An attempt by its place in the table of attempts. The place of an attempt that has ended is used again.
using Slot = std::uint32_t;

/// One output of a map.
struct Output {
  std::uint32_t map = 0, attempt = 0, machine = 0;
  NodeId node;
  bool there = true;     // neither lost with its machine nor replaced by a later one
  bool readable = true;  // else its first reader fails
  bool counted = true;   // as a finished task
  Time made_in{0};       // the length of the attempt
};

/// Numbers of outputs, of each machine that has some. One piece of memory, because every reader goes through all of it.
class OutputCounts {
 public:
  void add(std::uint32_t machine) {
    const auto at = place(machine);
    if (at != counts_.end() && at->first == machine)
      ++at->second;
    else
      counts_.insert(at, {machine, 1});
  }
  /// The machine has one.
  void remove(std::uint32_t machine) {
    const auto at = place(machine);
    if (--at->second == 0) counts_.erase(at);
  }
  bool contains(std::uint32_t machine) const { return std::ranges::binary_search(counts_, machine, {}, &Count::first); }
  // By machine.
  auto begin() const { return counts_.begin(); }
  auto end() const { return counts_.end(); }

 private:
  using Count = std::pair<std::uint32_t, std::uint32_t>;  // machine and number
  std::vector<Count>::iterator place(std::uint32_t machine) {
    return std::ranges::lower_bound(counts_, machine, {}, &Count::first);
  }

  std::vector<Count> counts_;
};

struct StageRun {
  const StageSpec* spec = nullptr;
  StagePlan plan;
  std::vector<shuffle::PartitionSize> row;        // what each task reports as written, made at the first report
  double bytes_per_task = 0;                      // of its shuffle
  std::map<std::uint32_t, std::uint32_t> failed;  // by task: how many of the failures of its spec have happened
  // Of stages with readers.
  std::vector<Output> outputs;        // in the order in which they were made
  std::vector<std::uint32_t> latest;  // of each map, position in outputs plus 1; 0: none
  OutputCounts on_machine;            // of outputs that are there
  std::uint32_t there = 0, unreadable = 0;
  // Of stages that read: running attempts that wait for outputs.
  std::vector<Slot> waiting;

  bool complete() const { return there == spec->tasks; }
  /// Whether its tasks report as written what the spec says of each.
  bool writes_as_recorded() const { return !spec->written.empty() && spec->written.front().size() == plan.partitions; }
  /// The bytes that a map that has ended wrote for a partition.
  std::uint64_t block(std::uint32_t map, std::uint32_t partition) const {
    return writes_as_recorded() ? spec->written[map][partition] : row[partition].bytes;
  }
};

struct JobRun {
  const JobSpec* spec = nullptr;
  bool running = false;
  bool early = false;  // slow start: readers run before all outputs are there
  std::vector<StageRun> stages;
  std::deque<plan::PlanPart> parts;      // of its plan, that its driver has not submitted yet
  std::unique_ptr<Placement> placement;  // of what its tasks write, where that has several replicas
};

/// How far a reader is with the shuffles that it reads.
struct Fetch {
  struct Input {
    std::uint32_t stage = 0;
    std::uint32_t next = 0;  // the first output not looked at
    std::uint32_t have = 0;  // outputs that are fetched or under way
    /// Not 0: the latest output of each map among the first `whole` outputs is under way, and the lists below are empty.
    std::uint32_t whole = 0;
    std::vector<std::uint32_t> batch;       // outputs under way
    std::vector<bool> fetched;              // by map
    std::vector<std::uint32_t> prefetched;  // by map: the number of the attempt with a prefetched block, plus 1; empty: none
  };
  std::vector<Input> inputs;
  std::uint32_t taking = 0;     // inputs for which the prefetcher has not answered yet
  double left = 1;              // the part of what is under way that a broken flow had not moved
  std::vector<Source> sources;  // with a shuffle mode: the last is under way, the others wait
};

/// taking: from the prefetcher; reported: it has ended, and waits for its machine's next heartbeat; stalled: its machine is dead.
enum class Phase : std::uint8_t { reading, taking, fetching, waiting, working, writing, reported, stalled };

struct Attempt {
  AttemptId id{};
  std::uint32_t machine = 0, place = 0;  // position in the machine's list
  std::uint32_t generation = 0;          // of the slot: agenda entries of an earlier generation are void
  bool active = false;
  bool speculative = false;  // the second of its task
  bool fails = false;        // by itself, before its work is done
  bool overtaken = false;    // the other attempt of its task has finished
  bool device = false;       // it holds one of the node's devices
  Phase phase = Phase::working;
  Time launched{0};
  double factor = 1;                            // of its work
  Time work_ends{0};                            // at the machine's present speed, where machines have no contention
  const StageSpec::Failure* failure = nullptr;  // by which it will end
  std::uint32_t source = 0;                     // machine that it reads its input from
  std::optional<FlowNetwork::Flow> flow{};
  Move move{};
  std::uint64_t turn = 0;  // of its moves: agenda entries of an earlier turn are void
  std::uint64_t input_bytes = 0;
  std::unique_ptr<Fetch> fetch{};
  // With a shuffle mode.
  shuffle::SegmentRoom room{};  // for its output
  bool writing = false;         // its output, beside its work
  Time began{0};                // to fetch, and then to wait for what it writes
  shuffle::ShuffleTimes shuffle_times{};
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
  /// Random numbers for what happens to an attempt: they do not depend on what happens to others. `salt`: one for each use.
  Random random_for(const AttemptId& id, std::uint64_t salt) const {
    return Random(model.seed ^ id.task.job.value() * salt,
                  (std::uint64_t{id.task.stage.value()} << 40) + (std::uint64_t{id.task.index} << 8) + id.attempt);
  }
  /// With contention: puts on the agenda when the first of the machine's attempts will have done its work.
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
