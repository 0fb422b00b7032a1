// Jobs files: what they hold, what is refused, and that what is written is read as the same.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/simulator/workload_files.hpp"

namespace weft::simulator::workloads {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using Hosts = std::vector<std::string>;

std::string written(const Workload& workload) {
  const TempDir directory = TempDir::create().value();
  const std::string path = directory.path() / "w";
  EXPECT_TRUE(write_jobs(workload, path, IfExists::replace).has_value());
  return read_file(path).value();
}

TEST(JobsFile, HoldsWhatPeopleWrite) {
  const Workload workload = load("jobs:" + sample("jobs.json"), {}).value();
  ASSERT_EQ(workload.hosts.size(), 2u);
  EXPECT_EQ(workload.hosts[1].name + " " + workload.hosts[1].rack, "node-b right");
  ASSERT_EQ(workload.jobs.size(), 2u);
  const JobSpec& job = workload.jobs[0];
  EXPECT_EQ(job.name + " " + job.options.user + " " + job.options.pool, "word count ann nightly");
  EXPECT_EQ(job.hints.weight, 2);
  EXPECT_EQ(job.options.priority, 1);
  EXPECT_EQ(job.arrival, 10s);
  EXPECT_EQ(job.deadline, 5min);
  ASSERT_EQ(job.stages.size(), 2u);
  EXPECT_EQ(job.stages[0].tasks, 2u);
  EXPECT_EQ(job.stages[0].duration, 20s);
  EXPECT_EQ(job.stages[0].input_bytes, 256u << 20);
  EXPECT_EQ(job.stages[0].shuffle_bytes, 100'000'000u);
  EXPECT_THAT(job.stages[0].hosts, ElementsAre(Hosts{"node-a", "node-b"}, Hosts{"node-b"}));
  EXPECT_THAT(job.stages[1].parents, ElementsAre(0));
  EXPECT_EQ(job.stages[1].tasks, 1u);
  EXPECT_EQ(job.stages[1].duration, 4500ms);
  EXPECT_EQ(schedulers::to_string(job.stages[1].demand), "cpu=2,memory=1GiB");
  EXPECT_EQ(job.stages[1].output_bytes, 10'000'000u);
  const StageSpec& risk = workload.jobs[1].stages[0];
  EXPECT_EQ(risk.name, "stage 0");
  EXPECT_THAT(risk.durations, ElementsAre(60s, 61500ms, 90s));
  ASSERT_EQ(risk.speedups.size(), 1u);
  EXPECT_EQ(risk.speedups[0].attribute + "=" + risk.speedups[0].value, "accelerator=gpu");
  EXPECT_EQ(risk.speedups[0].factor, 25);
}

TEST(JobsFile, HoldsWhatProgramsKnow) {
  const std::string text =
      R"({"note":"half a trace"}
{"name":"a","max_attempts":7,"shuffle_replicas":2,"weight":0.5,"relative_reduce_cost":3.25,"shuffle_ratio":0.125,)"
      R"("map_profile":"cpu=1","shuffle_profile":"network_in=1500B","reduce_profile":"memory=1GiB","stages":[)"
      R"({"name":"m","tasks":2,"duration":1.5,"estimate":0,"shuffle":1000,"skew":1.25,"partitions":[0.25,0.75],)"
      R"("failures":[{"task":1,"after":0.5},{"task":1,"after":2,"environment":true}]},)"
      R"({"name":"r","tasks":2,"parents":[0]}]}
)";
  const auto workload = load_text("jobs", text);
  ASSERT_TRUE(workload.has_value()) << workload.error().to_string();
  EXPECT_THAT(workload->notes, ElementsAre("half a trace"));
  const JobSpec& job = workload->jobs[0];
  EXPECT_EQ(job.options.max_attempts, 7u);
  EXPECT_EQ(job.options.shuffle_replicas, 2u);
  EXPECT_EQ(job.hints.relative_reduce_cost, 3.25);
  EXPECT_EQ(job.hints.shuffle_ratio, 0.125);
  EXPECT_EQ(job.hints.map_profile->cpu, 1);
  EXPECT_EQ(job.hints.shuffle_profile->network_in, 1500);
  EXPECT_EQ(job.hints.reduce_profile->memory, 1 << 30);
  const StageSpec& map = job.stages[0];
  EXPECT_EQ(map.estimate, 0s);
  EXPECT_EQ(map.partition_skew, 1.25);
  EXPECT_THAT(map.partition_weights, ElementsAre(0.25, 0.75));
  EXPECT_THAT(map.failures.at(1), ElementsAre(StageSpec::Failure{500ms, false}, StageSpec::Failure{2s, true}));
  EXPECT_EQ(written(*workload), text);
}

TEST(JobsFile, EveryWorkloadIsReadAsItWasWritten) {
  for (const std::string& text : {"jobs:" + sample("jobs.json"), "swim:" + sample("swim.tsv"), "log:" + sample("event_log.jsonl"),
                                  std::string("generate:jobs=30,class=a(variation=uniform(0.5,2),skew=1,demand=(cpu=2,memory=1MiB),"
                                              "fast_nodes=accelerator=gpu,speedup=2.5),class=b(kind=dag,deadline=uniform(1,3))")}) {
    const auto first = load(text, {});
    ASSERT_TRUE(first.has_value()) << first.error().to_string();
    const std::string lines = written(*first);
    const auto second = load_text("jobs", lines);
    ASSERT_TRUE(second.has_value()) << second.error().to_string();
    EXPECT_EQ(written(*second), lines) << text;
    ASSERT_EQ(second->jobs.size(), first->jobs.size());
    for (std::size_t i = 0; i < first->jobs.size(); ++i) {
      EXPECT_EQ(second->jobs[i].arrival, first->jobs[i].arrival) << "to the nanosecond";
      for (std::size_t s = 0; s < first->jobs[i].stages.size(); ++s)
        EXPECT_EQ(second->jobs[i].stages[s].durations, first->jobs[i].stages[s].durations) << "to the nanosecond";
    }
  }
}

TEST(JobsFile, ErrorsNameTheLineAndTheReason) {
  const auto stage = [](const std::string& members) {
    return load_error("jobs", "{\"name\":\"a\",\n\"stages\":[{" + members + "}]}");
  };
  EXPECT_EQ(stage("\"durration\":1"), "t:2: a stage has no 'durration' (did you mean 'duration'?)");
  EXPECT_EQ(stage("\"tasks\":0"), "t:2: 0 is not from 1 to 100000000");
  EXPECT_EQ(stage("\"duration\":\"5 parsecs\"").substr(0, 5), "t:2: ");
  EXPECT_EQ(stage("\"duration\":-1"), "t:2: a time must be from 0 to 1e9 seconds");
  EXPECT_EQ(stage("\"duration\":1e300"), "t:2: 1e+300 is too long a time");
  EXPECT_EQ(stage("\"input\":-1"), "t:2: -1 is not from 0 to 1000000000000000000");
  EXPECT_EQ(stage("\"tasks\":3,\"durations\":[1,2]"), "t:2: stage 'stage 0': 2 durations for 3 tasks");
  EXPECT_EQ(stage("\"tasks\":3,\"hosts\":[[]]"), "t:2: stage 'stage 0': 1 lists of hosts for 3 tasks");
  EXPECT_EQ(stage("\"parents\":[0]"), "t:2: stage 'stage 0': its parent 0 is not an earlier stage (from 0)");
  EXPECT_EQ(stage("\"parents\":[\"x\"]"), "t:2: the parent 'x' is not the name of an earlier stage of this job");
  EXPECT_EQ(stage("\"failures\":[{\"task\":1}]"), "t:2: stage 'stage 0': task 1 is to fail, but there are 1 (from 0)");
  EXPECT_EQ(stage("\"failures\":[{\"at\":1}]"), "t:2: a failure has no 'at'");
  EXPECT_EQ(stage("\"speedups\":{\"gpu\":2}"), "t:2: 'gpu' must be an attribute of nodes and its value: \"accelerator=gpu\"");
  EXPECT_EQ(stage("\"speedups\":{\"a=b\":0}"), "t:2: 0 is not from 1e-06 to 1000000");
  EXPECT_THAT(stage("\"demand\":\"cpus=2\""), HasSubstr("t:2: "));
  EXPECT_EQ(load_error("jobs", "{\"name\":\"a\"}"), "t:1: the job 'a' has no stages");
  EXPECT_EQ(load_error("jobs", "{\"host\":\"a\"}"), "t: no jobs");
  EXPECT_EQ(load_error("jobs", "{\"weigth\":1}"), "t:1: a job has no 'weigth' (did you mean 'weight'?)");
  EXPECT_EQ(load_error("jobs", "{\"weight\":0,\n\"stages\":[{}]}"), "t:1: 0 is not from 1e-09 to 1000000000");
  EXPECT_EQ(load_error("jobs", "\n\n[]"), "t:3: '{' was expected, not '['");
  EXPECT_THAT(load_error("jobs", "{\"stages\":[{}]"), HasSubstr("the file ends within the object that begins in line 1"));
  EXPECT_THAT(load_error("jobs", "{\"stages\":[{}]}", ",rate=1"), HasSubstr("unknown key 'rate'"));
}

}  // namespace
}  // namespace weft::simulator::workloads
