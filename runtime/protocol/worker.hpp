// Between workers and their master: message numbers 100 to 199.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/hash.hpp"
#include "base/rpc/watched_call.hpp"
#include "base/usage.hpp"
#include "runtime/protocol/commands.hpp"
#include "runtime/protocol/task.hpp"
#include "shuffle/prefetch/prefetch_stats.hpp"
#include "shuffle/store/mode.hpp"

namespace weft::runtime::protocol {

enum WorkerMessage : rpc::MessageType {
  kRegister = 100,        // request, worker to master: Register -> Registered; first on every connection
  kHeartbeat = 101,       // notification, worker to master: Heartbeat
  kTaskEvents = 102,      // notification, worker to master: Events; as soon as tasks end
  kCommands = 103,        // notification, master to worker: Commands, to be carried out in order
  kFetchBinary = 104,     // request, worker to master: BinaryRequest -> BinaryChunk and its bytes as bulk
  kReadLog = 105,         // request, master to worker: LogRequest -> the end of the job's log as bulk
  kReplicaEnded = 106,    // notification, worker to master: ReplicaEnded; how a ReplicateOutput ended
  kPrefetchReport = 107,  // notification, worker to master: PrefetchReport; with heartbeats, of jobs of which something has changed
  kDying = 108,           // notification, worker to master on a connection of its own: Dying; sent by the handler of a fatal signal
  kLeaving = 110,         // notification, worker to master: Leaving; once on a registration
  kRemains = 111,         // notification, master to worker: Remains; in answer to Leaving and to each heartbeat after it
  kPresence = 112,        // request, both ways: nothing -> nothing; is the other still there
  kCapacityTexts = 109,   // notification, worker to master: CapacityTexts; when one of its files has changed
  kEventsKept = 113,      // notification, master to worker: EventsKept; where the master keeps its jobs over a restart
  kDriverEnded = 114,     // notification, worker to master: DriverEnded
  kFindFiles = 115,       // request, master to worker: FileQuery -> FileAnswer
};

static_assert(kPresence == rpc::kPresence);

/// The most a binary is moved at a time.
inline constexpr std::uint64_t kBinaryChunkBytes = 1u << 20;

/// What a worker still runs and has for a master that was away.
struct Held {
  NodeId node;                         // that it was registered as
  std::vector<JobId> jobs;             // whose set-up it has
  std::vector<AttemptId> running;      // attempts that run, or have ended and the master has not kept that (EventsKept)
  std::vector<HeldOutput> outputs;     // in its store
  std::vector<JobId> drivers;          // jobs whose driver runs there (StartDriver)
  std::vector<AttemptId> with_device;  // of those that run, the ones that hold a device
};

struct Register {
  static constexpr std::string_view kName = "registration";
  std::string name, host, rack, data_address;
  std::uint32_t slots = 0;
  std::uint64_t memory_bytes = 0;
  std::map<std::string, std::string> attributes;
  std::vector<std::string> local_data{};  // directories whose files lie on its machine
  std::string capacity{};                 // of other resources than its slots: "memory=4GiB,disk_read=200MB"
  std::uint64_t prefetch_bytes = 0;       // how many prefetched bytes it holds at most
  /// Of its whole machine, when it yields to other users of it (worker.yield); otherwise 0.
  std::uint32_t processors = 0;
  std::uint64_t machine_memory = 0;
  double usable_processors = 0;  // that its processes may use together
  bool named = false;            // the name was given at its start: another one will not do
  std::uint64_t process = 0;     // random: by it the master knows a worker that registers again before it was missed
  std::optional<Held> held{};    // of the time before, when it registers again
  std::uint64_t seen_epoch = 0;  // the highest Registered::epoch that it has been given
};

/// Registered::numbering of a journal that an earlier release has begun: it named all of them so.
inline constexpr std::uint64_t kKeptNumbering = 1;

struct Registered {
  static constexpr std::string_view kName = "answer to a registration";
  NodeId node;
  Duration heartbeat{0};
  std::string rack;  // in which the master takes it to be
  std::string name;  // from now on: another than requested where that was a default and is taken
  /// It is the node it was, and goes on with what it holds. Otherwise it ends that.
  bool resumed = false;
  /// The master keeps its jobs over a restart: when the connection is lost, the worker goes on, keeps the ends of attempts that
  /// the master has not kept, and registers again with what it holds.
  bool keeps_jobs = false;
  /// Of several masters: how many have led before this one, and itself; 0: there is a single one. The worker refuses an answer with
  /// a lower epoch than it has seen: that master was replaced and does not know it yet.
  std::uint64_t epoch = 0;
  /// Which series of job ids these are. In another series another job has the id of one that may have left something on the worker.
  /// A series begins with a master that keeps no jobs, and with a new or emptied journal; it is given a random number then, and has
  /// it as long as masters go on with the journal. kKeptNumbering: a journal of an earlier release. 0: the master's release does
  /// not say.
  std::uint64_t numbering = 0;
};

/// How many ends of attempts, of those that were reported on this registration, are on the master's disk: from the first on. The
/// worker need not report them again.
struct EventsKept {
  static constexpr std::string_view kName = "acknowledgement of task reports";
  std::uint64_t events = 0;
};

/// Map outputs and chunks of files that move between a worker and another rack, in bytes per second.
struct RackTraffic {
  std::string rack;
  double in = 0, out = 0;
};
/// The most racks that a heartbeat names.
inline constexpr std::size_t kMostRacks = 8;

/// What a worker really uses, since its last heartbeat.
struct Measured {
  Usage worker;                                  // its own processes: the daemon and the executors, or all of its control group
  Usage machine;                                 // of all processes
  double cross_rack_in = 0, cross_rack_out = 0;  // bytes per second of map outputs and chunks from and to other racks
  std::vector<RackTraffic> racks;                // of these, the most first
};

struct Heartbeat {
  static constexpr std::string_view kName = "heartbeat";
  Measured measured{};
  std::uint64_t store_memory_bytes = 0, store_disk_bytes = 0;
  Duration clock{0};                                                 // the worker's time of day, since 1970
  shuffle::PrefetchStats prefetch{};                                 // since the worker began
  std::uint64_t prefetch_memory_bytes = 0, prefetch_file_bytes = 0;  // of it in memory and in files now
};

/// A clock before 1970 is refused, and so are measurements that are negative or not finite.
Result<void> check(const Heartbeat& heartbeat);

/// No file of a capacity or a forecast is longer.
inline constexpr std::size_t kMostCapacityText = 4096;

/// How much tasks may take of the worker now and by the hours of a day, from files of its machine. Empty: there is no such file.
struct CapacityTexts {
  static constexpr std::string_view kName = "capacity of a worker";
  std::string capacity, forecast;
  Duration utc_offset{0};          // of its local time
  std::uint32_t devices_lost = 0;  // of those that it registered with: they failed, and no task gets them
  std::string devices_why{};       // which, and how, in words
  friend bool operator==(const CapacityTexts&, const CapacityTexts&) = default;
};

/// The worker is to end, and hands over what it has first.
struct Leaving {
  static constexpr std::string_view kName = "announcement of a worker that leaves";
  bool keeps_chunks = false;   // of files, or tables
  bool chunks_return = false;  // with the next worker of its name: only chunks that no other worker has need be copied
};

/// What others still need of a worker that leaves.
struct Remains {
  static constexpr std::string_view kName = "what a worker still has";
  std::uint32_t tasks = 0;      // that run there
  std::uint32_t outputs = 0;    // map outputs that are to be copied
  std::uint32_t abandoned = 0;  // map outputs that no worker could replicate
  std::uint64_t chunks = 0;     // chunks of files and partitions of tables to be copied
  friend bool operator==(const Remains&, const Remains&) = default;
};

/// The last message of a worker. Its registration ends with the connection on which it registered.
struct Dying {
  static constexpr std::string_view kName = "last words of a worker";
  NodeId node;
  std::uint8_t signal = 0;
};

/// Of the blocks that were prefetched to the worker for tasks of a job, since the job began.
struct JobPrefetch {
  JobId job;
  shuffle::PrefetchStats bytes;
};
struct PrefetchReport {
  static constexpr std::string_view kName = "report of prefetched blocks";
  std::vector<JobPrefetch> jobs;
};

/// What a worker needs to start executors of a job. Comes before every other command about the job.
struct JobSetup {
  JobId job;
  std::string name;
  std::string program;  // argv[0]
  std::vector<std::string> arguments;
  std::string directory;           // the driver's working directory; entered when it exists
  std::uint64_t memory_bytes = 0;  // of an executor; 0: the worker's choice
  bool same_binary = false;        // private cluster: the worker's own program
  Hash128 binary;                  // otherwise
  double task_cpu = 1;             // what a task takes of the worker's slots
  std::string user;                // owner of the files that the job writes
  shuffle::Mode shuffle_mode = shuffle::Mode::memory;
};
/// The recorded value of an action, for executors that replay the definition. In order of the actions.
struct ActionValue {
  JobId job;
  ActionId action;
  SharedBytes bytes;
};

/// The driver of a detached job, which is to run on the worker as a process of its own.
struct StartDriver {
  JobId job;
  std::uint64_t key = 0;  // with which it attaches to the job
  std::string name;
  std::string program;  // argv[0]
  std::vector<std::string> arguments;
  std::string directory;  // entered when it exists
  Hash128 binary;
  std::string user;
};
/// Its job is over, or it was started elsewhere.
struct StopDriver {
  JobId job;
  std::string reason;
};
/// Exit status of a driver that was stopped, or gave up waiting for its master, while its job goes on (EX_TEMPFAIL of sysexits.h):
/// it is started again.
inline constexpr int kDriverGaveWay = 75;
/// The process of a driver has ended.
struct DriverEnded {
  static constexpr std::string_view kName = "end of a driver";
  JobId job;
  std::uint64_t key = 0;  // of the StartDriver
  int status = 0;         // as of wait(); -1: it could not be started
  std::string message;    // why, in a line: the last one that it wrote
};

// These two are for workers that speak shuffle::kKeysSince (shuffle/transfer/job_keys.hpp).

/// With which workers ask each other for map outputs of the job. Comes with its JobSetup, and again from a restarted master that
/// has found the worker back.
struct JobKey {
  JobId job;
  std::uint64_t key = 0;
};
/// The lowest protocol that a worker of the cluster speaks. Until it comes, a new worker assumes that all speak what its master
/// does.
struct LowestProtocol {
  rpc::Protocol protocol = 0;
};

using Command =
    std::variant<JobSetup, ActionValue, Launch, KillTask, ShuffleLocations, ShuffleExtended, PrefetchShuffle, ReleaseShuffle,
                 ReleaseJob, NodeLost, ReplicateOutput, StartDriver, StopDriver, JobKey, LowestProtocol>;

struct Commands {
  static constexpr std::string_view kName = "commands";
  static constexpr bool kSkipsUnknown = true;
  std::vector<Command> commands;
};

struct ReplicaEnded {
  static constexpr std::string_view kName = "end of a replica's making";
  OutputReplica replica;  // the master sets its node
  std::string error;      // why it was not made; empty: it was
};

struct BinaryRequest {
  static constexpr std::string_view kName = "request for a binary";
  Hash128 binary;
  std::uint64_t offset = 0;
  std::optional<std::string> user{};  // whose program (program_id.hpp); nothing: the worker is of a release that kept one for all
};
struct BinaryChunk {
  static constexpr std::string_view kName = "piece of a binary";
  std::uint64_t total = 0;  // size of the whole file; the bytes at the offset follow as bulk
};
struct LogRequest {
  static constexpr std::string_view kName = "request for a log";
  JobId job;
  std::uint64_t max_bytes = 0;
  bool driver = false;  // what its driver printed, not what its tasks did
};

/// The most files that a driver may want, and the longest path of one.
inline constexpr std::size_t kMostDriverFiles = 256, kMostPathBytes = 4096;

/// Which of these files and directories are not there, for a driver that is to run on the worker.
struct FileQuery {
  static constexpr std::string_view kName = "question after files";
  std::vector<std::string> paths;  // absolute; kMostDriverFiles at most
  std::string user{};              // for whose driver: with his rights it is looked for them
};
struct FileAnswer {
  static constexpr std::string_view kName = "answer about files";
  std::vector<std::string> missing;
};

}  // namespace weft::runtime::protocol
