// How much processor time a scheduler takes to decide, next to the limit: 1,000 full nodes of 4 slots; a task ends, its node has
// room, the scheduler is called. Pending tasks stay as many as they are: what ends is pending again. Half of the jobs read files
// with three replicas, the other half a shuffle. And how much it takes to decide which shuffle blocks stay in the memory of 10,000
// nodes.
//
//   scheduler_bench [spec …]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/random.hpp"
#include "engine/master/core/prefetch_budget.hpp"
#include "schedulers/builtin.hpp"
#include "schedulers/parts/map_racks.hpp"
#include "schedulers/view/estimates.hpp"
#include "schedulers/view/state.hpp"

namespace {

using namespace weft;
using namespace weft::schedulers;

constexpr std::uint32_t kNodes = 1000, kRacks = 20, kSlots = 4, kJobs = 100, kMaps = 20;
constexpr double kLimitMicros = 1000;

/// Of this thread on a processor: what else the machine does is not in it.
double thread_micros() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

class Cluster final : public Decisions {
 public:
  Cluster(const std::string& spec, const FileReader& files, std::uint32_t pending) : random_(1) {
    auto made = make_scheduler(spec, files);
    if (!made) throw std::runtime_error(made.error().to_string());
    scheduler_ = std::move(*made);
    (void)scheduler_->start(state_, nullptr);
    for (std::uint32_t i = 1; i <= kNodes; ++i) {
      NodeInfo node;
      node.id = NodeId(i);
      node.capacity = {.cpu = kSlots, .memory = 16};
      state_.add_node(std::move(node), fmt::format("h{}", i), fmt::format("r{}", i % kRacks), {});
    }
    const std::uint32_t per_job = (pending + kNodes * kSlots) / kJobs;
    for (std::uint64_t id = 1; id <= kJobs; ++id) add_job(id, per_job);
    call({});
  }

  /// One task ends; microseconds until the scheduler has decided.
  double step() {
    state_.set_now(state_.now() + std::chrono::milliseconds(5));
    const auto id = NodeId(1 + static_cast<std::uint32_t>(random_.below(kNodes)));
    const NodeInfo& node = *state_.node(id);
    if (node.running.empty()) return call({Trigger::Kind::node, id});
    auto ended = node.running.begin();
    std::advance(ended, static_cast<std::ptrdiff_t>(random_.below(node.running.size())));
    stop(*ended);
    return call({Trigger::Kind::node, id});
  }
  /// A task ends on every eighth node, then there is new work: microseconds per launch.
  double many_nodes() {
    for (std::uint32_t i = 1; i <= kNodes; i += 8) {
      const NodeInfo& node = *state_.node(NodeId(i));
      if (!node.running.empty()) stop(*node.running.begin());
    }
    const std::uint64_t before = launches_;
    const double micros = call({});
    return micros / static_cast<double>(std::max<std::uint64_t>(1, launches_ - before));
  }
  std::uint64_t launches() const { return launches_; }

  Result<void> launch(const TaskId& task, NodeId node, std::string_view) override {
    JobInfo& job = state_.mutable_job(task.job);
    StageInfo& stage = job.stages.at(task.stage);
    state_.set_task(job, stage, task.index, TaskState::running);
    TaskInfo& info = stage.tasks[task.index];
    info.node = node;
    info.launched = state_.now();
    state_.occupy(node, {task, info.attempts++}, job, stage.demand);
    scheduler_->on_event(state_, {Notice::Kind::task_launched, task.job, task.stage, task.index, node});
    tell_changes();
    ++launches_;
    return {};
  }
  Result<void> preempt(const AttemptId& attempt, std::string_view) override {
    stop(attempt);
    tell_changes();
    return {};
  }
  Result<void> preplace(const TaskId&, NodeId, std::string_view) override { return {}; }
  void hold(JobId, std::optional<StageId>, std::string_view) override {}
  void wake_at(Time) override {}

 private:
  void add_job(std::uint64_t id, std::uint32_t tasks) {
    JobInfo info;
    info.id = JobId(id);
    info.user = fmt::format("user{}", id % 10);
    info.pool = fmt::format("p{}", id % 4);
    JobInfo& job = state_.add_job(std::move(info));
    scheduler_->on_event(state_, {.kind = Notice::Kind::job_arrived, .job = job.id});
    const bool reduces = id % 2 == 0;
    std::vector<std::vector<HostId>> hosts(reduces ? kMaps : tasks);
    for (auto& list : hosts) {
      for (int replica = 0; replica < 3; ++replica)
        list.push_back(state_.intern_host(fmt::format("h{}", 1 + random_.below(kNodes))));
    }
    add_stage(job, 0, hosts, !reduces);
    if (!reduces) return;
    StageInfo& maps = job.stages.at(StageId(0));
    maps.output = ShuffleSizes(kMaps, tasks);
    for (std::uint32_t map = 0; map < kMaps; ++map) {
      std::vector<std::uint64_t> sizes(tasks);
      for (auto& size : sizes) size = random_.below(1u << 20);
      maps.output.add(map, NodeId(1 + static_cast<std::uint32_t>(random_.below(kNodes))), sizes);
      state_.set_task(job, maps, map, TaskState::finished);
    }
    add_stage(job, 1, std::vector<std::vector<HostId>>(tasks), true);
  }
  void add_stage(JobInfo& job, std::uint32_t id, const std::vector<std::vector<HostId>>& hosts, bool ready) {
    StageInfo stage;
    stage.id = StageId(id);
    stage.demand = {.cpu = 1, .memory = static_cast<double>(1 + job.id.value() % 4)};
    stage.estimated_duration = std::chrono::seconds(1 + job.id.value());
    if (id > 0) stage.parents.emplace_back(0), stage.reads_shuffle = true;
    StageInfo& added = state_.add_stage(job, std::move(stage), static_cast<std::uint32_t>(hosts.size()), hosts);
    scheduler_->on_event(state_, {.kind = Notice::Kind::stage_added, .job = job.id, .stage = added.id});
    if (ready) state_.set_ready(job, added, true);
  }
  void stop(AttemptId attempt) {  // by value: it is taken out of the set it may lie in
    JobInfo& job = state_.mutable_job(attempt.task.job);
    StageInfo& stage = job.stages.at(attempt.task.stage);
    state_.vacate(stage.tasks[attempt.task.index].node, attempt, job, stage.demand);
    state_.set_task(job, stage, attempt.task.index, TaskState::pending);
    const TaskId& task = attempt.task;
    scheduler_->on_event(state_, {Notice::Kind::task_preempted, task.job, task.stage, task.index, stage.tasks[task.index].node});
  }
  void tell_changes() {
    for (JobId job : state_.take_changed_jobs()) scheduler_->on_event(state_, {.kind = Notice::Kind::job_changed, .job = job});
  }
  double call(const Trigger& trigger) {
    const double before = thread_micros();
    tell_changes();
    scheduler_->schedule(state_, trigger, *this);
    return thread_micros() - before;
  }

  Random random_;
  ClusterState state_;
  std::unique_ptr<Scheduler> scheduler_;
  std::uint64_t launches_ = 0;
};

const std::map<std::string, std::string> kFiles{
    {"pools.toml",
     "[[pool]]\nname='p0'\nmin_share=500\nmin_share_timeout='1s'\n[[pool]]\nname='p1'\nweight=2\nfair_share_timeout='1s'\n"},
    {"queues.toml",
     "[[queue]]\nname='p0'\ncapacity=40\nuser_limit_factor=4\n[[queue]]\nname='p1'\ncapacity=30\nuser_limit_factor=4\n"
     "[[queue]]\nname='p2'\ncapacity=20\nuser_limit_factor=4\n[[queue]]\nname='p3'\ncapacity=10\nuser_limit_factor=4\n"}};

void measure(const std::string& spec, std::uint32_t pending) {
  Cluster cluster(spec, reader_of(kFiles), pending);
  std::vector<double> micros;
  const std::uint64_t before = cluster.launches();
  for (int i = 0; i < 3000; ++i) micros.push_back(cluster.step());
  const double launched = static_cast<double>(cluster.launches() - before) / 3000;
  const double many = cluster.many_nodes();
  std::sort(micros.begin(), micros.end());
  double sum = 0;
  for (double m : micros) sum += m;
  const double p99 = micros[micros.size() * 99 / 100];
  fmt::print("{:<44} {:>7} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f} {:>7.2f}   limit {:.0f} {}\n", spec, pending, sum / 3000, p99,
             micros.back(), many, launched, kLimitMicros, p99 < kLimitMicros ? "ok" : "MISSED");
}

/// A shuffle of five rounds, two reduces of each on every one of 10,000 nodes, of which three rounds fit.
void measure_units() {
  constexpr std::uint32_t kManyNodes = 10'000, kRounds = 5;
  constexpr double kUnitsLimitMicros = 100'000;  // a tenth of the time, as it is made once a second at most with so many
  master::PrefetchBudget book;
  std::vector<master::PrefetchBudget::Place> places;
  for (std::uint32_t node = 1; node <= kManyNodes; ++node) {
    book.join(NodeId(node), 600);
    for (std::uint32_t i = 0; i < 2 * kRounds; ++i)
      places.push_back({(node - 1) * 2 * kRounds + i, StageId(1), NodeId(node), i / 2, 100});
  }
  const master::PrefetchBudget::Key key{JobId(1), StageId(0)};
  std::vector<double> micros;
  for (int i = 0; i < 11; ++i) {
    book.place(key, {}, places);
    const double before = thread_micros();
    book.decide(RoundOrder::by_rounds_left);
    micros.push_back(thread_micros() - before);
    if (book.standing(key).rounds != 2) throw std::runtime_error("another choice of units than expected");
  }
  std::sort(micros.begin(), micros.end());
  const double median = micros[micros.size() / 2];
  fmt::print("which of {} partitions on {} nodes wait: {:.0f} us in the median, {:.0f} at most   limit {:.0f} {}\n", places.size(),
             kManyNodes, median, micros.back(), kUnitsLimitMicros, median < kUnitsLimitMicros ? "ok" : "MISSED");
}

/// SAMP for a job whose maps read 100,000 chunks with replicas in three of 100 racks each, as it is made once for a job: from the
/// view of 1,000 nodes.
void measure_map_racks() {
  constexpr std::uint32_t kChunks = 100'000, kManyRacks = 100;
  constexpr double kMapRacksLimitMicros = 20'000;
  ClusterState state;
  Random random(1);
  for (std::uint32_t i = 1; i <= kNodes; ++i) {
    NodeInfo node;
    node.id = NodeId(i);
    node.capacity = {.cpu = kSlots};
    state.add_node(std::move(node), fmt::format("h{}", i), fmt::format("r{}", i % kManyRacks), {});
  }
  JobInfo info;
  info.id = JobId(1);
  info.hints.shuffle_ratio = 0.5;
  JobInfo& job = state.add_job(std::move(info));
  std::vector<std::vector<HostId>> hosts(kChunks);
  for (auto& list : hosts)
    for (int replica = 0; replica < 3; ++replica) list.push_back(state.intern_host(fmt::format("h{}", 1 + random.below(kNodes))));
  StageInfo stage;
  stage.writes_shuffle = true;
  for (TaskInfo& task : state.add_stage(job, std::move(stage), kChunks, hosts).tasks) task.input_bytes = 64 << 20;
  std::vector<double> micros;
  for (int i = 0; i < 11; ++i) {
    MapRackChoices choices;
    choices.on_event(state, {.kind = Notice::Kind::stage_added, .job = JobId(1), .stage = StageId(0)});
    const double before = thread_micros();
    choices.refresh(state, [](const JobInfo& of) { return shuffle_ratio(of).value; });
    micros.push_back(thread_micros() - before);
  }
  std::sort(micros.begin(), micros.end());
  const double median = micros[micros.size() / 2];
  fmt::print(
      "racks for the maps of a job that reads {} chunks on {} racks: {:.0f} us in the median, {:.0f} at most   limit {:.0f} {}\n",
      kChunks, kManyRacks, median, micros.back(), kMapRacksLimitMicros, median < kMapRacksLimitMicros ? "ok" : "MISSED");
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> specs(arguments + 1, arguments + count);
  if (specs.empty()) {
    specs = {"fifo",
             "fsp",
             "fair",
             "fair(pools=pools.toml, preemption=true)",
             "capacity(queues=queues.toml)",
             "delay(inner=fair)",
             "delay(skips=20)",
             "drf",
             "drf(by=user)",
             "drf(form=closed)",
             "sjf",
             "srtf",
             "cpm(inner=fair)",
             "tetris",
             "tetris(fairness=0.5)",
             "carbyne",
             "carbyne(mode=safe)",
             "ras",
             "reverse_adaptive",
             "cogrs",
             "cogrs(inner=fair)",
             "shufflewatcher",
             "shufflewatcher(mode=paper, relaxed=5s)",
             "shufflewatcher(users=capacity(queues=queues.toml))",
             "adaptive",
             "adaptive(delays=3)"};
  }
  fmt::print("{:<44} {:>7} {:>9} {:>9} {:>9} {:>9} {:>7}   us per call\n", "scheduler", "pending", "mean", "p99", "max",
             "125 nodes", "launch");
  for (const std::string& spec : specs) {
    for (std::uint32_t pending : {1'000u, 10'000u, 100'000u}) measure(spec, pending);
  }
  measure_units();
  measure_map_racks();
  return 0;
}
