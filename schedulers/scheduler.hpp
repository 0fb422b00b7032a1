// A scheduler decides which task runs where. It sees the ClusterView and answers with decisions; it does no I/O, reads no clock,
// never blocks, and keeps only its own state. Randomness comes from a generator seeded by an option.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "schedulers/view.hpp"

namespace weft::sched {

/// Something happened that a scheduler may keep state about. Told after the view shows it, except for the `…_ended` and `…_left`
/// kinds, told while the view still does.
struct Notice {
  enum class Kind : std::uint8_t {
    job_arrived,
    job_ended,
    stage_added,
    stage_ready,
    stage_complete,
    task_launched,
    task_finished,
    task_failed,
    node_joined,
    node_left,
  };
  Kind kind;
  JobId job{};
  StageId stage{};
  std::uint32_t task = 0;
  NodeId node{};
};

/// Why schedule() is called.
struct Trigger {
  enum class Kind : std::uint8_t {
    node = 0,   // a heartbeat, or room on `node`; nothing else changed since the last call
    work = 1,   // there is new work (or several nodes changed): look at all nodes
    timer = 2,  // the time asked for with wake_at() has come
  };
  Kind kind = Kind::work;
  NodeId node{};  // Kind::node
};

/// What a scheduler can do. Each call is checked and carried out at once, so the view already shows its effect; a refused one
/// changes nothing, is recorded, and says why. Asking again for what is already so is refused, not repeated.
class Decisions {
 public:
  virtual ~Decisions() = default;
  virtual Result<void> launch(const TaskId& task, NodeId node, std::string_view reason) = 0;
  /// Kills a running attempt; its task goes back to pending without a failure being counted.
  virtual Result<void> preempt(const AttemptId& attempt, std::string_view reason) = 0;
  /// Fixes the node of a task that is not launched yet, so that its input can be brought there (SCache, SARP, CoGRS).
  virtual Result<void> preplace(const TaskId& task, NodeId node, std::string_view reason) = 0;
  /// Records why a stage (or, without one, a whole job) gets nothing now: what `weft job explain` shows.
  virtual void hold(JobId job, std::optional<StageId> stage, std::string_view reason) = 0;
  /// Asks for a call with Trigger::timer at `at` or a little later. Delay, preemption intervals, control cycles.
  virtual void wake_at(Time at) = 0;
};

/// Belongs to one core and its thread.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual std::string_view name() const = 0;
  virtual void on_event(const ClusterView& view, const Notice& notice) { (void)view, (void)notice; }
  /// May decide nothing. Called after every event that could allow a launch, when the event is fully applied.
  virtual void schedule(const ClusterView& view, const Trigger& trigger, Decisions& decisions) = 0;
};

/// Options in `name(key=value,…)`. The factory takes what it knows; what is left over is an error.
class Options {
 public:
  explicit Options(std::map<std::string, std::string> values) : values_(std::move(values)) {}
  std::optional<std::string> take(const std::string& key);
  Result<double> number(const std::string& key, double otherwise);
  Result<bool> flag(const std::string& key, bool otherwise);
  /// Everything was taken; otherwise names what was not, and what exists (the keys asked for).
  Result<void> done() const;

 private:
  std::map<std::string, std::string> values_;
  std::vector<std::string> known_;
};

using Factory = std::function<Result<std::unique_ptr<Scheduler>>(Options& options)>;

class Registry {
 public:
  /// already_exists for a name that is taken, invalid_argument for one that is not [a-z0-9_-]+.
  Result<void> add(std::string name, std::string description, Factory factory);
  std::vector<std::string> names() const;
  /// "fifo" or "name(key=value,…)". Unknown names and options are errors that list the known ones.
  Result<std::unique_ptr<Scheduler>> make(std::string_view text) const;

 private:
  struct Entry {
    std::string description;
    Factory factory;
  };
  std::map<std::string, Entry> entries_;
};

/// Every scheduler that comes with weft. The one place that lists them.
Result<void> register_builtin_schedulers(Registry& registry);
/// From the built-in ones.
Result<std::unique_ptr<Scheduler>> make_scheduler(std::string_view text);

}  // namespace weft::sched
