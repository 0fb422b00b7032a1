// The REST interface of a real master: what it answers is what the commands print, and what it is told happens.
#include <algorithm>
#include <chrono>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster/cluster.hpp"
#include "tests/support/event_lines.hpp"
#include "tests/support/http_connection.hpp"

namespace weft {
namespace {

using test::Cluster;
using test::has;
using test::http;
using test::HttpAnswer;

/// Where the master says that its page is.
std::string page_of(Cluster& cluster) {
  std::string address;
  EXPECT_TRUE(test::eventually([&] {
    const std::string out = cluster.master().out_so_far();
    const std::string before = "page is at http://";
    const std::size_t at = out.find(before);
    if (at == std::string::npos) return false;
    address = out.substr(at + before.size(), out.find('/', at + before.size()) - at - before.size());
    return true;
  })) << cluster.master().out_so_far();
  return address;
}

/// Times and measurements differ from one moment to the next.
std::string without_moments(const std::string& json) {
  static const std::regex moment(
      "\"(heard_seconds_ago|submitted_seconds_ago|seconds|cpu|memory|disk_[a-z]+|network_[a-z]+|clock_ahead_seconds|speed)\":[-0-9."
      "e+]+");
  return std::regex_replace(json, moment, "\"$1\":_");
}

class Rest : public testing::Test {
 protected:
  HttpAnswer get(const std::string& path) { return http(address_, "GET", "/api/v1" + path); }
  /// What the command prints is what the interface answers, if not at once then soon: two questions are never at one moment.
  void expect_same(const std::string& path, const std::vector<std::string>& command) {
    std::string answered, printed;
    EXPECT_TRUE(test::eventually([&] {
      auto words = command;
      words.push_back("--json");
      printed = without_moments(cluster_.admin(words).out);
      answered = without_moments(get(path).body);
      return printed == answered && !printed.empty();
    })) << path
        << "\n"
        << printed << answered;
  }

  Cluster cluster_{2, {"--http", "127.0.0.1:0", "--scheduler", "fair"}};
  std::string address_ = page_of(cluster_);
};

TEST_F(Rest, AnswersAreWhatTheCommandsPrint) {
  const auto run = test::run(cluster_.job({"sums", "--records", "1000"}), cluster_.options());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  expect_same("/jobs", {"job", "list"});
  expect_same("/jobs/1", {"job", "status", "1"});
  expect_same("/jobs/1/counters", {"job", "counters", "1"});
  expect_same("/jobs/1/explain", {"job", "explain", "1"});
  expect_same("/jobs/1/logs?bytes=1000", {"job", "logs", "1", "--bytes", "1000"});
  expect_same("/masters", {"masters"});
  expect_same("/nodes", {"node", "list"});
  expect_same("/racks", {"node", "list", "--racks"});
  expect_same("/pools", {"pool", "list"});
  expect_same("/queues", {"queue", "list"});
  expect_same("/scheduler", {"scheduler", "show"});
  EXPECT_EQ(get("/jobs/2").status, 404);
  EXPECT_EQ(get("/files").status >= 400, true);  // this master keeps none
  EXPECT_EQ(http(address_, "HEAD", "/api/v1/jobs").status, 200);
}

TEST_F(Rest, SchedulersAndCapacitiesAreSet) {
  const auto used = http(address_, "POST", "/api/v1/scheduler", "", "{\"scheduler\":\"srtf\"}");
  EXPECT_EQ(used.status, 200) << used.body;
  EXPECT_TRUE(has(cluster_.admin({"scheduler", "show"}).out, "scheduler srtf"));
  const auto wrong = http(address_, "POST", "/api/v1/scheduler", "", "{\"scheduler\":\"no such\"}");
  EXPECT_EQ(wrong.status, 400) << wrong.body;
  EXPECT_EQ(http(address_, "POST", "/api/v1/scheduler/reload", "X-Weft: 1\r\n").status, 200);
  const auto set = http(address_, "POST", "/api/v1/nodes/w1/capacity", "", "{\"capacity\":\"slots=1\",\"reason\":\"as asked\"}");
  EXPECT_EQ(set.status, 200) << set.body;
  EXPECT_TRUE(test::eventually([&] { return has(cluster_.admin({"node", "list"}).out, "as asked"); }));
  EXPECT_GE(http(address_, "POST", "/api/v1/nodes/nobody/capacity", "", "{\"capacity\":\"slots=1\"}").status, 400);
}

TEST_F(Rest, JobsAreKilledButNotByPagesOfOthers) {
  test::Process job(cluster_.job({"wait", "--records", "1000000", "--marker", cluster_.scratch() / "begun"}), cluster_.options());
  ASSERT_TRUE(test::eventually([&] { return has(get("/jobs").body, "\"state\":\"running\""); })) << job.err_so_far();
  EXPECT_EQ(http(address_, "DELETE", "/api/v1/jobs/1").status, 403);
  EXPECT_EQ(http(address_, "DELETE", "/api/v1/jobs/1", "X-Weft: 1\r\nOrigin: http://evil.example\r\n").status, 403);
  EXPECT_TRUE(has(get("/jobs").body, "\"state\":\"running\""));
  const auto killed = http(address_, "DELETE", "/api/v1/jobs/1?reason=enough%20of%20it", "X-Weft: 1\r\n");
  EXPECT_EQ(killed.status, 200);
  EXPECT_EQ(killed.body, "{\"id\":1,\"killed\":true}\n");
  EXPECT_TRUE(has(job.wait().err, "enough of it"));
  EXPECT_TRUE(has(get("/jobs/1").body, "\"state\":\"killed\""));
}

TEST_F(Rest, ChangesAreSentToWhoWatches) {
  test::HttpConnection watcher(address_);
  ASSERT_TRUE(watcher.send("GET /api/v1/events?watch=/jobs,/nodes HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  ASSERT_TRUE(watcher.read_until("event: /jobs\ndata: []"));
  ASSERT_TRUE(watcher.read_until("\"name\":\"w2\""));
  const auto run = test::run(cluster_.job({"sums", "--records", "1000"}), cluster_.options());
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(watcher.read_until("\"state\":\"finished\"", std::chrono::seconds(30))) << watcher.got();
}

TEST_F(Rest, MetricsAreServed) {
  const auto metrics = http(address_, "GET", "/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_TRUE(has(metrics.head, "application/openmetrics-text"));
  EXPECT_TRUE(has(metrics.body, "weft_workers{state=\"ready\"} 2\n")) << metrics.body;
  EXPECT_TRUE(has(metrics.body, "weft_waiting_tasks 0\n")) << metrics.body;
  EXPECT_TRUE(metrics.body.ends_with("# EOF\n"));
  EXPECT_EQ(http(address_, "GET", "/healthz").status, 200);
  EXPECT_EQ(http(address_, "GET", "/readyz").body, "ok\n");
}

TEST_F(Rest, WorkersServeTheirOwn) {
  test::Process& worker = cluster_.add_worker({"--http", "127.0.0.1:0"});
  ASSERT_TRUE(cluster_.has_nodes(3));
  const std::string out = worker.out_so_far();
  const std::size_t at = out.find("http://"), end = out.find("/metrics", at);
  ASSERT_NE(end, std::string::npos) << out;
  const std::string address = out.substr(at + 7, end - at - 7);
  EXPECT_TRUE(test::eventually([&] { return has(http(address, "GET", "/metrics").body, "weft_self_memory_bytes "); }));
  EXPECT_EQ(http(address, "GET", "/api/v1/jobs").status, 404);
  EXPECT_EQ(http(address, "GET", "/healthz").body, "ok\n");
  EXPECT_EQ(http(address, "GET", "/readyz").body, "ok\n");
  cluster_.master().signal(SIGTERM);
  cluster_.master().wait();
  EXPECT_TRUE(test::eventually([&] { return http(address, "GET", "/readyz").status == 503; }));
  EXPECT_EQ(http(address, "GET", "/healthz").status, 200) << "it waits for a master, and that is no reason to end it";
}

TEST_F(Rest, TheMasterEndsInGoodOrderWhileSomebodyWatches) {
  test::HttpConnection watcher(address_);
  ASSERT_TRUE(watcher.send("GET /api/v1/events?watch=/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  ASSERT_TRUE(watcher.read_until("event: /jobs"));
  for (int i = 0; i < 2; ++i) cluster_.worker(static_cast<std::size_t>(i)).signal(SIGTERM);
  cluster_.master().signal(SIGTERM);
  EXPECT_EQ(cluster_.master().wait().exit_code, 0);
}

TEST(RestAddress, APortInUseFailsOnlyIfItWasAskedFor) {
  Cluster first(0, {"--http", "127.0.0.1:0"});
  const std::string taken = page_of(first);
  const auto second = test::run({test::program("weft"), "master", "--listen", "127.0.0.1:0", "--http", taken});
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_TRUE(has(second.err, taken) && test::one_line(second.err)) << second.err;
  const auto wrong = test::run({test::program("weft"), "master", "--listen", "127.0.0.1:0", "--http", "nonsense"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_TRUE(test::one_line(wrong.err)) << wrong.err;
  Cluster quiet(0, {"--http", "none"});
  EXPECT_FALSE(has(quiet.master().out_so_far(), "page"));
}

TEST(RestDocument, IsTheOneThatIsServed) {
  Cluster cluster(0, {"--http", "127.0.0.1:0"});
  const auto served = http(page_of(cluster), "GET", "/api/v1/openapi.json");
  EXPECT_EQ(served.body, test::read_file(std::string(WEFT_SOURCE_DIR) + "/docs/openapi.json"))
      << "write what is served to docs/openapi.json";
}

TEST(RestFiles, AndTablesAreWhatTheCommandsPrint) {
  test::ScratchDirectory data;
  Cluster cluster(0, {"--http", "127.0.0.1:0", "--data-dir", data / "names"});
  cluster.add_worker({"--chunk-dir", data / "chunks"});
  ASSERT_TRUE(cluster.has_nodes(1));
  const std::string address = page_of(cluster);
  test::write_file(data / "words", "one two\n");
  ASSERT_EQ(cluster.admin({"fs", "put", "--replication", "1", data / "words", "/a file"}).exit_code, 0);
  ASSERT_EQ(cluster.admin({"table", "create", "users", "--partitions", "2", "--replication", "1"}).exit_code, 0);
  const auto same = [&](const std::string& path, std::vector<std::string> command) {
    command.push_back("--json");
    std::string served, printed;
    const bool are = test::eventually([&] {  // heartbeats may bring sizes between the two
      served = http(address, "GET", "/api/v1" + path).body, printed = cluster.admin(command).out;
      return served == printed;
    });
    EXPECT_TRUE(are) << path << ":\n" << served << "\n" << printed;
  };
  same("/files", {"fs", "ls", "/"});
  same("/files?path=/a%20file", {"fs", "ls", "/a file"});
  same("/tables", {"table", "list"});
  same("/tables/users", {"table", "stat", "users"});
  EXPECT_EQ(http(address, "GET", "/api/v1/files?path=/none").status, 404);
  EXPECT_EQ(http(address, "GET", "/api/v1/tables/none").status, 404);
  EXPECT_TRUE(has(http(address, "GET", "/api/v1/files/report").body, "\"files\":1"));
  EXPECT_EQ(http(address, "POST", "/api/v1/nodes/w1/drain", "X-Weft: 1\r\n").status, 200);
  EXPECT_TRUE(has(http(address, "GET", "/api/v1/files/report").body, "\"draining\":true"));
  EXPECT_EQ(http(address, "DELETE", "/api/v1/nodes/w1/drain", "X-Weft: 1\r\n").status, 200);
  EXPECT_TRUE(has(http(address, "GET", "/api/v1/files/report").body, "\"draining\":false"));
  EXPECT_TRUE(has(http(address, "GET", "/metrics").body, "weft_files 1\n"));
}

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(RestHistory, TasksAndTracesCountWhatTheLogHas) {
  test::ScratchDirectory files;
  Cluster cluster(2, {"--http", "127.0.0.1:0", "--event-log", files / "log"});
  const std::string address = page_of(cluster);
  const auto run = test::run(cluster.job({"sums", "--records", "1000", "--tasks", "12"}), cluster.options());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  test::EventLines log(files / "log");
  const std::size_t launched = log.count("task_launched", {"\"job\":1,"}), finished = log.count("task_finished", {"\"job\":1,"});
  ASSERT_GT(finished, 12u);
  const auto tasks = http(address, "GET", "/api/v1/jobs/1/tasks").body;
  EXPECT_TRUE(has(tasks, "{\"total\":" + std::to_string(launched) + ",")) << tasks;
  EXPECT_EQ(times(tasks, "\"fate\":\"finished\""), finished);
  const auto weft = [&](std::vector<std::string> words) {
    words.insert(words.begin(), test::program("weft"));
    return test::run(words);
  };
  ASSERT_EQ(weft({"job", "trace", "1", "--event-log", files / "log", "-o", files / "trace.json"}).exit_code, 0);
  const std::string trace = test::read_file(files / "trace.json");
  EXPECT_EQ(trace, weft({"job", "trace", "1", "--event-log", files / "log"}).out);
  EXPECT_EQ(trace, http(address, "GET", "/api/v1/jobs/1/trace").body);
  EXPECT_EQ(times(trace, "\"cat\":\"finished\""), finished);
  EXPECT_EQ(times(trace, "\"ph\":\"s\""), times(trace, "\"ph\":\"f\""));
  const auto diagnosed = weft({"job", "diagnose", "1", "--event-log", files / "log"});
  EXPECT_EQ(diagnosed.exit_code, 0) << diagnosed.err;
  EXPECT_FALSE(has(diagnosed.out, "failed")) << diagnosed.out;  // on a busy machine it may have waited, or a worker been slow
  EXPECT_EQ(weft({"job", "diagnose", "1", "--event-log", files / "log", "--json"}).out,
            http(address, "GET", "/api/v1/jobs/1/findings").body);
  EXPECT_EQ(http(address, "GET", "/api/v1/jobs/2/tasks").status, 404);
  EXPECT_EQ(http(address, "GET", "/api/v1/jobs/1/tasks?count=1000000").status, 400);
  EXPECT_EQ(http(address, "GET", "/api/v1/jobs/1/tasks?fate=finished&stage=4294967295").status, 200);
  const auto misspelled = http(address, "GET", "/api/v1/jobs/1/tasks?fate=faild");
  EXPECT_EQ(misspelled.status, 400);
  EXPECT_TRUE(has(misspelled.body, "fate is running, finished, failed, killed or lost")) << misspelled.body;
  const auto too_large = http(address, "GET", "/api/v1/jobs/1/tasks?stage=4294967296");
  EXPECT_EQ(too_large.status, 400);
  EXPECT_TRUE(has(too_large.body, "stage is at most 4294967295")) << too_large.body;
  for (const auto& wrong : std::vector<std::vector<std::string>>{{"job", "trace", "9", "--event-log", files / "log"},
                                                                 {"job", "trace", "1", "--event-log", files / "none"},
                                                                 {"job", "trace", "one", "--event-log", files / "log"}}) {
    const auto refused = weft(wrong);
    EXPECT_NE(refused.exit_code, 0);
    EXPECT_TRUE(test::one_line(refused.err)) << refused.err;
  }
}

TEST(RestHistory, EveryMasterKeepsOne) {
  Cluster cluster(2, {"--http", "127.0.0.1:0"});
  const auto run = test::run(cluster.job({"sums", "--records", "1000", "--tasks", "12"}), cluster.options());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::string address = page_of(cluster);
  EXPECT_TRUE(has(http(address, "GET", "/api/v1/jobs/1/tasks").body, "\"fate\":\"finished\""));
  EXPECT_EQ(cluster.admin({"job", "diagnose", "1", "--json"}).out, http(address, "GET", "/api/v1/jobs/1/findings").body);
  EXPECT_EQ(cluster.admin({"job", "trace", "1"}).out, http(address, "GET", "/api/v1/jobs/1/trace").body);
  const auto unknown = cluster.admin({"job", "diagnose", "2"});
  EXPECT_NE(unknown.exit_code, 0);
  EXPECT_TRUE(test::one_line(unknown.err) && has(unknown.err, "has no job 2")) << unknown.err;
}

TEST(RestHistory, HasTheJobsOfEarlierMastersOnItsDirectory) {
  test::ScratchDirectory files;
  const std::vector<std::string> options{"--http", "127.0.0.1:0", "--data-dir", files / "data"};
  const std::vector<std::string> job{"sums", "--records", "1000", "--tasks", "12"};
  std::string before;
  {
    Cluster cluster(2, options);
    ASSERT_EQ(test::run(cluster.job(job), cluster.options()).exit_code, 0);
    before = http(page_of(cluster), "GET", "/api/v1/jobs/1/trace").body;
  }
  EXPECT_TRUE(has(before, "\"cat\":\"finished\"")) << before;
  Cluster cluster(2, options);
  ASSERT_EQ(test::run(cluster.job(job), cluster.options()).exit_code, 0);
  const std::string address = page_of(cluster);
  EXPECT_TRUE(http(address, "GET", "/api/v1/jobs/1/trace").body == before);
  EXPECT_TRUE(has(http(address, "GET", "/api/v1/jobs/2/trace").body, "\"cat\":\"finished\""));
  EXPECT_EQ(http(address, "GET", "/api/v1/jobs/3/trace").status, 404);
  EXPECT_TRUE(cluster.admin({"job", "trace", "1"}).out == before);
  EXPECT_TRUE(test::run({test::program("weft"), "job", "trace", "1", "--event-log", files / "data/history/events"}).out == before);
}

TEST(RestHistory, OrNoneWhenThatIsSaid) {
  Cluster cluster(1, {"--http", "127.0.0.1:0", "--event-log", "none"});
  ASSERT_EQ(test::run(cluster.job({"sums", "--records", "100"}), cluster.options()).exit_code, 0);
  EXPECT_TRUE(has(http(page_of(cluster), "GET", "/api/v1/jobs/1/tasks").body, "--event-log none"));
  const auto refused = cluster.admin({"job", "diagnose", "1"});
  EXPECT_TRUE(test::one_line(refused.err) && has(refused.err, "--event-log none")) << refused.err;
}

/// The members of that name, in their order, as written.
std::vector<std::string> members(const std::string& json, const std::string& names) {
  std::vector<std::string> found;
  const std::regex member("\"(" + names + ")\":(\"[^\"]*\"|[-0-9.e+]+)");
  for (std::sregex_iterator at(json.begin(), json.end(), member), end; at != end; ++at) found.push_back(at->str());
  return found;
}

TEST(RestHistory, ALogTellsWhatItsMasterTold) {
  test::ScratchDirectory files;
  std::string live, counters;
  {
    Cluster cluster(2, {"--http", "none", "--event-log", files / "log"});
    ASSERT_EQ(test::run(cluster.job({"sums", "--records", "5000", "--tasks", "12"}), cluster.options()).exit_code, 0);
    EXPECT_NE(test::run(cluster.job({"throw"}), cluster.options()).exit_code, 0);
    live = cluster.admin({"job", "status", "1", "--json"}).out + cluster.admin({"job", "status", "2", "--json"}).out;
    counters = cluster.admin({"job", "counters", "1", "--json"}).out;
  }
  test::Process past({test::program("weft"), "history", files / "log", "--http", "127.0.0.1:0"}, {.daemon = true});
  std::string address;
  ASSERT_TRUE(test::eventually([&] {
    const std::string out = past.out_so_far();
    const std::size_t at = out.find("http://"), end = out.find("/jobs", at);
    if (end == std::string::npos) return false;
    address = out.substr(at + 7, end - at - 7);
    return true;
  })) << past.err_so_far();
  const std::string told = http(address, "GET", "/api/v1/jobs/1").body + http(address, "GET", "/api/v1/jobs/2").body;
  const std::string same =
      "id|name|user|pool|state|error|seconds|began_seconds|first|retried|killed|lost|total|min|median|p95|max|priority|weight|"
      "tasks|finished|running|input_bytes|input_records|shuffle_bytes|"
      "failed_attempts|speculative_attempts|mean_task_seconds|read|shuffle|compute|write|cpu|peak_task_memory_bytes";
  EXPECT_EQ(members(told, same), members(live, same)) << told << live;
  EXPECT_EQ(http(address, "GET", "/api/v1/jobs/1/counters").body, counters);
  EXPECT_EQ(times(http(address, "GET", "/api/v1/jobs").body, "\"id\":"), 2u);
  EXPECT_EQ(http(address, "GET", "/api/v1/jobs/3").status, 404);
  EXPECT_EQ(http(address, "GET", "/api/v1/scheduler").status, 404);
  EXPECT_EQ(http(address, "GET", "/jobs/1").status, 200);
  EXPECT_EQ(http(address, "DELETE", "/api/v1/jobs/1", "X-Weft: 1\r\n").status, 404);
  past.signal(SIGTERM);
  EXPECT_EQ(past.wait().exit_code, 0);
}

/// Where the job says its page is.
std::string page_of_job(test::Process& job) {
  std::string address;
  EXPECT_TRUE(test::eventually([&] {
    const std::string said = job.err_so_far();
    const std::size_t at = said.find("page at http://"), end = said.find("/jobs\n", at);
    if (at == std::string::npos || end == std::string::npos) return false;
    address = said.substr(at + 15, end - at - 15);
    return true;
  })) << job.err_so_far();
  return address;
}

TEST(PageOfAJob, IsThereWhileItRunsAndShowsWhatItDoes) {
  test::ScratchDirectory files;
  for (const std::vector<std::string>& where : {std::vector<std::string>{"--threads", "2"}, {"--workers", "2", "--threads", "1"}}) {
    std::vector<std::string> command{
        test::program("cluster_probe"), "wait", "--records", "100000", "--tasks", "2", "--marker", files / "mark", "--http", "0"};
    command.insert(command.end(), where.begin(), where.end());
    test::Process job(command);
    const std::string address = page_of_job(job);
    EXPECT_TRUE(address.starts_with("127.0.0.1:")) << address;
    EXPECT_TRUE(test::eventually([&] { return has(http(address, "GET", "/api/v1/jobs/1/tasks").body, "\"total\":2,"); }));
    EXPECT_TRUE(has(http(address, "GET", "/api/v1/jobs").body, "\"state\":\"running\""));
    EXPECT_EQ(http(address, "GET", "/jobs/1").status, 200);
    std::vector<std::string> second = command;
    std::replace(second.begin(), second.end(), std::string("0"), address);
    const auto refused = test::run(second);
    EXPECT_EQ(refused.exit_code, 1) << refused.err;
    EXPECT_TRUE(has(refused.err, "--http " + address) && has(refused.err, "in use")) << refused.err;
    job.signal(SIGTERM);
    EXPECT_NE(job.wait().exit_code, 0);
    EXPECT_EQ(http(address, "GET", "/jobs/1").status, 0) << "it is gone with the job";
  }
}

TEST(PageOfAJob, WrongAddressesAreRefusedInOneLine) {
  for (const char* wrong : {"", "x", "127.0.0.1", "127.0.0.1:99999", ":80", "-1"}) {
    const auto refused = test::run({test::program("cluster_probe"), "noop", "--http", wrong});
    EXPECT_EQ(refused.exit_code, 2) << wrong;
    EXPECT_TRUE(test::one_line(refused.err)) << refused.err;
  }
}

TEST(RestHistory, DiagnoseNamesWhatWasDoneToAJob) {
  test::ScratchDirectory files;
  Cluster cluster(2, {"--http", "none", "--event-log", files / "log"});
  const auto thrown = test::run(cluster.job({"throw"}), cluster.options());
  ASSERT_NE(thrown.exit_code, 0);
  const auto diagnosed = test::run({test::program("weft"), "job", "diagnose", "1", "--event-log", files / "log"});
  EXPECT_TRUE(diagnosed.out.starts_with("user_code: ")) << diagnosed.out;
}

}  // namespace
}  // namespace weft
