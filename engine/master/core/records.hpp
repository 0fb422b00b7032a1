// What the core keeps of jobs and stages beyond the ClusterView: plain records, filled by the parts whose names they bear.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/master/core/core.hpp"
#include "engine/master/core/device_speed.hpp"
#include "engine/master/core/location_table.hpp"
#include "engine/master/core/node_speeds.hpp"
#include "engine/master/core/partition_shape.hpp"
#include "engine/master/core/stage_replicas.hpp"
#include "schedulers/view/state.hpp"

namespace weft::master {

/// Of a stage's shuffle: what the nodes that prefetch it were notified of (Preplacement, RoundEviction).
struct StagePrefetch {
  std::set<NodeId> notified;       // nodes that prefetch its blocks for readers placed there
  std::set<std::uint32_t> unsent;  // maps whose outputs they do not know of yet
  std::uint32_t sized_by = 0;      // maps that had ended when the bytes of its rounds were predicted last; 0: never
  bool unlike = false;             // its maps write for different reduces: one says nothing of the others
};

/// How the records of one source fared: of a branch of a stage, over its tasks that count.
struct SourceRecords {
  std::uint64_t read = 0, bad = 0;  // records; each once
  std::uint32_t first_task = 0;     // of the tasks that reported a bad one, and its first example
  std::string first;
};

struct StageRecord {
  plan::Stage plan;
  schedulers::StageInfo* info = nullptr;
  std::vector<StageId> inputs;     // each once
  std::optional<ActionId> action;  // result stages of an action that is not finished
  bool active = false;             // somebody waits for it: its missing tasks are to run once its inputs are complete
  bool released = false;           // the driver will not read it again
  bool shaped = false;             // it was ready once: its number of tasks stays
  /// Attempts with smaller numbers count no more: they were launched before it was known how many tasks the stage has, or read what
  /// was made again since (Rollback).
  std::uint32_t first_attempt = 0;
  bool reads_indeterminate = false;  // directly or through others
  bool outdated = false;             // indeterminate, and an output was lost that its readers may have read (Rollback)
  bool started_early = false;        // some of its tasks began before its inputs were complete (slow start)
  bool dropped = false;              // complete, but its segments were given up; recomputed when lineage asks for it
  SkewSplits splits;                 // by task; those of additional tasks come after the plan's
  std::vector<Buffer> results;       // by task, once there is one
  std::vector<bool> begun;           // tasks that were launched once
  std::vector<bool> counted;         // tasks whose counters are in the job's already (a recomputed map counts once)
  std::uint64_t input_bytes = 0, shuffle_bytes = 0;     // of the counted tasks
  std::uint64_t records_read = 0, records_written = 0;  // each task once: of files and ranges, to its shuffle
  std::vector<SourceRecords> sources;                   // each task once: by branch
  StageUsage usage;                                     // each task once; its figures are in `sketches`
  TaskFigures<QuantileSketch> sketches;                 // each task once
  RecentMedian recent;                                  // seconds of its tasks, by what they read
  DeviceSpeed devices;
  LocationTable locations;                             // of its outputs
  StageReplicas replicas;                              // of its outputs
  StagePrefetch prefetch;                              // of its outputs
  std::vector<StageId> placed_by;                      // inputs by whose sizes its tasks were given nodes, in that order
  std::map<NodeId, std::uint32_t> fetch_failures;      // of outputs on a node
  std::uint32_t speculative = 0, speculative_won = 0;  // speculative attempts launched, and those that finished first
  mutable std::vector<double> task_bytes;  // of its complete inputs, by task; made when they are asked for (time_left.hpp)

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
  std::set<NodeId> nodes;         // live ones that were given something of it
  bool waits_for_inputs = false;  // its stages wait for complete inputs, also with slow start
  bool starved = false;           // when last looked at: early readers wait for tasks of which none has run since (SlowStart)
  Counters counters;
  std::uint64_t shuffle_bytes = 0, input_bytes = 0, input_records = 0;
  std::vector<std::string> lost_workers;  // the first few
  std::uint32_t workers_lost = 0;
  std::uint32_t first_attempt = 0;  // number of a task's first attempt: more than 0 when the job was restored

  InputInfos inputs() const {
    return [this](ShuffleId id) -> const schedulers::StageInfo& { return *stages.at(StageId(id.value())).info; };
  }
};

/// A running attempt's records. Valid until the attempt or the job ends.
struct TaskRef {
  JobRecord* job;
  StageRecord* stage;
  std::uint32_t index;
  bool speculative = false;  // the speculative attempt of the task

  schedulers::TaskInfo& info() const { return stage->info->tasks[index]; }
  const schedulers::SpeculativeAttempt& speculative_info() const { return stage->info->speculative.at(index); }
  TaskId id() const { return {job->spec.job, stage->plan.id, index}; }
  AttemptId attempt() const { return {id(), speculative ? speculative_info().attempt : info().attempt()}; }
  NodeId node() const { return speculative ? speculative_info().node : info().node; }
  Time launched() const { return speculative ? speculative_info().launched : info().launched; }
  bool runs_twice() const { return stage->info->speculative.contains(index); }
  TaskRef other() const { return {job, stage, index, !speculative}; }  // when it runs twice
};

}  // namespace weft::master
