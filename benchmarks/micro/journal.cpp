// The master's journal on the disk of $TMPDIR: what a record, a checkpoint and a restart cost.
#include "engine/master/journal/journal.hpp"

#include <chrono>
#include <cstdint>
#include <future>

#include <benchmark/benchmark.h>

#include "base/file.hpp"
#include "base/rpc/rpc.hpp"
#include "benchmarks/e2e/setting.hpp"
#include "engine/master/journal/journal_file.hpp"
#include "tests/engine/master/server/job_statuses.hpp"

namespace weft::micro {
namespace {

using namespace master;

constexpr std::size_t kKept = 1000;

/// Ended jobs, of ten stages and twenty counters each.
std::vector<JournalRecord> history() {
  std::vector<JobStatus> jobs;
  for (std::uint64_t id = 1; id <= kKept; ++id) {
    JobStatus& job = jobs.emplace_back(test::job_status(id, JobState::finished));
    job.stages.resize(10, job.stages.front());
    for (int i = 0; i < 20; ++i) job.counters["counter of records " + std::to_string(i)] = i;
  }
  return test::records_of(jobs);
}

struct Scratch {
  TempDir directory = TempDir::create("weft-journal-").value();
  std::string path = directory.path() / "journal";
  JournalFile open() const { return JournalFile::open(path, {.jobs_kept = kKept, .checkpoint_bytes = 1u << 30}).value(); }
};

constexpr double kLeastEvents = 20'000;  // a second

/// Launches and ends of tasks, as a busy master gives them to its journal, until all are on the disk: how many share a sync is up
/// to the journal.
void journal_events(benchmark::State& state) {
  constexpr std::uint32_t kTasks = 20'000;
  const Scratch scratch;
  const auto reactor = rpc::Reactor::start("master");
  Journal journal(scratch.open(), *reactor, [](const Error&) {});
  bool written = true;
  double seconds = 0;
  std::uint64_t events = 0, job = 0;
  for (auto iteration : state) {
    const auto began = std::chrono::steady_clock::now();
    std::promise<bool> durable;
    reactor->run([&, id = JobId(++job)] {
      for (std::uint32_t task = 0; task < kTasks; ++task) {
        JournalRecord launch, end;
        launch.job = end.job = id;
        launch.fact = LaunchFact{StageId(0), task, 0, NodeId(1), Time(task), 1, 1};
        FinishFact finish;
        finish.task = task;
        finish.node = NodeId(1);
        finish.launched = Time(task);
        finish.ended = Time(task + 1);
        finish.output = std::string(16, 'o');
        finish.counters["records"] = 1000;
        end.fact = std::move(finish);
        journal.append(std::move(launch), Journal::Keep::needed);
        journal.append(std::move(end), Journal::Keep::promised);
      }
      journal.when_durable([&](const Result<void>& result) { durable.set_value(result.has_value()); });
    });
    written = durable.get_future().get() && written;
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    events += 2 * kTasks;
  }
  reactor->stop();
  journal.close();
  if (!written) return state.SkipWithError("cannot write");
  state.SetItemsProcessed(static_cast<std::int64_t>(events));
  state.SetLabel(bench::at_least(static_cast<double>(events) / seconds, kLeastEvents, " events/s"));
}
BENCHMARK(journal_events)->UseRealTime()->Unit(benchmark::kMillisecond);

/// Argument: records that share a sync.
void journal_commit(benchmark::State& state) {
  const Scratch scratch;
  JournalFile file = scratch.open();
  std::uint64_t id = 0;
  for (auto iteration : state) {
    std::vector<JobStatus> jobs;
    for (std::int64_t i = 0; i < state.range(0); ++i) jobs.push_back(test::job_status(++id, JobState::finished));
    if (!file.commit(test::records_of(jobs))) return state.SkipWithError("cannot write");
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(id));
}
BENCHMARK(journal_commit)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->UseRealTime()->Unit(benchmark::kMicrosecond);

void journal_checkpoint(benchmark::State& state) {
  const Scratch scratch;
  JournalFile file = scratch.open();
  if (!file.commit(history())) return state.SkipWithError("cannot write");
  for (auto iteration : state)
    if (!file.checkpoint()) return state.SkipWithError("cannot write");
  state.counters["bytes"] = static_cast<double>(file.size());
}
BENCHMARK(journal_checkpoint)->UseRealTime()->Unit(benchmark::kMillisecond);

void journal_restart(benchmark::State& state) {
  const Scratch scratch;
  if (!scratch.open().commit(history())) return state.SkipWithError("cannot write");
  for (auto iteration : state) benchmark::DoNotOptimize(scratch.open().history());
}
BENCHMARK(journal_restart)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft::micro
