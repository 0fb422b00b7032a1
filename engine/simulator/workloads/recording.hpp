// A run of a real cluster, read from its event log: the workload to replay, and the outcome to compare the replay with.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "engine/master/core/events.hpp"
#include "engine/simulator/workload.hpp"

namespace weft::simulator::workloads {

/// A time in which a node was absent: until it joined, or from a loss until it came back, if it did.
struct Absence {
  Time from{0};
  std::optional<Time> until;
};

struct RecordedNode {
  std::string name, host, rack;
  schedulers::Resources capacity;
  std::map<std::string, std::string> attributes;
  double processors = 0;                 // that its tasks could use together; 0: unknown
  std::vector<Absence> absences;         // while tasks ran, on the clock of the arrivals
  schedulers::UplinkRate rack_uplink{};  // of its rack, as its worker said; 0: unknown
};

/// Times on the clock of the workload's arrivals.
struct RecordedJob {
  Time submitted{0};
  std::optional<Time>
      ended;  // the end of its last task; unset when tasks are missing (it failed, was killed, or the log ends before)
};

/// A launch. The job and the stage are positions in the workload, the node is one in the list of nodes.
struct RecordedLaunch {
  std::uint32_t job = 0, stage = 0, task = 0, node = 0;
};

/// An event of the master that is not about jobs: a measurement or the capacity of a node, or a configuration of the scheduler.
struct RecordedEvent {
  Time at{0};
  std::optional<std::uint32_t> node;  // that it is from; the event itself has no node
  master::Event event;
};

struct Recording {
  Workload workload;
  std::vector<RecordedJob> jobs;  // as in the workload
  std::vector<RecordedNode> nodes;
  std::string scheduler;                               // the first one, as it was configured; empty: unknown
  std::map<std::string, std::string> scheduler_files;  // the texts of the files that it names, if the log has them
  std::optional<master::Speculation> speculation;      // the first configuration
  std::vector<RecordedLaunch> launches;                // of those jobs, in their order
  std::vector<RecordedEvent> events;                   // ascending

  /// From the first arrival to the end of the last job that ended.
  Time makespan() const;
};

/// Reads an event log (docs/formats/journal.md). Of several runs of a master it takes the last one in which a task ended. `corrupt`
/// names file and line.
///
/// A task's work is the time from its launch (or its start, in logs without launches) to its end. Attempts that failed by
/// themselves fail again, and lost nodes are lost again. Jobs arrive at their submissions, and the parts of a plan come as long
/// after the end of the part before as they did. Stages without a task that ended are left out, and so are jobs without any other
/// stage.
///
/// `transfers_apart`: the work does not include waits for map outputs and for files of other nodes, because the simulation adds its
/// own transfers.
///
/// `last`: only of jobs that were submitted within this time before the end of the log; 0: of all. Others are forgotten while the
/// log is read, and files of a rotated log that lie before that time are not read.
Result<Recording> read_event_log(const std::string& path, bool transfers_apart = false, Time last = Time(0));

}  // namespace weft::simulator::workloads
