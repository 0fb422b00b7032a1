// What happened on a real cluster, read back from its event log: the workload to replay, and what the replay is compared with.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "engine/master/core/events.hpp"
#include "engine/simulator/workload.hpp"

namespace weft::simulator::workloads {

/// When it was not there: before it joined, or from a loss until it came back, if it did.
struct Absence {
  Time from{0};
  std::optional<Time> until;
};

struct RecordedNode {
  std::string name, host, rack;
  schedulers::Resources capacity;
  std::map<std::string, std::string> attributes;
  double processors = 0;          // that its tasks could use together; 0: the log does not say
  std::vector<Absence> absences;  // while tasks ran, on the clock of the arrivals
};

/// Times since the first job's first plan, as the workload's arrivals.
struct RecordedJob {
  Time submitted{0};
  std::optional<Time> ended;  // its last task's end; nothing when tasks are missing (it failed, was killed, or the log ends before)
};

/// A launch, its job and stage by their places in the workload, its node in the list of nodes.
struct RecordedLaunch {
  std::uint32_t job = 0, stage = 0, task = 0, node = 0;
};
/// What the master was told beside the jobs: what a node measured or has at present, or another configuration of the scheduler.
struct RecordedEvent {
  Time at{0};
  std::optional<std::uint32_t> node;  // whose heartbeat or capacity it is; the event does not know its number
  master::Event event;
};

struct Recording {
  Workload workload;
  std::vector<RecordedJob> jobs;  // as in the workload
  std::vector<RecordedNode> nodes;
  std::string scheduler;                               // as the master was asked for it; empty when the log does not say
  std::map<std::string, std::string> scheduler_files;  // the texts of the files it names, where the log has them
  std::optional<master::Speculation> speculation;      // that was in force at first
  std::vector<RecordedLaunch> launches;                // of those jobs, in their order
  std::vector<RecordedEvent> events;                   // ascending

  /// From the first arrival to the end of the last job that ended.
  Time makespan() const;
};

/// Reads an event log (docs/formats/journal.md), of several runs of a master the last in which a task ended. A task's work is the
/// time from its launch (or, where that is not told, from its start) to its end; attempts that failed by themselves fail again, and
/// nodes that were lost are again. Jobs arrive when they were submitted, and parts of their plans come as long after what was
/// before them. Stages none of whose tasks ended are left out, and so are jobs without others. `corrupt` names file and line.
/// `transfers_apart`: the work is without the time in which the attempt waited for map outputs and for files of other nodes, for
/// simulations that find out by themselves how long that takes.
Result<Recording> read_event_log(const std::string& path, bool transfers_apart = false);

}  // namespace weft::simulator::workloads
