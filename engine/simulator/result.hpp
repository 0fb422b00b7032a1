// The result of a simulated run. Plain values; reports use nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/simulator/workload.hpp"
#include "schedulers/view/resources.hpp"
#include "shuffle/prefetch/prefetch_stats.hpp"

namespace weft::simulator {

enum class TrafficKind : std::uint8_t { map_read = 0, shuffle = 1, output = 2 };  // output: copies of written output
constexpr std::size_t kTrafficKinds = 3;
constexpr std::array<const char*, kTrafficKinds> kTrafficNames = {"map read", "shuffle", "output"};

/// Bytes moved for tasks: all, those between nodes, and of these those between racks. Of a broken move the bytes until then count.
struct Traffic {
  double total = 0, remote = 0, cross_rack = 0;

  Traffic& operator+=(const Traffic& more) {
    total += more.total, remote += more.remote, cross_rack += more.cross_rack;
    return *this;
  }
  Traffic& operator-=(const Traffic& less) { return *this += less * -1; }
  friend Traffic operator*(const Traffic& all, double part) { return {all.total * part, all.remote * part, all.cross_rack * part}; }
};
using TrafficByKind = std::array<Traffic, kTrafficKinds>;

/// Bytes over a rack's uplink: out of the rack, and into it.
struct RackTraffic {
  double up = 0, down = 0;
};

/// What has been moved for tasks since the run began.
struct Moved {
  TrafficByKind traffic;
  std::vector<RackTraffic> racks;  // by number; empty with a single rack
};

/// Attempts whose task has preferred hosts, by how near the attempt was.
struct LocalityCounts {
  std::uint64_t node = 0, rack = 0, any = 0;
  std::uint64_t all() const { return node + rack + any; }
  LocalityCounts& operator+=(const LocalityCounts& more) {
    node += more.node, rack += more.rack, any += more.any;
    return *this;
  }
};

/// The lengths of attempts, summed by how they ended.
struct Work {
  Time useful{0};     // of those with a result that counted
  Time preempted{0};  // of those that were killed for others
  Time lost{0};       // of those that failed, were lost with their node, or finished and then lost their output
  Time redundant{0};  // of those whose task another attempt finished first

  Time all() const { return useful + preempted + lost + redundant; }
  Work& operator+=(const Work& more) {
    useful += more.useful, preempted += more.preempted, lost += more.lost, redundant += more.redundant;
    return *this;
  }
};

enum class Outcome : std::uint8_t { finished, failed, refused, unfinished };  // unfinished: the run ended before

struct JobResult {
  std::size_t index = 0;  // in the workload
  std::string name, user, pool;
  Time submitted{0};
  std::optional<Time> started;  // its first attempt
  std::optional<Time> ended;
  Outcome outcome = Outcome::unfinished;
  std::string error;             // of one that failed or was refused
  std::optional<Time> deadline;  // absolute, as submitted is
  std::uint64_t tasks = 0, attempts = 0, failed_attempts = 0, preemptions = 0, speculative = 0;
  Work work;
  TrafficByKind traffic;
  LocalityCounts locality;
  std::uint64_t input_bytes = 0, shuffle_bytes = 0, output_bytes = 0;  // of the workload

  std::optional<Time> completion_time() const {
    return ended && outcome == Outcome::finished ? std::optional(*ended - submitted) : std::nullopt;
  }
  /// From the deadline to the end, negative when it ended earlier; of a job that finished and has one.
  std::optional<Time> lateness() const { return deadline && completion_time() ? std::optional(*ended - *deadline) : std::nullopt; }
  bool missed_deadline() const { return deadline && (!ended || outcome != Outcome::finished || *ended > *deadline); }
};

/// A piece of the run. Amounts are means over it, bytes and counts sums.
struct Sample {
  schedulers::Resources used, capacity;
  double running_tasks = 0, pending_tasks = 0, running_jobs = 0;
  TrafficByKind traffic;
  std::vector<RackTraffic> racks;      // as in Moved
  std::vector<double> tasks_of_users;  // running ones, as in Series::users
  std::uint64_t tasks_finished = 0, jobs_finished = 0;
};

struct Series {
  Time step{0};
  std::vector<Sample> samples;           // the k-th is of [k * step, (k + 1) * step)
  std::vector<std::string> users;        // those with most tasks; where there are more, the last stands for all others
  std::vector<RackTraffic> rack_limits;  // bytes a second, as in Moved; 0: no limit
};

/// Jain's index in windows of time, in three ways. A window with fewer than two values is 1 and not part of the mean.
struct Fairness {
  Time window{0};
  // By window. jobs, users: of the mean dominant shares of all running jobs, or of all users with some. fair_shares: of the part of
  // its fair share that each job with any resources had, at most 1. The fair share is an equal part for each running job.
  std::vector<double> jobs, users, fair_shares;
  double mean_jobs = 1, mean_users = 1, mean_fair_shares = 1;
};

struct RunResult {
  std::string scheduler, workload;
  std::uint64_t seed = 0;
  std::vector<JobResult> jobs;  // as in the workload
  Time makespan{0};             // from the first arrival to the last end
  Time end{0};                  // when the run ended
  TrafficByKind traffic;
  LocalityCounts locality;
  Work work;
  schedulers::Resources utilisation;  // mean over the makespan, as a part of the capacity; 0 where nothing is accounted
  Series series;
  Fairness fairness;

  shuffle::PrefetchStats prefetched;        // with ShuffleModel::mode memory
  std::uint64_t outputs_evicted_bytes = 0;  // of map outputs that went to disk for others

  std::uint64_t tasks = 0;
  std::uint64_t launches = 0, preemptions = 0, failed_attempts = 0, speculative = 0, refused_decisions = 0;
  std::uint64_t node_deaths = 0;
  std::uint64_t events = 0;                                 // given to the master
  std::uint64_t launches_recorded = 0, launches_alike = 0;  // of a replayed log; and how many of these this run has, too
  std::uint64_t scheduler_calls = 0;
  std::uint64_t event_digest = 0;                            // of all events in order: equal digests, equal logs
  std::chrono::nanoseconds scheduler_time{0}, wall_time{0};  // real time; not reproducible
};

}  // namespace weft::simulator
