// The formats, on samples of our own making.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "engine/simulator/workloads/describe.hpp"
#include "tests/engine/simulator/workload_files.hpp"

namespace weft::simulator::workloads {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

/// As an experiment gets it: sorted by arrival.
Workload loaded(const std::string& text, const Context& context = {}) {
  auto workload = load(text, context);
  EXPECT_TRUE(workload.has_value()) << workload.error().to_string();
  EXPECT_TRUE(!workload || resize(*workload, {}));
  return workload ? std::move(*workload) : Workload{};
}

TEST(SwimLoader, MakesTasksFromBytes) {
  const Workload workload = loaded("swim:" + sample("swim.tsv") + ",rate=10MB,startup=2s,reduce_bytes=1GB,max_reduces=2");
  ASSERT_EQ(workload.jobs.size(), 3u);
  const JobSpec& job = workload.jobs[0];
  EXPECT_EQ(job.name, "job0");
  ASSERT_EQ(job.stages.size(), 2u);
  EXPECT_EQ(job.stages[0].tasks, 3u);  // a byte more than two blocks
  EXPECT_EQ(job.stages[0].input_bytes, 134217729u);
  EXPECT_EQ(job.stages[0].shuffle_bytes, 67108864u);
  EXPECT_EQ(job.stages[0].duration, 2s + 4473924300ns);
  EXPECT_THAT(job.stages[1].parents, ElementsAre(0u));
  EXPECT_EQ(job.stages[1].output_bytes, 1000u);
  EXPECT_DOUBLE_EQ(*job.hints.shuffle_ratio, 67108864.0 / 134217729.0);
  EXPECT_EQ(workload.jobs[1].arrival, 10s);
  ASSERT_EQ(workload.jobs[1].stages.size(), 1u) << "without shuffle there are no reduces";
  EXPECT_EQ(workload.jobs[1].stages[0].tasks, 1u);
  EXPECT_EQ(workload.jobs[1].stages[0].output_bytes, 127u);
  EXPECT_EQ(workload.jobs[2].stages[1].tasks, 2u) << "max_reduces";
}

TEST(SwimLoader, ReadsTheVariantWithPathsAndGzip) {
  EXPECT_EQ(loaded("swim:" + sample("swim_paths.tsv")).jobs.size(), 2u);
  auto directory = TempDir::create();
  ASSERT_TRUE(directory.has_value());
  const std::string plain = read_file(sample("swim.tsv")).value(), path = directory->path() / "swim.tsv.gz";
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_EQ(gzwrite(file, plain.data(), static_cast<unsigned>(plain.size())), static_cast<int>(plain.size()));
  ASSERT_EQ(gzclose(file), Z_OK);
  EXPECT_EQ(loaded("swim:" + path).jobs.size(), 3u);

  const std::string packed = read_file(path).value();
  ASSERT_TRUE(write_file(path, packed.substr(0, packed.size() - 12)).has_value());
  EXPECT_THAT(load("swim:" + path, {}).error().to_string(), testing::HasSubstr("ends too early"));
  std::string damaged = packed;
  damaged[packed.size() / 2] = static_cast<char>(damaged[packed.size() / 2] ^ 0x55);
  ASSERT_TRUE(write_file(path, damaged).has_value());
  EXPECT_FALSE(load("swim:" + path, {}).has_value());
}

TEST(SwimLoader, NamesLineAndReason) {
  EXPECT_EQ(load_error("swim", "a\t1\t1\t1\t1\n"), "t:1: a SWIM line has 6 or 9 fields separated by tabs, this one 5");
  EXPECT_EQ(load_error("swim", "a\t1\t1\t1\t1\t1\nb\t2\t1\t-1\t1\t1\n"),
            "t:2: the map input must be a whole number from 0 to 1000000000000000000, not '-1'");
  EXPECT_EQ(load_error("swim", "a\t5\t1\t1\t1\t1\nb\t2\t1\t1\t1\t1\n"),
            "t:2: the submit time is earlier than that of the line before");
  EXPECT_EQ(load_error("swim", "a\tnan\t1\t1\t1\t1\n"), "t:1: the submit time must be a number from 0 to 1000000000, not 'nan'");
  EXPECT_EQ(load_error("swim", ""), "t: no jobs");
  EXPECT_EQ(load_error("swim", "a\t1\t1\t100000000000000000\t1\t1\n", ",block=64K"),
            "t:1: 1525878906250 maps; the setting block= makes them fewer");
  EXPECT_EQ(load_error("swim", std::string("a\0b", 3)), "t:1: not a text file: it holds zero bytes");
  EXPECT_EQ(load_error("swim", std::string(3u << 20, 'x')), "t:1: a line longer than 1.00 MiB");
  EXPECT_THAT(load_error("swim", "", ",blocks=1"), testing::HasSubstr("unknown key 'blocks' (did you mean 'block'?)"));
  EXPECT_THAT(load_error("swim", "", ",block=0"), testing::HasSubstr("must be greater than 0"));
}

TEST(CarbyneLoader, JobsOfOneSecondMayEnterAsInTheAuthorsSimulator) {
  // The orders of a java.util.HashSet of OpenJDK 17: 18 objects at once (32 places), then 7 (16 places).
  Workload workload;
  for (std::size_t i = 0; i < 25; ++i) {
    JobSpec& job = workload.jobs.emplace_back();
    job.name = std::to_string(i);
    job.arrival = std::chrono::seconds(i < 18 ? 0 : 1);
  }
  workload.hash_order = 734;
  ASSERT_TRUE(resize(workload, {}));
  std::vector<std::size_t> order;
  for (const JobSpec& job : workload.jobs) order.push_back(std::stoul(job.name));
  EXPECT_THAT(order, ElementsAre(1, 5, 2, 7, 16, 9, 6, 15, 3, 0, 8, 11, 4, 14, 17, 12, 10, 13, 18, 23, 19, 21, 22, 20, 24));
  const std::string path = sample("carbyne.txt");
  EXPECT_FALSE(load("carbyne:" + path, {})->hash_order);
  EXPECT_EQ(load("carbyne:" + path + ",hash_order=7", {})->hash_order, 7u);
  EXPECT_FALSE(load("carbyne:" + path + ",hash_order=-1", {}));
}

TEST(Resize, TasksThatFailAreInTheSamePlaces) {
  Workload workload;
  StageSpec& stage = workload.jobs.emplace_back().stages.emplace_back();
  stage.tasks = 10;
  stage.failures = {{6, {{std::chrono::seconds(1)}}}};
  ASSERT_TRUE(resize(workload, {.scale = 0.5}));
  EXPECT_EQ(stage.tasks, 5u);
  ASSERT_EQ(stage.failures.size(), 1u);
  EXPECT_EQ(stage.failures.begin()->first, 3u);
  ASSERT_TRUE(resize(workload, {.scale = 2}));
  EXPECT_EQ(stage.failures.size(), 2u) << "as many of them in proportion";
}

TEST(CarbyneLoader, SortsStagesAndScalesDemands) {
  Context context;
  context.machine = {.cpu = 20, .memory = 1000, .disk_read = 100, .network_in = 10, .disk_write = 100, .network_out = 10};
  const Workload workload = loaded("carbyne:" + sample("carbyne.txt"), context);
  ASSERT_EQ(workload.jobs.size(), 2u);
  const JobSpec& job = workload.jobs[0];
  EXPECT_EQ(job.name, "first");
  ASSERT_EQ(job.stages.size(), 3u);
  EXPECT_EQ(job.stages[0].name, "MapA");
  EXPECT_EQ(job.stages[1].name, "MapB");
  EXPECT_EQ(job.stages[2].name, "Reduce");
  EXPECT_THAT(job.stages[2].parents, ElementsAre(0u, 1u));
  EXPECT_EQ(job.stages[2].duration, 1500ms);
  EXPECT_EQ(job.stages[1].tasks, 6u);
  EXPECT_EQ(job.stages[2].demand,
            (schedulers::Resources{.cpu = 0.2 * 20, .memory = 0.1 * 1000, .network_in = 0.3 * 10, .disk_write = 0.4 * 100}));
  EXPECT_EQ(workload.jobs[1].arrival, 7500ms);
}

TEST(CarbyneLoader, StagesOfEqualDepthKeepTheOrderOfTheFile) {
  const auto workload = load_text("carbyne",
                                  "5 0 0\nX 1 1 0 0 0 0 0 1\nA 1 1 0 0 0 0 0 1\nY 1 1 0 0 0 0 0 1\nB 1 1 0 0 0 0 0 1\n"
                                  "C 1 1 0 0 0 0 0 1\n3\nB X ata\nA Y ata\nY C ata\n");
  ASSERT_TRUE(workload.has_value());
  std::string names;
  for (const StageSpec& stage : workload->jobs[0].stages) names += stage.name;
  EXPECT_EQ(names, "ABXYC");
}

TEST(CarbyneLoader, TakesTheLastOfStagesGivenTwice) {
  const auto workload = load_text("carbyne", "2 0 0\nA 1 1 0 0 0 0 0 1\nA 2 1 0 0 0 0 0 3\n0\n");
  ASSERT_TRUE(workload.has_value());
  ASSERT_EQ(workload->jobs[0].stages.size(), 1u);
  EXPECT_EQ(workload->jobs[0].stages[0].tasks, 3u);
  EXPECT_THAT(workload->notes, ElementsAre("1 stages are given twice: the last counts"));
}

TEST(CarbyneLoader, NamesLineAndReason) {
  const std::string stages = "2 0 0\nA 1 1 0 0 0 0 0 1\nB 1 1 0 0 0 0 0 1\n";
  EXPECT_EQ(load_error("carbyne", stages + "2\nA B ata\nB A ata\n"),
            "t:6: job '0' of line 1: stage 'A' would never start: its ancestors form a cycle");
  EXPECT_EQ(load_error("carbyne", stages + "1\nA C ata\n"), "t:5: no stage is called 'C'");
  EXPECT_EQ(load_error("carbyne", "2 0 0\nA 1 1 0 0 0 0 0 1\n"), "t:2: the file ends where stage 2 of 2 was expected");
  EXPECT_EQ(load_error("carbyne", "0 0\n"), "t:1: the number of stages must be a whole number from 1 to 100000, not '0'");
  EXPECT_EQ(load_error("carbyne", "1 0\nA 1 1 0 0 0 0 1\n"), "t:2: a stage has 9 fields, this line 8");
  EXPECT_EQ(load_error("carbyne", "1 0\nA -1 1 0 0 0 0 0 1\n"),
            "t:2: the duration must be a number from 0 to 1000000000, not '-1'");
  EXPECT_EQ(load_error("carbyne", "1 0\nA 1 inf 0 0 0 0 0 1\n"), "t:2: a demand must be a number from 0 to 1000000, not 'inf'");
  EXPECT_EQ(load_error("carbyne", "1 0\nA 1 1 0 0 0 0 0 0\n"),
            "t:2: the number of tasks must be a whole number from 1 to 100000000, not '0'");
  EXPECT_EQ(load_error("carbyne", "1 0 0 0\n"), "t:1: expected 'stages id [arrival]'");
}

TEST(DecimaLoader, TakesTheTimesOfTheNearestExecutors) {
  const Workload workload = loaded("decima:" + sample("decima.jsonl"));
  ASSERT_EQ(workload.jobs.size(), 2u);
  const JobSpec& job = workload.jobs[0];
  EXPECT_EQ(job.name, "q1 2 GB");
  EXPECT_THAT(job.stages[0].durations, ElementsAre(9ms)) << "the parent was the second in the file";
  EXPECT_THAT(job.stages[1].durations, ElementsAre(1s, 2s, 3s));
  EXPECT_THAT(job.stages[1].parents, ElementsAre(0u));
  EXPECT_THAT(workload.jobs[1].stages[0].durations, ElementsAre(10ms, 20ms, 1ms, 10ms, 20ms)) << "used in turn";
  const Workload two = loaded("decima:" + sample("decima.jsonl") + ",executors=3,scale_gb=2");
  ASSERT_EQ(two.jobs.size(), 1u);
  EXPECT_THAT(two.jobs[0].stages[1].durations, ElementsAre(100ms, 200ms, 50ms));
}

TEST(DecimaLoader, NamesLineAndReason) {
  const auto line = [](const std::string& edges, const std::string& stages) {
    return "\n{\"query\":1,\"scale_gb\":2,\"edges\":[" + edges + "],\"stages\":[" + stages + "]}\n";
  };
  const std::string stage = R"({"id":0,"num_tasks":1,"first_wave":{"2":[1]},"rest_wave":{}})";
  EXPECT_EQ(load_error("decima", line("", stage)), "");
  EXPECT_EQ(load_error("decima", line("[0,1]", stage)), "t:2: an edge names stage 1, which is not there");
  EXPECT_EQ(load_error("decima", line("[0,0]", stage)), "t:2: stage 'stage 0' would never start: its ancestors form a cycle");
  EXPECT_EQ(load_error("decima", line("[0]", stage)), "t:2: an edge has two ends");
  EXPECT_EQ(load_error("decima", line("", "")), "t:2: no stages");
  EXPECT_EQ(load_error("decima", line("", R"({"id":0,"num_tasks":0})")), "t:2: num_tasks must be at least 1");
  EXPECT_EQ(load_error("decima", line("", R"({"id":0,"num_tasks":1})")), "t:2: a stage without times in first_wave");
  EXPECT_EQ(load_error("decima", line("", R"({"id":0,"num_tasks":1,"first_wave":{"2":[-1]}})")),
            "t:2: -1 is no time in milliseconds");
  EXPECT_EQ(load_error("decima", line("", R"({"id":0,"num_tasks":1,"first_wave":{"2":[1})")), "t:2: ',' was expected, not '}'");
}

TEST(CoflowLoader, PinsTasksToPorts) {
  const Workload workload = loaded("coflow:" + sample("coflow.txt"));
  ASSERT_EQ(workload.hosts.size(), 4u);
  EXPECT_EQ(workload.hosts[3].name, "port-3");
  ASSERT_EQ(workload.jobs.size(), 2u);
  const JobSpec& job = workload.jobs[0];
  EXPECT_THAT(job.stages[0].hosts, ElementsAre(ElementsAre("port-0"), ElementsAre("port-3")));
  EXPECT_THAT(job.stages[1].hosts, ElementsAre(ElementsAre("port-1"), ElementsAre("port-2")));
  EXPECT_THAT(job.stages[0].partition_weights, ElementsAre(1.0, 3.5));
  EXPECT_EQ(job.stages[0].shuffle_bytes, 4'500'000u);
  EXPECT_EQ(workload.jobs[1].arrival, 1500ms);
}

TEST(CoflowLoader, NamesLineAndReason) {
  EXPECT_EQ(load_error("coflow", ""), "t:1: the file is empty; its first line has the numbers of ports and coflows");
  EXPECT_EQ(load_error("coflow", "4 2\n1 0 1 0 1 1:5\n"), "t:2: the file ends after 1 of 2 coflows");
  EXPECT_EQ(load_error("coflow", "4 1\n1 0 1 4 1 1:5\n"), "t:2: a mapper's port must be a whole number from 0 to 3, not '4'");
  EXPECT_EQ(load_error("coflow", "4 1\n1 0 1 0 1 1-5\n"), "t:2: expected port:MB, not '1-5'");
  EXPECT_EQ(load_error("coflow", "4 1\n1 0 2 0\n"), "t:2: the line ends where a mapper's port was expected");
  EXPECT_EQ(load_error("coflow", "4 1\n1 0 1 0 1 1:5 2:5\n"), "t:2: '2:5' is too much");
  EXPECT_EQ(load_error("coflow", "4 1\n1 0 1 0 1 1:5\n2 0 1 0 1 1:5\n"), "t:3: more than the 1 coflows announced");
}

TEST(RumenLoader, TakesSuccessfulAttempts) {
  const Workload workload = loaded("rumen:" + sample("rumen.json"));
  ASSERT_EQ(workload.jobs.size(), 2u);
  EXPECT_EQ(workload.jobs[0].name, "job_2") << "submitted first";
  EXPECT_EQ(workload.jobs[0].stages[0].output_bytes, 9u);
  const JobSpec& job = workload.jobs[1];
  EXPECT_EQ(job.arrival, 1s);
  EXPECT_EQ(job.options.user, "ann");
  EXPECT_EQ(job.options.pool, "default");
  EXPECT_EQ(job.options.priority, 1);
  ASSERT_EQ(job.stages.size(), 2u);
  EXPECT_THAT(job.stages[0].durations, ElementsAre(2s, 2s)) << "the mean where nothing is known";
  EXPECT_THAT(job.stages[0].hosts, ElementsAre(ElementsAre("h.1", "h2"), IsEmpty()));
  EXPECT_EQ(job.stages[0].input_bytes, 64u);
  EXPECT_EQ(job.stages[0].shuffle_bytes, 30u);
  EXPECT_THAT(job.stages[1].durations, ElementsAre(3s)) << "after the end of its shuffle";
  EXPECT_EQ(job.stages[1].output_bytes, 7u);
  ASSERT_EQ(workload.hosts.size(), 3u);
  EXPECT_EQ(workload.hosts[0].rack, "r.1");
  EXPECT_EQ(workload.hosts[2].name, "h3");
  EXPECT_THAT(workload.notes,
              ElementsAre("1 jobs without tasks are left out", "1 tasks without a known time take the mean of their stage"));
}

TEST(RumenLoader, TakesHostsFromATopology) {
  const Workload workload = loaded("rumen:" + sample("rumen.json") + ",topology=" + sample("rumen_topology.json"));
  ASSERT_EQ(workload.hosts.size(), 3u);
  EXPECT_EQ(workload.hosts[0].name, "h.1");
  EXPECT_EQ(workload.hosts[0].rack, "r1");
  EXPECT_EQ(workload.hosts[2].rack, "r2");
}

TEST(RumenLoader, NamesLineAndReason) {
  EXPECT_EQ(load_error("rumen", "\n[1]"), "t:2: '{' was expected, not '['");
  EXPECT_EQ(load_error("rumen", "{\"jobID\":\"a\",\n\"mapTasks\":[\n"),
            "t:2: the file ends within the object that begins in line 1");
  EXPECT_EQ(load_error("rumen", "{\"jobID\":\"a\",\n\"mapTasks\":[]}"), "t:2: job 'a' has no submitTime");
  EXPECT_EQ(load_error("rumen", "{\"submitTime\":1}\n{\"submitTime\":\n\"x\"}"), "t:3: a number was expected");
  EXPECT_EQ(load_error("rumen", "{\"submitTime\":1,\"priority\":\"URGENT\"}"), "t:1: 'URGENT' is no priority");
  EXPECT_EQ(load_error("rumen", "{\"submitTime\":1,\"reduceTasks\":[{}]}"), "t:1: job '' has reduces but no maps");
}

TEST(AlibabaLoader, ReadsTheDagFromNames) {
  Context context;
  context.machine.memory = 1000;
  const Workload workload = loaded("alibaba:" + sample("alibaba.csv"), context);
  ASSERT_EQ(workload.jobs.size(), 2u);
  const JobSpec& job = workload.jobs[1];
  EXPECT_EQ(job.name, "j_2");
  EXPECT_EQ(job.arrival, 480s);
  ASSERT_EQ(job.stages.size(), 3u);
  EXPECT_EQ(job.stages[0].name, "M1");
  EXPECT_EQ(job.stages[0].duration, 8500ms) << "as measured";
  EXPECT_EQ(job.stages[1].duration, 10s) << "from start to end";
  EXPECT_EQ(job.stages[2].duration, 25500ms) << "the mean";
  EXPECT_THAT(job.stages[2].parents, ElementsAre(0u, 1u));
  EXPECT_EQ(job.stages[2].tasks, 4u);
  EXPECT_DOUBLE_EQ(job.stages[2].demand.cpu, 0.5);
  EXPECT_DOUBLE_EQ(job.stages[2].demand.memory, 2);
  const JobSpec& cut = workload.jobs[0];
  EXPECT_EQ(cut.arrival, 90s);
  for (const StageSpec& stage : cut.stages) EXPECT_EQ(stage.duration, 60s) << stage.name;
  EXPECT_THAT(workload.notes, ElementsAre("2 stages had not ended with the trace: they take the mean of their job",
                                          "1 references to tasks that the file lacks are ignored"));
}

TEST(AlibabaLoader, NamesLineAndReason) {
  const std::string head =
      "job,task_name,instances,status,start_time,end_time,mean_instance_duration,actual_duration,cpu_requested,mem_requested\n";
  EXPECT_EQ(load_error("alibaba", head + "j,M1,1,Terminated,1,2,1,,100,1\n"), "");
  EXPECT_EQ(load_error("alibaba", "job,task_name\n"), "t:1: no column is called instances");
  EXPECT_EQ(load_error("alibaba", head + "j,M1,1\n"), "t:2: 3 fields, but the heading has 10");
  EXPECT_EQ(load_error("alibaba", head + "j,M1,1.5,Terminated,1,2,1,,100,1\n"),
            "t:2: instances must be a whole number of at least 1");
  EXPECT_EQ(load_error("alibaba", head + "j,M1_2,1,Terminated,1,2,1,,100,1\nj,M2_1,1,Terminated,1,2,1,,100,1\n"),
            "t:3: job 'j' of line 2: stage 'M1_2' would never start: its ancestors form a cycle");
  EXPECT_EQ(load_error("alibaba", head + "j,M1,1,Terminated,1,2,1,,100,1\nj,R1,1,Terminated,1,2,1,,100,1\n"),
            "t:3: the job has two tasks with the number 1");
  EXPECT_EQ(load_error("alibaba",
                       head + "j,M1,1,Terminated,1,2,1,,100,1\nk,M1,1,Terminated,1,2,1,,100,1\nj,M2,1,Terminated,1,2,1,,100,1\n"),
            "t:4: job 'j' was interrupted by others: sort the rows");
  EXPECT_EQ(load_error("alibaba", head + "j,M1,1,Terminated,x,2,1,,100,1\n"),
            "t:2: start_time must be a number from 0 to 1000000000, not 'x'");
}

TEST(Load, NamesUnknownKindsAndMissingFiles) {
  EXPECT_THAT(load("hdfs:x", {}).error().to_string(), testing::HasSubstr("'hdfs' is no kind of workload; there are jobs, swim"));
  EXPECT_THAT(load("swim:/nonexistent/file", {}).error().to_string(),
              testing::HasSubstr("cannot read /nonexistent/file: No such file"));
  EXPECT_THAT(load("swim:/tmp", {}).error().to_string(), testing::HasSubstr("cannot read /tmp: Is a directory"));
  EXPECT_THAT(load("swim", {}).error().to_string(), testing::HasSubstr("write KIND:FILE"));
}

TEST(Load, DrawsJobsAndArrivals) {
  const std::string text = "carbyne:" + sample("carbyne.txt") + ",sample=200,gap=10s,seed=";
  const Workload first = loaded(text + "3"), same = loaded(text + "3"), other = loaded(text + "4");
  ASSERT_EQ(first.jobs.size(), 200u);
  const auto arrivals = [](const Workload& workload) {
    std::vector<Time> result;
    for (const auto& job : workload.jobs) result.push_back(job.arrival);
    return result;
  };
  EXPECT_EQ(arrivals(first), arrivals(same));
  EXPECT_NE(arrivals(first), arrivals(other));
  EXPECT_NEAR(figures_of(first).mean_gap, 10, 2.5);
}

TEST(Resize, KeepsTheFirstJobsOfTheFileWhicheverArriveFirst) {
  Workload workload;
  for (const auto& [name, arrival] :
       {std::pair("late", 3s), std::pair("early", 1s), std::pair("earliest", 0s), std::pair("as early", 1s)}) {
    JobSpec& job = workload.jobs.emplace_back();
    job.name = name;
    job.arrival = arrival;
  }
  const auto kept = [&](std::size_t limit) {
    Workload copy = workload;
    EXPECT_TRUE(resize(copy, {1, 1, limit}).has_value());
    std::vector<std::string> names;
    for (const auto& job : copy.jobs) names.push_back(job.name);
    return names;
  };
  EXPECT_THAT(kept(2), ElementsAre("early", "late"));
  EXPECT_THAT(kept(0), ElementsAre("earliest", "early", "as early", "late"));
}

TEST(Resize, ScalesTasksBytesAndArrivals) {
  Workload workload = loaded("rumen:" + sample("rumen.json"));
  ASSERT_TRUE(resize(workload, {2, 0.5, 0}).has_value());
  const JobSpec& job = workload.jobs[1];
  EXPECT_EQ(job.arrival, 500ms);
  EXPECT_EQ(job.stages[0].tasks, 4u);
  EXPECT_EQ(job.stages[0].durations.size(), 4u);
  EXPECT_THAT(job.stages[0].hosts, ElementsAre(ElementsAre("h.1", "h2"), ElementsAre("h.1", "h2"), IsEmpty(), IsEmpty()));
  EXPECT_EQ(job.stages[0].input_bytes, 128u);
  EXPECT_EQ(job.stages[0].partition_weights.size(), job.stages[1].tasks);
  ASSERT_TRUE(resize(workload, {0.01, 1, 1}).has_value());
  ASSERT_EQ(workload.jobs.size(), 1u);
  EXPECT_EQ(workload.jobs[0].stages[0].tasks, 1u);
  EXPECT_FALSE(resize(workload, {0, 1, 0}).has_value());
  EXPECT_FALSE(resize(workload, {1, -1, 0}).has_value());
}

}  // namespace
}  // namespace weft::simulator::workloads
