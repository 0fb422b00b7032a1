// Jobs and the command line on files of HDFS: that of the tests (tests/storage/hdfs_server.py), and Hadoop's own MiniDFSCluster
// where WEFT_HDFS_LIB names the directory of its jars (scripts/test --integration).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>

#include "tests/cluster/store_jobs.hpp"
#include "tests/reference/reference.hpp"
#include "tests/storage/hdfs_service.hpp"

namespace weft::test {
namespace {

/// A NameNode and three datanodes in one process; a block is 1 MiB and has two replicas.
class MiniDfs {
 public:
  explicit MiniDfs(const std::string& jars) {
    const std::vector<std::string> settings{"dfs.replication=2", "dfs.blocksize=1048576",
                                            "dfs.namenode.fs-limits.min-block-size=65536"};
    std::vector<std::string> command{"java",
                                     "-Xmx512m",
                                     "-XX:TieredStopAtLevel=1",
                                     "-XX:+UseSerialGC",
                                     "--add-opens",
                                     "java.base/java.lang=ALL-UNNAMED",
                                     "-Dtest.build.data=" + (scratch_ / "data"),
                                     "-Dhadoop.log.dir=" + scratch_.path(),
                                     "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                                     "-cp",
                                     jars + "/*",
                                     "org.apache.hadoop.test.MiniDFSClusterManager",
                                     "-datanodes",
                                     "3",
                                     "-format",
                                     "-httpport",
                                     "0",
                                     "-nnport",
                                     "0"};
    for (const std::string& setting : settings) command.insert(command.end(), {"-D", setting});
    command.insert(command.end(), {"-writeConfig", scratch_ / "conf.xml", "-writeDetails", scratch_ / "details.json"});
    process_ = std::make_unique<Process>(command, ProcessOptions{.deadline = std::chrono::seconds(900), .may_die = true});
    const auto written = [&] { return !process_->running() || !read_file(scratch_ / "details.json").empty(); };
    EXPECT_TRUE(eventually(written, std::chrono::seconds(300)) && process_->running()) << process_->err_so_far();
    const std::string conf = read_file(scratch_ / "conf.xml"), key = "<name>dfs.namenode.http-address</name><value>";
    const auto at = conf.find(key);
    EXPECT_NE(at, std::string::npos);
    if (at != std::string::npos) address_ = conf.substr(at + key.size(), conf.find('<', at + key.size()) - at - key.size());
    const std::string details = read_file(scratch_ / "details.json");
    rpc_ = details.substr(details.find(':') + 1);
    rpc_.resize(std::min(rpc_.find_first_not_of("0123456789"), rpc_.size()));
    // The first request takes seconds, and the datanodes may still register.
    EXPECT_TRUE(eventually([&] { return http(address_, "GET", "/webhdfs/v1/?op=LISTSTATUS").status == 200; }));
  }
  ~MiniDfs() { process_->signal(SIGKILL); }
  std::string address() const { return address_; }
  std::string rpc_address() const { return "localhost:" + rpc_; }

 private:
  ScratchDirectory scratch_;
  std::unique_ptr<Process> process_;
  std::string address_, rpc_;
};

class HdfsJobs : public StoreJobs {
 protected:
  void use(const std::string& where) {
    address = where;
    environment["WEFT_HDFS_HTTP"] = "name=" + address;
  }
  std::string url(const std::string& path) const { return "hdfs://name" + path; }
  /// No hidden directories of jobs.
  void expect_no_leftovers(const std::string& path) {
    EXPECT_FALSE(has(good({"ls", url(path), "--json"}).out, ".weft-")) << good({"ls", url(path)}).out;
  }

  std::string address;
};

/// On that of the tests, which does what it is told.
class OwnHdfs : public HdfsJobs {
 protected:
  void SetUp() override { use(own.address()); }

  HdfsService own;
};

/// On both.
class Hdfs : public HdfsJobs, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "Own") {
      own.emplace();
      return use(own->address());
    }
    const char* const jars = std::getenv("WEFT_HDFS_LIB");
    if (jars == nullptr) {
      std::puts("skipped: jobs on Hadoop's HDFS: WEFT_HDFS_LIB does not name its jars (scripts/test --integration)");
      GTEST_SKIP();
    }
    real.emplace(jars);
    use(real->address());
  }

  std::optional<HdfsService> own;
  std::optional<MiniDfs> real;
};

TEST_P(Hdfs, FilesAreCopiedListedAndPrinted) {
  const std::string text = some_text(12'000'000, 1);  // sent while it is read
  put(text, url("/in/a b=c+d%20\xc3\xbc;&#"));
  put("", url("/in/empty"));
  EXPECT_TRUE(good({"cat", url("/in/a*")}).out == text);
  EXPECT_TRUE(has(good({"ls", "webhdfs://" + address + "/in", "--json"}).out, "\"type\":\"file\",\"bytes\":12000000"));
  EXPECT_TRUE(has(good({"ls", url("/")}).out, "dir"));
  good({"cp", "-r", url("/in"), files / "copy"});
  EXPECT_TRUE(read_file(files / "copy/a b=c+d%20\xc3\xbc;&#") == text);
  EXPECT_EQ(read_file(files / "copy/empty"), "");
  good({"cp", "-r", files / "copy", url("/again/")});
  good({"cp", files / "content", url("/again")});  // into the directory
  EXPECT_EQ(good({"cat", url("/again/content")}).out, "");
  EXPECT_TRUE(good({"cat", url("/again/a b=c+d%20\xc3\xbc;&#")}).out == text);
  EXPECT_TRUE(has(refusal({program("weft"), "fs", "cp", files / "copy/empty", url("/in/empty")}), "say --overwrite"));
  EXPECT_TRUE(has(refusal({program("weft"), "fs", "cat", url("/nothing")}), "/nothing is not there"));
  expect_no_leftovers("/in");
}

TEST_P(Hdfs, FilesAreInputsAndOutputsOfJobsEverywhere) {
  const std::string text = some_text(6'000'000, 7);
  put(text, url("/in/words"));
  put("", url("/in/empty"));
  expect_counts_everywhere(url("/in/*"), url("/new/out"), reference::wordcount({text}));
  expect_no_leftovers("/new");
}

TEST_P(Hdfs, RecordsAreMadeSortedAndValidatedAndTablesJoined) {
  FileClusterOptions options;
  options.environment = environment;
  FileCluster cluster(3, options);
  const auto job = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--quiet", "--cluster", cluster.address()});
    words.front() = program(words.front());
    const auto result = run_there(words);
    EXPECT_EQ(result.exit_code, 0) << words[1] << ": " << result.err;
    return result.out;
  };
  job({"terasort", "gen", "--records", "60000", "--output", url("/unsorted")});
  const std::string records = good({"cat", url("/unsorted/part-*")}).out;
  ASSERT_EQ(records.size(), 6'000'000u);
  job({"terasort", "sort", "--input", url("/unsorted"), "--output", url("/sorted")});
  EXPECT_TRUE(good({"cat", url("/sorted/part-*")}).out == reference::terasort(records));
  job({"terasort", "validate", "--input", url("/sorted")});
  std::string left, right;
  for (int i = 0; i < 20'000; ++i) {
    left += "k" + std::to_string(i % 3'000) + "\tl" + std::to_string(i) + "\n";
    if (i < 2'000) right += "k" + std::to_string(i * 2) + "\tr" + std::to_string(i) + "\n";
  }
  put(left, url("/left"));
  put(right, url("/right"));
  job({"join", "--left", url("/left"), "--right", url("/right"), "--output", url("/joined")});
  EXPECT_TRUE(sorted_lines(url("/joined")) == reference::join(left, right, "inner"));
  expect_no_leftovers("/");
}

TEST_P(Hdfs, AWorkerThatIsKilledCostsNothingButTime) {
  const std::string text = some_text(10'000'000, 11);
  put(text, url("/in/words"));
  FileClusterOptions options;
  options.environment = environment;
  FileCluster cluster(3, options);
  Process job(
      {program("wordcount"), "--input", url("/in"), "--output", url("/out"), "--partitions", "6", "--cluster", cluster.address()},
      {.environment = environment, .deadline = std::chrono::seconds(300)});
  // As soon as the job has made its directory there, so that tasks are about to run or run.
  EXPECT_TRUE(eventually([&] { return !job.running() || has(good({"ls", url("/")}).out, ".out.weft-"); }));
  cluster.kill_worker(1);
  const auto result = job.wait();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(sorted_lines(url("/out")) == reference::wordcount({text}));
  expect_no_leftovers("/");
}

TEST_F(OwnHdfs, TasksRunWhereTheirBlocksAre) {
  own.set(R"({"block": 262144})");
  put(some_text(8'000'000, 8), url("/words"));  // a block is on two of h1, h2 and h3
  FileClusterOptions options;
  options.environment = environment;
  options.master = {"--event-log", files / "events", "--scheduler", "delay(inner=fifo, node_wait=5s)"};
  FileCluster cluster(3, options);
  const auto result = run_there(
      {program("wordcount"), "--quiet", "--cluster", cluster.address(), "--input", url("/words"), "--output", files / "out"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto field = [](const std::string& line, const std::string& name) {
    const auto at = line.find("\"" + name + "\":") + name.size() + 3;
    return line.substr(at, line.find_first_of(",}", at) - at);
  };
  std::map<std::string, std::string> hosts, splits;  // by node, by task
  std::size_t local = 0, launched = 0;
  std::ifstream log(files / "events");
  for (std::string line; std::getline(log, line);) {
    if (has(line, "\"event\":\"worker_joined\"")) hosts[field(line, "node")] = field(line, "host");
    if (has(line, "\"event\":\"plan_extended\"")) {
      for (auto at = line.find("{\"task\":"); at != std::string::npos; at = line.find("{\"task\":", at + 1))
        splits[field(line.substr(at), "task")] = line.substr(at, line.find('}', at) - at);
    }
    if (has(line, "\"event\":\"task_launched\"") && field(line, "stage") == "0") {
      ++launched;
      local += has(splits[field(line, "task")], hosts[field(line, "node")]) ? 1 : 0;
    }
  }
  EXPECT_GE(launched, 16u);
  EXPECT_GE(static_cast<double>(local), 0.95 * static_cast<double>(launched)) << local << " of " << launched;
}

TEST_F(OwnHdfs, FilesArriveAlthoughRequestsFail) {
  const std::string text = some_text(8'000'000, 9);
  put(text, url("/words"));
  own.set(R"({"busy": 0.03, "cut": 0.03, "lose": 0.02, "dead": true, "seed": 3})");
  const auto result =
      run_there({program("wordcount"), "--quiet", "--workers", "2", "--input", url("/words"), "--output", url("/out")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  own.set(R"({"busy": 0, "cut": 0, "lose": 0, "dead": false})");
  EXPECT_TRUE(sorted_lines(url("/out")) == reference::wordcount({text}));
  expect_no_leftovers("/");
}

TEST_P(Hdfs, WhatCannotBeHadIsAnErrorOfOneLine) {
  put("a b c\n", url("/in/words"));
  const auto job = [&](const std::string& input, const std::string& output) {
    return refusal({program("wordcount"), "--quiet", "--input", input, "--output", output});
  };
  EXPECT_TRUE(has(job(url("/nothing"), files / "x"), "/nothing is not there"));
  EXPECT_TRUE(has(job(url("/in/x*"), files / "x"), "no file matches the pattern"));
  EXPECT_TRUE(has(job("hdfs://127.0.0.1:1/in", files / "x"), "cannot reach http://127.0.0.1:1"));
  EXPECT_TRUE(has(job(url("/in"), url("/in/words/out")), "cannot write output"));
  if (own) own->set(R"({"deny": "eve"})");
  environment["HADOOP_USER_NAME"] = "eve";
  EXPECT_TRUE(has(job(url("/in"), url("/out")), "the user eve has no right to it"));
  if (real) {
    environment.erase("HADOOP_USER_NAME");
    EXPECT_TRUE(has(job("hdfs://" + real->rpc_address() + "/in", files / "x"), "the port is that of Hadoop's RPC"));
    environment["WEFT_HDFS_HTTP"] = real->rpc_address() + "=" + address;
    EXPECT_EQ(good({"cat", "hdfs://" + real->rpc_address() + "/in/words"}).out, "a b c\n");
  }
}

std::string name_of(const testing::TestParamInfo<const char*>& service) { return service.param; }

INSTANTIATE_TEST_SUITE_P(Services, Hdfs, testing::Values("Own", "MiniDfs"), name_of);

}  // namespace
}  // namespace weft::test
