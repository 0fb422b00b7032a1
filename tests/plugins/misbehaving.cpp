// Schedulers for tests: one that preempts for jobs of higher priority, and several that behave badly.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "schedulers/plugin.hpp"

namespace {

using namespace weft;
using namespace weft::schedulers;

/// In order of priority and submission, wherever there is room.
class Greedy : public Scheduler {
 public:
  explicit Greedy(std::string name) : name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  void schedule(const ClusterView& view, const Trigger&, Decisions& decisions) override {
    const std::vector<JobOrder> order(view.runnable_jobs().begin(), view.runnable_jobs().end());
    for (const JobOrder& next : order) {
      const JobInfo& job = *view.job(next.id);
      for (StageId stage : std::vector<StageId>(job.runnable.begin(), job.runnable.end()))
        serve(view, job, *job.stage(stage), decisions);
    }
  }

 protected:
  static void serve(const ClusterView& view, const JobInfo& job, const StageInfo& stage, Decisions& decisions) {
    for (NodeId id : std::vector<NodeId>(view.free_nodes().begin(), view.free_nodes().end())) {
      const NodeInfo& node = *view.node(id);
      for (auto pick = stage.pending.pick(id, node.host, node.rack); pick; pick = stage.pending.pick(id, node.host, node.rack)) {
        if (view.why_not({job.id, stage.id, pick->task}, id)) break;
        if (!decisions.launch({job.id, stage.id, pick->task}, id, "greedy")) break;
      }
    }
  }

 private:
  std::string name_;
};

/// Kills the newest attempt of the least important job while a more important one waits.
class Preempting final : public Greedy {
 public:
  Preempting() : Greedy("preempting") {}
  void schedule(const ClusterView& view, const Trigger& trigger, Decisions& decisions) override {
    Greedy::schedule(view, trigger, decisions);
    while (!view.runnable_jobs().empty()) {
      const JobInfo& waiting = *view.job(view.runnable_jobs().begin()->id);
      const AttemptId* victim = nullptr;
      Time launched{0};
      int least = waiting.priority;
      for (const auto& [id, node] : view.nodes()) {
        for (const AttemptId& attempt : node.running) {
          const int priority = view.job(attempt.task.job)->priority;
          const Time since = view.task(attempt.task)->launched;
          if (priority > least || (priority == least && (victim == nullptr || since < launched))) continue;
          victim = &attempt;
          least = priority;
          launched = since;
        }
      }
      if (victim == nullptr || least >= waiting.priority) return;
      const AttemptId killed = *victim;
      if (!decisions.preempt(killed, "for a job of higher priority")) return;
      Greedy::schedule(view, trigger, decisions);
    }
  }
};

/// Preempts the first attempt of every task once, at the next opportunity.
class Fickle final : public Greedy {
 public:
  Fickle() : Greedy("fickle") {}
  void schedule(const ClusterView& view, const Trigger& trigger, Decisions& decisions) override {
    if (trigger.kind == Trigger::Kind::timer) {
      for (const auto& [id, node] : view.nodes())
        for (const AttemptId& attempt : std::vector<AttemptId>(node.running.begin(), node.running.end()))
          if (attempt.attempt == 0) (void)decisions.preempt(attempt, "changed its mind");
    }
    Greedy::schedule(view, trigger, decisions);
    decisions.wake_at(view.now() + std::chrono::milliseconds(20));
  }
};

class Throwing final : public Greedy {
 public:
  Throwing() : Greedy("throwing") {}
  void schedule(const ClusterView& view, const Trigger& trigger, Decisions& decisions) override {
    Greedy::schedule(view, trigger, decisions);
    throw std::runtime_error("no idea");
  }
};

/// Launches on nodes that do not exist for as long as it is let.
class Nonsense final : public Greedy {
 public:
  Nonsense() : Greedy("nonsense") {}
  void schedule(const ClusterView& view, const Trigger&, Decisions& decisions) override {
    while (!view.runnable_jobs().empty()) {
      const JobInfo& job = *view.job(view.runnable_jobs().begin()->id);
      (void)decisions.launch({job.id, *job.runnable.begin(), 0}, NodeId(4711), "anywhere");
    }
  }
};

/// Never returns once there is work.
class Hanging final : public Greedy {
 public:
  Hanging() : Greedy("hanging") {}
  void schedule(const ClusterView& view, const Trigger&, Decisions&) override {
    static std::atomic<std::uint64_t> rounds{0};
    while (!view.runnable_jobs().empty()) ++rounds;
  }
};

template <class T>
Result<void> add(Registry& registry, const char* name) {
  return registry.add(name, "for tests", [](Options&) -> Result<std::unique_ptr<Scheduler>> { return std::make_unique<T>(); });
}

}  // namespace

extern "C" PluginInterface weft_scheduler_plugin(PluginInterface host, Registry* registry) {
  return plugin_entry(host, registry, [](Registry& known) -> Result<void> {
    WEFT_TRY(add<Preempting>(known, "preempting"));
    WEFT_TRY(add<Fickle>(known, "fickle"));
    WEFT_TRY(add<Throwing>(known, "throwing"));
    WEFT_TRY(add<Nonsense>(known, "nonsense"));
    WEFT_TRY(add<Hanging>(known, "hanging"));
    return known.add("unmade", "never returns from its factory", [](Options&) -> Result<std::unique_ptr<Scheduler>> {
      for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
    });
  });
}
