// The master's journal on the disk of $TMPDIR: what a record, a checkpoint and a restart cost.
#include <benchmark/benchmark.h>

#include "base/file.hpp"
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
