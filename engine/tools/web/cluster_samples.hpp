// What the cluster did over the last hour, day and week, for the page: sums over workers and jobs, and what happened.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "engine/master/protocol/protocol.hpp"

namespace weft::web {

/// A store of its own, in memory, of at most kKept samples for each span: older ones are means over the time between two. Any
/// thread.
class ClusterSamples {
 public:
  static constexpr std::size_t kKept = 360;        // samples of a span
  static constexpr std::size_t kMostNames = 20;    // users, pools, and racks, of a sample; the rest together is "others"
  static constexpr std::size_t kMostEvents = 500;  // the latest

  /// A look at the cluster; `at` does not go back.
  void add(TimePoint at, const std::vector<client::NodeStatus>& nodes, const client::JobList& jobs, const std::string& scheduler);
  /// The samples of "hour", "day" or "week", the newest last, and the events in that time. invalid_argument for another span.
  Result<std::string> json(TimePoint now, std::string_view span) const;

  /// All that is known, for a master that is started again: JSON, about 1 MiB at most as a rule. `unix`: the time now, since 1970.
  std::string kept(TimePoint now, Duration unix) const;
  /// What another one kept, before anything is added; the time in between has no samples. corrupt: then nothing has changed. Of
  /// later releases, what is not known is left out.
  Result<void> restore(std::string_view text, TimePoint now, Duration unix);

 private:
  enum Series : std::size_t {
    workers,
    slots,
    running,
    pending,
    jobs_running,
    processors,
    memory,
    memory_of,
    network_in,
    network_out,
    cross_rack,
    disk_read,
    disk_written,
    shuffle_memory,
    shuffle_disk,
    kSeries
  };
  static const std::array<const char*, kSeries> kNames;
  using Slots = std::map<std::string, double>;  // by name
  struct Sample {
    std::array<double, kSeries> sums{};
    Slots users{}, pools{};
    Slots uplinks{}, limits{};  // of racks, bytes per second in the busier direction; what that carries, where it is known
  };
  static constexpr std::array<std::pair<const char*, Slots Sample::*>, 4> kByName{
      {{"users", &Sample::users}, {"pools", &Sample::pools}, {"uplinks", &Sample::uplinks}, {"limits", &Sample::limits}}};
  /// The sum of the samples of a time as long as its span's step.
  struct Bucket {
    TimePoint began{}, ended{};  // first and last sample
    double samples = 0;
    Sample sum{};
    void add(TimePoint at, const Sample& sample);
    double mean(double value) const { return value / samples; }
  };
  struct Span {
    const char* name;
    Duration step;
    std::deque<Bucket> buckets{};
  };
  struct Event {
    TimePoint at{};
    std::string kind;
    std::string text;
    std::uint64_t job = 0;  // 0: it is of none
  };

  class Reader;

  static void add_racks(const std::vector<client::NodeStatus>& nodes, Sample& sample);
  static Sample sample_of(const std::vector<client::NodeStatus>& nodes, const client::JobList& jobs);
  void note_workers(TimePoint at, const std::vector<client::NodeStatus>& nodes);
  void note_jobs(TimePoint at, const client::JobList& jobs);
  void note(TimePoint at, const char* kind, std::string text, std::uint64_t job = 0);

  mutable std::mutex mutex_;  // of what follows
  std::array<Span, 3> spans_{
      {{"hour", std::chrono::seconds(10)}, {"day", std::chrono::minutes(4)}, {"week", std::chrono::minutes(28)}}};
  std::deque<Event> events_;
  bool looked_ = false;  // what was there at the first look is no event
  struct Worker {
    std::string name;
    bool alive = false;
  };
  std::map<NodeId, Worker> workers_;  // at the last look
  std::set<JobId> running_;           // at the last look
  JobId latest_{};                    // of all jobs
  std::string scheduler_;
};

}  // namespace weft::web
