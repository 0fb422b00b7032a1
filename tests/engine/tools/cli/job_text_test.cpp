// What `weft job` prints of made-up jobs, as text and as JSON.
#include "engine/tools/display/job_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json_reader.hpp"
#include "engine/tools/display/earlier_runs.hpp"
#include "engine/tools/display/task_output.hpp"
#include "engine/tools/display/text_table.hpp"
#include "runtime/protocol/output_mark.hpp"

namespace weft::tools {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

master::JobStatus running_job() {
  master::JobStatus job;
  job.id = JobId(7);
  job.name = "word\ncount", job.user = "ann", job.pool = "nightly";
  job.options = {{"user", "ann"}, {"pool", "nightly"}, {"slow-start", "0.25"}, {"max-bad-records", "1%"}};
  job.submitted = 10s;
  job.deadline = 100s;
  job.input_bytes = 8 * kMiB, job.input_records = 1000, job.shuffle_bytes = 3 * kMiB;
  master::StageStatus maps;
  maps.id = StageId(0), maps.name = "read_text | flat_map", maps.tasks = 8, maps.finished = 4, maps.running = 3;
  maps.speculative = 3, maps.speculative_won = 1;
  maps.shuffle_bytes = 3 * kMiB, maps.predicted_shuffle_bytes = 6 * kMiB, maps.predicted_largest_partition = kMiB;
  maps.estimate = {1200ms, schedulers::EstimateSource::history, 1100ms};
  master::StageStatus reduces;
  reduces.id = StageId(1), reduces.name = "reduce_by_key", reduces.tasks = 4, reduces.waiting = true;
  job.stages = {maps, reduces};
  return job;
}

bool well_formed(const std::string& text) {
  JsonReader json(text, "test");
  return json.skip() && json.finish();
}

TEST(JobText, OfARunningJobHasItsStagesAndEstimates) {
  const std::string text = job_text(running_job(), 40s);
  EXPECT_THAT(text, HasSubstr("job 7 word\\ncount (running), user ann, running for 30.0 s\n"));
  EXPECT_THAT(text, HasSubstr("pool nightly\n"));
  EXPECT_THAT(text, HasSubstr("options: --max-bad-records 1% --slow-start 0.25\n"));
  EXPECT_THAT(text, HasSubstr("deadline: 1 min 00 s to spare\n"));
  EXPECT_THAT(text, HasSubstr("SPECULATIVE"));
  EXPECT_THAT(text, HasSubstr("3, 1 won"));
  EXPECT_THAT(text, HasSubstr("3.00 MiB of about 6.00 MiB"));
  EXPECT_THAT(text, HasSubstr("waiting for its input"));
  EXPECT_THAT(text, HasSubstr("1.1 s, predicted 1.2 s (history)"));
  for (const char* absent : {"error", "replica", "prefetched", "lost"}) EXPECT_THAT(text, Not(HasSubstr(absent)));
}

TEST(JobText, OfAJobThatEndedCountsItsTimeToTheEnd) {
  master::JobStatus job = running_job();
  job.state = master::JobState::failed;
  job.ended = 130s;
  job.error = "stage 0: no such file\nbook.txt";
  const std::string text = job_text(job, 1000s);
  EXPECT_THAT(text, HasSubstr("(failed), user ann, ran for 2 min 00 s\n"));
  EXPECT_THAT(text, HasSubstr("deadline: missed by 30.0 s\n"));
  EXPECT_THAT(text, HasSubstr("error: stage 0: no such file\\nbook.txt\n")) << "one line, whatever it quotes";
  EXPECT_EQ(age(job, 1000s), 120s);
  EXPECT_EQ(time_to_deadline(job, 1000s), -30s);
}

TEST(JobText, OfAJobThatIsOverHasAFinalStateForEveryStage) {
  master::JobStatus job = running_job();
  master::StageStatus& maps = job.stages[0];
  const auto states = [&] {
    std::vector<std::string> all;
    for (const master::StageStatus& stage : job.stages) all.push_back(stage_state(job, stage));
    return all;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(states(), (Texts{"running", "waiting for its input"}));
  job.stages[1].reason = "its inputs are not complete";
  maps.usage.attempts.first = 3;
  job.ended = 130s;
  job.state = master::JobState::failed;
  EXPECT_EQ(states(), (Texts{"cancelled", "not run"})) << "no attempt of it failed: the reason is another";
  maps.usage.attempts.failed = 1;
  EXPECT_EQ(states(), (Texts{"failed", "not run"}));
  EXPECT_THAT(job_text(job, 1000s), Not(HasSubstr("its inputs are not complete"))) << "nothing is waited for any more";
  EXPECT_THAT(job_json(job, 1000s), Not(HasSubstr("its inputs are not complete")));
  job.state = master::JobState::killed;
  EXPECT_EQ(states(), (Texts{"cancelled", "not run"}));
  maps.finished = maps.tasks;
  EXPECT_EQ(states(), (Texts{"done", "not run"}));
}

TEST(JobText, TellsWhenAJobWithADeadlineIsExpectedToEnd) {
  master::JobStatus job = running_job();
  EXPECT_THAT(job_text(job, 40s), Not(HasSubstr("expected")));
  job.expected = {.end = 90s, .alone = 50s, .slots = 3, .needed = 2, .cluster = 8};
  EXPECT_THAT(job_text(job, 40s), HasSubstr("deadline: 1 min 00 s to spare\nexpected end: in 50.0 s\n"
                                            "outlook: expected to meet the deadline with 10.0 s to spare\n"));
  EXPECT_THAT(job_json(job, 40s), HasSubstr(R"("expected":{"end_seconds":50,"margin_seconds":10,"end_alone_seconds":10,)"
                                            R"("tasks_at_a_time":3,"tasks_needed":2,"room_for_tasks":8,"outlook":")"));
  job.expected = master::Expectation();
  EXPECT_THAT(job_text(job, 40s), HasSubstr("outlook: whether the deadline can be met is not known"));
  job.expected->end = 90s;
  job.state = master::JobState::finished;
  job.ended = 80s;
  EXPECT_THAT(job_text(job, 400s), Not(HasSubstr("outlook")));
}

TEST(JobText, TellsWhatWasPrefetchedAndWhatBecameOfIt) {
  master::JobStatus job = running_job();
  job.prefetch = {.prefetched_bytes = 12 * kMiB, .read_bytes = 10 * kMiB};
  EXPECT_THAT(job_text(job, 40s), HasSubstr("prefetched 12.0 MiB: tasks read 10.0 MiB\n"));
  job.prefetch.wasted_bytes = 2 * kMiB;
  job.prefetch.evicted_bytes = 4 * kMiB, job.prefetch.evicted_file_bytes = kMiB, job.prefetch.returned_bytes = 3 * kMiB;
  EXPECT_THAT(job_text(job, 40s), HasSubstr("prefetched 12.0 MiB: tasks read 10.0 MiB, 2.00 MiB were wasted; 4.00 MiB were evicted "
                                            "to 1.00 MiB on disk, 3.00 MiB of them came back\n"));
  const std::string json = job_json(job, 40s);
  EXPECT_THAT(json, HasSubstr(R"("predicted_task_seconds":1.2,"predicted_by":"history","mean_task_seconds":1.1)"));
  EXPECT_THAT(json, HasSubstr(R"("prefetch":{"prefetched_bytes":12582912,"read_bytes":10485760,"wasted_bytes":2097152,)"
                              R"("evicted_bytes":4194304,"evicted_file_bytes":1048576,"returned_bytes":3145728})"));
}

TEST(JobText, TellsWhereTheTimeOfTasksWent) {
  master::JobStatus job = running_job();
  EXPECT_THAT(job_text(job, 40s), Not(HasSubstr("compute")));
  job.stages[0].usage = {{1s, 0s, 2s, 1s}, 1500ms, kMiB};
  job.stages[1].usage = {{0s, 10s, 10ms, 0s}, 0s, 0};
  EXPECT_THAT(job_text(job, 40s), HasSubstr("4.0 s: 25% read, 50% compute, 25% write"));
  EXPECT_THAT(job_text(job, 40s), HasSubstr("10.0 s: 100% shuffle "));
  EXPECT_THAT(job_json(job, 40s), HasSubstr(R"("task_seconds":{"read":1,"shuffle":0,"compute":2,"write":1,"cpu":1.5},)"
                                            R"("peak_task_memory_bytes":1048576)"));
}

TEST(JobText, TellsOfAStagesTimesAttemptsAndHowItsTasksDiffer) {
  master::JobStatus job = running_job();
  EXPECT_THAT(job_text(job, 40s), Not(HasSubstr("MEDIAN"))) << "no task has finished";
  EXPECT_THAT(job_json(job, 40s), Not(HasSubstr("began_seconds")));
  master::StageUsage& usage = job.stages[0].usage;
  usage.attempts = {.first = 8, .retried = 2, .finished = 4, .failed = 1, .killed = 3, .lost = 1};
  usage.began = 12s, usage.ended = 20s;
  usage.figures.nanoseconds = {10'000'000'000, 500'000'000, 2'000'000'000, 3'000'000'000, 4'500'000'000};
  usage.figures.spilled_bytes = {5 * kMiB, 0, 0, kMiB, 4 * kMiB};
  const std::string text = job_text(job, 40s);
  EXPECT_THAT(text, HasSubstr("10, 2 retried, 1 failed, 3 killed, 1 lost  3, 1 won"));
  EXPECT_THAT(text, HasSubstr("+2.0 s  28.0 s")) << "it runs on";
  EXPECT_THAT(text, HasSubstr("\n\nSTAGE  OF ITS TASKS  TOTAL     MIN     MEDIAN  95 %      MAX\n"
                              "0      time          10.0 s    500 ms  2.0 s   3.0 s     4.5 s\n"
                              "0      spilled       5.00 MiB  0 B     0 B     1.00 MiB  4.00 MiB\n"));
  const std::string json = job_json(job, 40s);
  EXPECT_TRUE(well_formed(json)) << json;
  EXPECT_THAT(json, HasSubstr(R"("began_seconds":2,"seconds":28,"attempts":{"first":8,"retried":2,"speculative":3,"finished":4,)"
                              R"("failed":1,"killed":3,"lost":1})"));
  EXPECT_THAT(json, HasSubstr(R"("task_figures":{"seconds":{"total":10,"min":0.5,"median":2,"p95":3,"max":4.5})"));
  EXPECT_THAT(json, HasSubstr(R"("spilled_bytes":{"total":5242880,"min":0,"median":0,"p95":1048576,"max":4194304}})"));
  job.stages[0].finished = 8;
  EXPECT_THAT(job_text(job, 40s), HasSubstr("+2.0 s  8.0 s")) << "it is over";
  job.stages[0].finished = 4, job.state = master::JobState::killed, job.ended = 15s;
  EXPECT_THAT(job_text(job, 40s), HasSubstr("+2.0 s  3.0 s")) << "its job is over";
}

TEST(JobText, OfASortFitsTheWindow) {
  master::JobStatus job = running_job();
  job.options.clear();
  job.stages[0].name = "sort_by (terasort.cpp:61) splitters", job.stages[0].reason = "all slots are in use";
  job.stages[0].usage = {{1s, 0s, 2s, 1s}, 1500ms, kMiB};
  job.stages[0].usage.attempts = {.first = 8, .finished = 4};
  EXPECT_THAT(job_text(job, 40s), HasSubstr("  4 of 8, 3 running  "));
  job.stages[0].usage.began = 12s;
  job.stages[1].name = "write_records (terasort.cpp:61)";
  const std::string text = job_text(job, 40s);
  EXPECT_THAT(text, HasSubstr("stage 0 shuffled 3.00 MiB of about 6.00 MiB\nstage 0: all slots are in use\n"));
  EXPECT_THAT(text, Not(HasSubstr("\n1      0 "))) << "a stage without attempts has no line of them";
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    EXPECT_LE(end - begin, 120u) << text.substr(begin, end - begin);
  }
}

TEST(TaskOutput, IsWhatWasWrittenWhileTheTaskRan) {
  const runtime::OutputMark mark{3, 17, 1, 345};
  EXPECT_EQ(to_string(mark), "[task 3.17, attempt 1: 345 bytes above]");
  EXPECT_EQ(runtime::parse_output_mark(to_string(mark)), mark);
  for (const char* no : {"", "[task 3.17]", "[task 3.x, attempt 1: 3 bytes above]", "[task 3.17, attempt 1: 345 bytes above] x",
                         "[task 3.17, attempt -1: 345 bytes above]"})
    EXPECT_FALSE(runtime::parse_output_mark(no)) << no;
  const std::string log =
      "early\n"  // 6 bytes
      "one\n[task 0.1, attempt 0: 4 bytes above]\n"
      "mixed a\nmixed b\n[task 0.2, attempt 0: 16 bytes above]\n"
      "more\n[task 0.3, attempt 0: 60 bytes above]\n"  // began before 0.2 ended
      "without an end[task 1.1, attempt 0: 14 bytes above]\n"
      "again\n[task 0.1, attempt 1: 6 bytes above]\n";
  EXPECT_EQ(output_of(log, {0, 1}), "one\nagain\n") << "both attempts";
  EXPECT_EQ(output_of(log, {0, 2}), "mixed a\nmixed b\n");
  EXPECT_EQ(output_of(log, {0, 3}), "mixed a\nmixed b\nmore\n") << "with what others wrote meanwhile, and without their marks";
  EXPECT_EQ(output_of(log, {1, 1}), "without an end");
  EXPECT_EQ(output_of(log, {2, 0}), "");
  EXPECT_EQ(output_of("st\n[task 0.1, attempt 0: 400 bytes above]\n", {0, 1}), "st\n") << "cut off at its front";
}

TEST(Table, AlignsByWhatCharactersTakeOnAScreen) {
  TextTable table({"NAME", "N"});
  table.add({"Müller", "1"});
  table.add({"東京", "2"});
  table.add({"plainer", "3"});
  EXPECT_EQ(table.text(), "NAME     N\nMüller   1\n東京     2\nplainer  3\n");
}

TEST(JobText, CountsReplicasOfAllStages) {
  master::JobStatus job = running_job();
  job.shuffle_replicas = 2;
  job.stages[0].replicas = 17;
  job.stages[1].replicas = 1, job.stages[1].replicas_abandoned = 2, job.stages[1].replicas_used = 3;
  EXPECT_THAT(job_text(job, 40s), HasSubstr("replicas of map outputs: 18 made, 2 could not be made, 3 outputs were lost and read "
                                            "from their replicas\n"));
  EXPECT_THAT(job_json(job, 40s), HasSubstr(R"("replicas":17)"));
  job.state = master::JobState::finished;
  job.stages[1].replicas_abandoned = 0, job.stages[1].replicas_used = 0;
  EXPECT_THAT(job_text(job, 40s), HasSubstr("map outputs had replicas\n"));
}

TEST(JobText, JsonIsWellFormedAndHasTheSameFigures) {
  client::JobList jobs{{running_job()}, 40s};
  master::JobStatus failed = running_job();
  failed.state = master::JobState::failed, failed.error = "\"quoted\"\n", failed.deadline.reset();
  failed.counters["bad lines"] = 3;
  jobs.jobs.push_back(failed);
  EXPECT_TRUE(well_formed(jobs_json(jobs)));
  EXPECT_TRUE(well_formed(counters_json(failed)));
  EXPECT_THAT(counters_table(failed), HasSubstr("bad lines"));
  const std::string json = job_json(jobs.jobs[0], 40s);
  EXPECT_TRUE(well_formed(json)) << json;
  for (const char* member : {R"("id":7)", R"("state":"running")", R"("deadline_seconds_left":60)", R"("seconds":30)",
                             R"("speculative_attempts":3)", R"("predicted_largest_partition_bytes":1048576)"})
    EXPECT_THAT(json, HasSubstr(member));
  EXPECT_THAT(job_json(failed, 40s), Not(HasSubstr("deadline_seconds_left")));
  const std::string table = jobs_table(jobs);
  EXPECT_THAT(table, HasSubstr("running"));
  EXPECT_THAT(table, HasSubstr("failed"));
}

TEST(JobText, ExplainsGroupsOfWaitingTasks) {
  master::JobExplanation explained;
  explained.now = 60s;
  explained.id = JobId(7), explained.name = "wordcount", explained.summary = "3 of 8 tasks wait";
  EXPECT_EQ(explanation_text(explained), "job 7 wordcount (running): 3 of 8 tasks wait\n");
  explained.estimates.push_back({StageId(2), "s", 1500ms, schedulers::EstimateSource::history, "7 tasks"});
  EXPECT_THAT(explanation_text(explained), HasSubstr("\nstage 2: a task is taken to need 1.5 s (history: 7 tasks)\n"));
  EXPECT_THAT(explanation_json(explained),
              HasSubstr(R"("estimates":[{"stage":2,"name":"s","task_seconds":1.5,"source":"history","basis":"7 tasks"}])"));
  explained.waiting.push_back({.stage = StageId(1),
                               .stage_name = "reduce_by_key",
                               .tasks = 3,
                               .why = master::WaitingTasks::Why::parents,
                               .reason = "stage 0 has 4 tasks to go",
                               .since = 50s});
  EXPECT_THAT(explanation_text(explained), HasSubstr("stage 0 has 4 tasks to go"));
  EXPECT_THAT(explanation_text(explained), HasSubstr("10.0 s ago"));
  const std::string json = explanation_json(explained);
  EXPECT_TRUE(well_formed(json)) << json;
  EXPECT_THAT(json, HasSubstr(R"("kind":"parents")"));
  EXPECT_THAT(json, HasSubstr(R"("seconds_ago":10)"));
}

TEST(EarlierRuns, AreThoseOfTheSameProgramAndUser) {
  client::JobList jobs;
  jobs.now = 1000s;
  const auto add = [&jobs](std::uint64_t id, const char* name, const char* user, Duration took, master::JobState state) {
    master::JobStatus& job = jobs.jobs.emplace_back();
    job.id = JobId(id), job.name = name, job.user = user, job.state = state, job.submitted = 100s, job.ended = 100s + took;
  };
  add(1, "sort", "ann", 4s, master::JobState::finished);
  add(2, "sort", "bob", 50s, master::JobState::finished);
  add(3, "join", "ann", 60s, master::JobState::finished);
  add(4, "sort", "ann", 1s, master::JobState::failed);
  add(5, "sort", "ann", 8s, master::JobState::finished);
  add(6, "sort", "ann", 6s, master::JobState::finished);
  add(7, "sort", "ann", 7s, master::JobState::finished);
  EXPECT_EQ(earlier_runs_text(earlier_runs(jobs, JobId(7))),
            "earlier runs of sort: 4.0 s (job 1), failed after 1.0 s (job 4), 8.0 s (job 5), 6.0 s (job 6); the median of 3 that "
            "finished is 6.0 s\n");
  EXPECT_EQ(earlier_runs_text(earlier_runs(jobs, JobId(2))), "") << "nor later ones";
  EXPECT_EQ(earlier_runs_text(earlier_runs(jobs, JobId(99))), "");
  for (std::uint64_t id = 8; id < 40; ++id) add(id, "sort", "ann", 5s, master::JobState::finished);
  const client::JobList runs = earlier_runs(jobs, JobId(39));
  EXPECT_EQ(runs.jobs.size(), 20u);
  EXPECT_EQ(runs.jobs.back().id, JobId(38));
  EXPECT_THAT(earlier_runs_text(runs), Not(HasSubstr("job 33)")));
  EXPECT_THAT(earlier_runs_text(runs), HasSubstr("job 34), 5.0 s (job 35)"));
}

TEST(JobText, LogsHaveAHeadingForEachWorker) {
  std::vector<client::JobLog> logs(2);
  const std::string_view said = "hello";
  logs[0].node = "w1", logs[0].text = Buffer::copy_of(as_bytes(said));
  logs[1].node = "w2", logs[1].error = "not there";
  EXPECT_EQ(logs_text(logs), "== w1 ==\nhello\n== w2 ==\n(not there)\n");
  EXPECT_TRUE(well_formed(logs_json(logs)));
  logs[0].driver = true;
  EXPECT_EQ(logs_text(logs), "== driver on w1 ==\nhello\n== w2 ==\n(not there)\n");
  EXPECT_THAT(logs_json(logs), HasSubstr(R"("node":"w1","driver":true)"));
}

}  // namespace
}  // namespace weft::tools
