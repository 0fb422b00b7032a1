// Between clients (drivers, the command line) and the master: message numbers 200 to 299. All are requests by the client.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "base/ids.hpp"
#include "base/rpc/rpc.hpp"
#include "engine/master/core/core.hpp"

namespace weft::client {

// The fields of the messages are those of protocol.capnp, in its order (base/rpc/versioned.hpp).
enum ClientMessage : rpc::MessageType {
  kSubmitJob = 200,           // Submit -> Submitted; the job dies with the connection
  kUploadBinary = 201,        // Upload and bytes -> nothing; in order of the offsets
  kRunPart = 202,             // JobRequest and an encoded plan::PlanPart as bulk -> nothing
  kPoll = 203,                // Poll -> PollReply; answered when the action ended, the status changed, or the wait is over
  kRecordValue = 204,         // ValueRecord and bytes -> nothing
  kCloseJob = 205,            // JobRequest -> nothing
  kAttachJob = 206,           // Attach -> Submitted; from now on the job's driver is on this connection
  kRecorded = 207,            // ValueRecord -> Recorded: what the job's driver did before, for one that replays the definition
  kDetachJob = 208,           // Detach -> Submitted: a job whose driver is to run in the cluster
  kStartDriver = 209,         // Attach -> nothing; the binary of the detached job is uploaded
  kListJobs = 210,            // nothing -> JobList, without stages
  kJobStatus = 211,           // JobRequest -> JobList of one
  kKillJob = 212,             // KillRequest -> nothing
  kJobLogs = 213,             // LogsWanted -> JobLogs
  kListNodes = 214,           // nothing -> NodeList
  kExplainJob = 215,          // JobRequest -> master::JobExplanation
  kListGroups = 216,          // nothing -> GroupList
  kShowScheduler = 217,       // nothing -> SchedulerInfo
  kConfigureScheduler = 218,  // SchedulerInfo -> SchedulerInfo: its spec, or the one in force, with its files read again
  kProfiles = 219,            // ProfileRequest -> ProfileReply
  kSetNode = 220,             // NodeCapacity -> nothing
  kListMasters = 221,         // nothing -> MasterList
  kReadEvents = 222,          // EventsWanted -> Events: a part of a file of the event log
  kReadPast = 223,            // PastWanted -> Past: what the cluster did over time
};

/// The most of a binary that is uploaded at a time.
inline constexpr std::uint64_t kUploadChunkBytes = 1u << 20;

/// The key of a job's drivers: the lowest bits count the starts in the cluster, so that only the latest driver can attach; the
/// others are the same for all drivers of the job.
inline constexpr int kDriverStartBits = 16;
constexpr std::uint64_t key_of_job(std::uint64_t key) { return key >> kDriverStartBits; }
constexpr std::uint64_t key_of_next_start(std::uint64_t key) {
  constexpr std::uint64_t kStarts = (std::uint64_t{1} << kDriverStartBits) - 1;
  return (key & ~kStarts) | ((key + 1) & kStarts);
}

/// No driver was started in the cluster yet.
constexpr bool is_of_first_driver(std::uint64_t key) { return (key & ((std::uint64_t{1} << kDriverStartBits) - 1)) == 0; }

struct Submit {
  std::string name;
  std::string program;                 // argv[0]
  std::vector<std::string> arguments;  // argv[1..]
  std::string directory;               // the driver's working directory
  bool same_binary = false;            // private cluster: the workers' own program
  Hash128 binary;                      // otherwise
  std::uint64_t memory_bytes = 0;      // of an executor; 0: the worker's choice
  master::JobOptions options;          // their fields follow in the schema
};
struct Submitted {
  JobId job;
  bool binary_known = false;
  std::uint32_t slots = 0;  // of the cluster when the job was submitted
  std::uint64_t key = 0;    // with which a driver may attach to the job
  bool kept = false;        // over a restart of the master: the driver attaches again when the connection is lost
};
struct Attach {
  JobId job;
  std::uint64_t key = 0;
};
/// What is recorded under an action: the value, and the part of the plan that was run for it.
struct Recorded {
  bool has_value = false, has_part = false;
  Buffer value;
  Buffer part;  // plan::encode()
};
struct Detach {
  Submit submit;
  std::vector<std::string> files;  // absolute paths of local files among the arguments: its worker must have them
};
struct Upload {
  Hash128 binary;
  std::uint64_t offset = 0;
  std::uint64_t total = 0;
};
struct JobRequest {
  JobId job;
};
struct ValueRecord {
  JobId job;
  ActionId action;
};
struct Poll {
  JobId job;
  ActionId action;
  Duration wait{0};
};
struct PollReply {
  master::JobStatus status;
  bool finished = false;                     // the action; otherwise look at status.state
  std::vector<std::vector<Buffer>> results;  // per target, per task
};
struct JobList {
  std::vector<master::JobStatus> jobs;
  Duration now{0};  // on the master's clock, as the times in the jobs
};
struct KillRequest {
  JobId job;
  std::string reason;
};
struct LogsWanted {
  JobId job;
  std::uint64_t max_bytes = 0;  // of each worker's log, from its end
};
struct JobLog {
  std::string node;
  Buffer text;
  std::string error;    // why there is none
  bool driver = false;  // of a driver in the cluster, not of tasks
};
struct JobLogs {
  std::vector<JobLog> logs;
};
/// A pool or queue.
struct GroupInfo {
  schedulers::GroupStatus status;
  std::uint64_t pending = 0, running = 0;  // tasks of its jobs
  schedulers::Resources used{};
  bool unknown = false;  // to the scheduler: jobs name it, it has no say
};
struct GroupList {
  std::vector<GroupInfo> groups;
};
struct SchedulerInfo {
  std::string spec;
  std::vector<std::string> files;            // it was made from
  std::map<std::string, std::string> known;  // schedulers there are, and what they do
  master::SchedulerFaults trouble;
  Duration now{0};
};
/// What is really used, as the worker measured it last.
struct NodeUsage {
  schedulers::Resources worker{}, machine{};  // by its own processes, and by everybody on its machine
  schedulers::UplinkRate cross_rack{};        // map outputs over its rack's uplink, bytes per second
};

/// What a node has at present, against what it joined with and against others.
struct NodeStanding {
  schedulers::Resources nominal{};           // what it joined with
  std::string capacity_why{};                // why its capacity is less
  double speed = 0;                          // against the median of the same stages; 0: of an earlier release
  schedulers::UplinkRate uplink{};           // of its rack: what that carries; 0: not known
  schedulers::UplinkRate most_cross_rack{};  // and the largest rates that were seen there
  bool leaving = false;                      // it is about to end, and gets no more tasks
};

struct NodeStatus {
  NodeId id;
  std::string name, host, rack, address;
  std::uint32_t slots = 0, running = 0;
  bool excluded = false;
  Duration heard{0};  // ago
  schedulers::Resources capacity{}, used{};
  std::map<std::string, std::string> attributes{};
  Duration excluded_for{0};                                          // more
  Duration clock_ahead{0};                                           // of the master's
  bool lost = false;                                                 // given up because it is silent; its connection is still there
  std::uint64_t store_memory_bytes = 0, store_disk_bytes = 0;        // of map outputs
  std::uint64_t prefetch_memory_bytes = 0, prefetch_file_bytes = 0;  // of prefetched blocks, in memory and in files
  shuffle::PrefetchStats prefetch{};                                 // since the worker began
  bool dead = false;                                                 // it is no more, since `heard` ago
  std::string cause{};                                               // of its death ("SIGBUS"), or of its exclusion, if known
  NodeUsage measured{};
  NodeStanding standing{};
};

/// What an operator wants workers of that name to have (master::parse_capacity_words), and perhaps why.
struct NodeCapacity {
  std::string name, capacity, reason;
};

struct NodeList {
  std::vector<NodeStatus> nodes;
  bool insecure = false;  // the master takes anybody's orders (--insecure)
};

struct MasterStatus {
  enum class State : std::uint8_t { leads, in_sync, copies };
  friend constexpr State last_of(State) { return State::copies; }
  std::string member;   // id of its data directory; empty: of a master that is alone
  std::string address;  // where it listens when it leads
  State state{};
  std::uint64_t behind = 0;  // changes that it does not have on its disk yet
  Duration heard{0};         // ago
  std::string page{};        // URL, when it leads; empty: it has none, or it is not known
};
/// The masters of the cluster that the one that leads knows of: itself first, then those that follow it.
struct MasterList {
  std::string cluster;      // id; empty: there are no others, and never were
  std::uint64_t epoch = 0;  // one higher with every leader
  std::vector<MasterStatus> masters;
};

/// The most of a file of the event log that is sent at a time.
inline constexpr std::uint64_t kEventsChunkBytes = 256u << 10;

struct EventsWanted {
  std::uint32_t piece = 0;  // its number in the log (engine/master/log/log_pieces.hpp); 0: the one that is written
  std::uint64_t offset = 0;
  JobId job{};  // of which lines are wanted, and lines about workers: what users read who administer nothing. 0: all
};
struct Events {
  std::uint32_t piece = 0;
  bool compressed = false;  // the file; it may be the other at the next request, when other offsets hold
  Buffer bytes;             // as the file has them; none: it has no more
  /// The bytes are lines of the job that was asked for: the offset, in the text of the file, of the next request. The one that was
  /// asked for: there are no more. 0: they are bytes of the file, also where an earlier release answers, or an administrator asks.
  std::uint64_t next = 0;
};

struct PastWanted {
  std::string span;  // hour, day or week
};
struct Past {
  Buffer json;  // as REST answers (/past in docs/rest.md)
};

struct ProfileRequest {
  enum class What : std::uint8_t { show, forget, import };
  friend constexpr What last_of(What) { return What::import; }
  What what = What::show;
  std::string program;  // empty: all; of an import, where it comes from, for errors
  Buffer records;       // to import (engine/master/profiles/record.hpp)
};
struct ProfileReply {
  std::uint32_t stages = 0;  // shown, forgotten or imported
  Buffer records;            // that were to be shown, a line each
};

/// A message as a frame carries it. Bulk bytes that are members of it are moved; those that only follow it are added by
/// rpc::with_bulk().
template <class M>
rpc::Payload encode(M message);
/// Code::corrupt, naming the message, when the frame holds none. Of another release: what is missing has its default,
/// what is not known is passed over. Bulk bytes that are no member stay in the message.
template <class M>
Result<M> decode(const rpc::Message& message);

}  // namespace weft::client
