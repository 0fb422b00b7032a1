// A cluster that outlives its master: the master is killed or ended under jobs of all kinds and started again on its directory.
#include <algorithm>
#include <filesystem>
#include <map>

#include "tests/cluster/kept_cluster.hpp"

namespace weft::test {
namespace {

class MasterRestart : public testing::Test {
 protected:
  /// A job whose first stage has ended and whose second waits for go(), in a process of its own.
  std::vector<std::string> holding(const KeptCluster& cluster) const {
    return cluster.job("cluster_probe", {"hold", "--records", "1000", "--tasks", "4", "--marker", marker, "--output", output});
  }
  bool held() const {
    return eventually([&] { return exists(marker + ".held"); });
  }
  void go() const { write_file(marker + ".go", ""); }
  void expect_sums() const {
    std::vector<std::string> rows = part_lines(output), expected;
    for (int i = 0; i < 1000; ++i) expected.push_back(std::to_string(i) + " " + std::to_string(i));
    std::sort(rows.begin(), rows.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_TRUE(rows == expected) << rows.size() << " rows";
  }

  ScratchDirectory files;
  const std::string marker = files / "mark", output = files / "out";
};

/// The same two megabytes in a hundred files, so that a job takes long enough to be interrupted three times, and what
/// wordcount is to make of them.
struct Words {
  static constexpr int kFiles = 100;
  std::vector<std::string> expected;

  explicit Words(const std::string& directory) {
    std::filesystem::create_directory(directory);
    std::map<std::string, std::uint64_t> counts;
    std::uint64_t seed = 1;
    std::string text;
    while (text.size() < 2'000'000) {
      seed = seed * 6364136223846793005 + 1442695040888963407;
      const std::string word = "w" + std::to_string((seed >> 33) % 5000);
      counts[word] += kFiles;
      text += word + ((seed >> 20) % 9 == 0 ? "\n" : " ");
    }
    for (int file = 0; file < kFiles; ++file) write_file(directory + "/" + std::to_string(file) + ".txt", text);
    for (const auto& [word, count] : counts) expected.push_back(word + "\t" + std::to_string(count));
  }
};

class RestartUnderWordcount : public MasterRestart, public testing::WithParamInterface<int> {};

TEST_P(RestartUnderWordcount, TheJobGoesOnAndNothingThatEndedRunsAgain) {
  const Words words(files / "in");
  KeptCluster cluster(2);
  const auto count = [&](const std::string& out) {
    return cluster.job("wordcount", {"--input", files / "in", "--output", out, "--speculate", "off", "--demand", "cpu=2"});
  };
  ASSERT_EQ(run(count(files / "usual")).exit_code, 0);
  Process driver(count(output), cluster.options());
  std::string facts;
  std::size_t before = 0;  // lines of the event log
  for (std::size_t round = 1; round <= 3; ++round) {
    ASSERT_TRUE(eventually([&] { return cluster.count("task_finished", {"\"job\":2,"}) >= 5 * round || !driver.running(); }));
    EXPECT_TRUE(driver.running()) << "the master is to be killed under the job";
    cluster.end_master(GetParam());
    EXPECT_EQ(launched_again(facts, cluster.events(), before), std::vector<std::string>{});
    facts = cluster.facts();
    before = cluster.events().size();
    cluster.start_master();
  }
  const ProcessResult ended = driver.wait();
  EXPECT_EQ(ended.exit_code, 0) << ended.err << cluster.master().err_so_far();
  auto lines = part_lines(output);
  std::sort(lines.begin(), lines.end());
  EXPECT_TRUE(lines == words.expected);
  EXPECT_EQ(launched_again(facts, cluster.events(), before), std::vector<std::string>{});
  EXPECT_EQ(cluster.count("worker_lost"), 0u);
  EXPECT_TRUE(has(cluster.admin({"job", "status", "2"}).out, "finished"));
  EXPECT_EQ(cluster.admin({"job", "counters", "2"}).out, cluster.admin({"job", "counters", "1"}).out);
}

INSTANTIATE_TEST_SUITE_P(Signals, RestartUnderWordcount, testing::Values(SIGKILL, SIGTERM),
                         [](const auto& signal) { return signal.param == SIGKILL ? "Killed" : "Ended"; });

TEST_F(MasterRestart, AWorkerThatIsGoneWhenTheMasterIsBackIsLostAndItsTasksRunElsewhere) {
  KeptCluster cluster(2);
  Process driver(holding(cluster), cluster.options());
  ASSERT_TRUE(held());
  cluster.end_master();
  cluster.kill_worker("w2");
  cluster.start_master();
  const auto nodes = [&] { return cluster.admin({"node", "list"}).out; };
  EXPECT_TRUE(eventually([&] { return has(nodes(), "lost: it has not come back since the master was started again"); })) << nodes();
  go();
  const ProcessResult ended = driver.wait();
  EXPECT_EQ(ended.exit_code, 0) << ended.err << cluster.master().err_so_far();
  expect_sums();
  EXPECT_TRUE(eventually([&] { return has(nodes(), "dead: it did not come back to the restarted master within 10.0 s"); }))
      << nodes();
}

TEST_F(MasterRestart, AWorkerThatWasStartedAgainTakesItsPlaceAtOnce) {
  KeptCluster cluster(1);
  Process driver(holding(cluster), cluster.options());
  ASSERT_TRUE(held());
  cluster.end_master();
  cluster.kill_worker("w1");
  cluster.start_worker("w1");
  cluster.start_master();
  go();
  const ProcessResult ended = driver.wait();
  EXPECT_EQ(ended.exit_code, 0) << ended.err << cluster.master().err_so_far();
  expect_sums();
  EXPECT_EQ(cluster.count("worker_lost", {"it was started again while the master was away"}), 1u);
  EXPECT_EQ(cluster.count("worker_silent"), 0u) << "nobody waited for it";
  EXPECT_TRUE(cluster.has_nodes(1));
}

TEST_F(MasterRestart, ADetachedJobOutlivesItsMasterAndItsDriver) {
  KeptCluster cluster(2);
  const auto submitted =
      run({program("weft"), "submit", "--detach", "--master", cluster.address(), program("cluster_probe"), "--", "hold", "--quiet",
           "--records", "1000", "--tasks", "4", "--marker", marker, "--output", output, "--speculate", "off"});
  ASSERT_EQ(submitted.out, "1\n") << submitted.err;
  ASSERT_TRUE(held());
  const auto drivers = [&] { return processes_with({{"WEFT_TEST_TAG", cluster.tag()}, {"WEFT_DRIVER_JOB", "1"}}); };
  const auto first = drivers();
  ASSERT_EQ(first.size(), 1u);
  cluster.end_master();
  const std::string facts = cluster.facts();
  const std::size_t before = cluster.events().size();
  ::kill(first[0], SIGKILL);
  ASSERT_TRUE(eventually([&] { return drivers().empty(); }));
  cluster.start_master();
  ASSERT_TRUE(eventually([&] { return drivers().size() == 1; })) << cluster.master().err_so_far();
  go();
  const auto waited = cluster.admin({"job", "wait", "1"});
  EXPECT_EQ(waited.exit_code, 0) << waited.err << cluster.master().err_so_far();
  expect_sums();
  EXPECT_EQ(launched_again(facts, cluster.events(), before), std::vector<std::string>{});
}

TEST_F(MasterRestart, WhoWaitsForAJobOrReadsItsLogsGoesOn) {
  KeptCluster cluster(2);
  Process driver(holding(cluster), cluster.options());
  ASSERT_TRUE(held());
  std::vector<std::unique_ptr<Process>> watching;
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"wait", "1"}, {"attach", "1"}, {"logs", "-f", "1"}}) {
    std::vector<std::string> command{program("weft"), "job"};
    command.insert(command.end(), words.begin(), words.end());
    command.insert(command.end(), {"--master", cluster.address()});
    watching.push_back(std::make_unique<Process>(command));
  }
  // That one of them waits shows on its way to the master only: a question that is under way when the master dies, or one later.
  ASSERT_TRUE(eventually([&] { return has(watching[1]->err_so_far(), "probe") || !watching[1]->running(); }));
  cluster.end_master();
  for (const auto& one : watching)
    EXPECT_TRUE(eventually([&] { return has(one->err_so_far(), "; waiting for up to 600 s (--patience)"); })) << one->err_so_far();
  Process begins_now({program("weft"), "job", "wait", "1", "--master", cluster.address()});
  EXPECT_TRUE(eventually([&] { return has(begins_now.err_so_far(), "; waiting for up to 600 s (--patience)"); }));
  const ProcessResult late = cluster.admin({"job", "wait", "1", "--timeout", "10ms"});
  EXPECT_EQ(late.exit_code, 1) << "it waits for the master no longer than for the job";
  EXPECT_TRUE(has(late.err, "no weft master answers at " + cluster.address())) << late.err;
  cluster.start_master();
  ASSERT_TRUE(eventually([&] { return cluster.count("worker_rejoined") == 2; })) << cluster.master().err_so_far();
  go();
  EXPECT_EQ(driver.wait().exit_code, 0);
  EXPECT_EQ(begins_now.wait().exit_code, 0);
  for (const auto& one : watching) {
    const ProcessResult ended = one->wait();
    EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
    const auto said = ended.err.find("; waiting for up to");
    EXPECT_EQ(ended.err.find("; waiting for up to", said + 1), std::string::npos) << "it is said once: " << ended.err;
  }
}

TEST_F(MasterRestart, AJobWhoseProgramIsGoneFailsAndTheMasterGoesOn) {
  KeptCluster cluster(1);
  Process driver(holding(cluster), cluster.options());
  ASSERT_TRUE(held());
  cluster.end_master();
  for (const std::string& name : entries(cluster.data() + "/programs"))
    if (name.size() >= 32) std::filesystem::remove(cluster.data() + "/programs/" + name);
  cluster.start_master();
  const ProcessResult ended = driver.wait();
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_TRUE(has(ended.err, "the master was restarted, and its program was not kept (--directory)")) << ended.err;
  EXPECT_TRUE(has(cluster.master().err_so_far(), "job 1 cannot go on: its program was not kept")) << cluster.master().err_so_far();
  EXPECT_EQ(run(cluster.job("cluster_probe", {"noop"})).out, "count 4\n");
}

TEST_F(MasterRestart, ADetachedJobWhoseProgramIsGoneFailsAndItsDriverEnds) {
  KeptCluster cluster(1);
  ASSERT_EQ(run({program("weft"), "submit", "--detach", "--master", cluster.address(), program("cluster_probe"), "--", "hold",
                 "--quiet", "--records", "1000", "--tasks", "4", "--marker", marker, "--output", output})
                .out,
            "1\n");
  ASSERT_TRUE(held());
  cluster.end_master();
  for (const std::string& name : entries(cluster.data() + "/programs"))
    if (name.size() >= 32) std::filesystem::remove(cluster.data() + "/programs/" + name);
  cluster.start_master();
  const auto waited = cluster.admin({"job", "wait", "1"});
  EXPECT_EQ(waited.exit_code, 3);
  EXPECT_TRUE(has(waited.err, "the master was restarted, and its program was not kept (--directory)")) << waited.out << waited.err;
  const auto left = [&] { return processes_with({{"WEFT_TEST_TAG", cluster.tag()}, {"WEFT_DRIVER_JOB", "1"}}); };
  EXPECT_TRUE(eventually([&] { return left().empty(); })) << "its driver goes on for nobody";
  EXPECT_EQ(run(cluster.job("cluster_probe", {"noop"})).out, "count 4\n");
}

/// Records say what was decided, and not by whom.
TEST_F(MasterRestart, AJobGoesOnUnderAnotherScheduler) {
  KeptCluster cluster(1, {"--scheduler", "fair"});  // two slots: two tasks of the second stage wait
  Process driver(holding(cluster), cluster.options());
  ASSERT_TRUE(held());
  for (const char* scheduler : {"fifo", "fsp"}) {
    cluster.end_master();
    const std::string facts = cluster.facts();
    const std::size_t before = cluster.events().size();
    cluster.set_master_options({"--scheduler", scheduler});
    cluster.start_master();
    ASSERT_TRUE(cluster.has_nodes(1)) << cluster.master().err_so_far();
    EXPECT_TRUE(has(cluster.admin({"scheduler", "show"}).out, std::string("scheduler ") + scheduler + "\n"));
    EXPECT_EQ(launched_again(facts, cluster.events(), before), std::vector<std::string>{});
  }
  go();
  const ProcessResult ended = driver.wait();
  EXPECT_EQ(ended.exit_code, 0) << ended.err << cluster.master().err_so_far();
  expect_sums();
}

TEST_F(MasterRestart, AMasterWhosePluginIsGoneSaysSoAndTheJobGoesOnUnderAnother) {
  const std::string file = files / "mine.so";
  std::filesystem::copy_file(WEFT_PLUGIN_DIR "/misbehaving.so", file);
  const std::vector<std::string> with{"--scheduler-plugin", file, "--scheduler", "throwing"};
  KeptCluster cluster(1, with);
  Process driver(holding(cluster), cluster.options());
  ASSERT_TRUE(held());
  cluster.end_master();
  std::filesystem::remove(file);
  const ProcessResult refused = run(cluster.master_command(), {.environment = {}, .deadline = std::chrono::seconds(20)});
  EXPECT_EQ(refused.exit_code, 1);
  const auto lines = lines_of(refused.err);
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(), [](const std::string& line) { return line.starts_with("weft: "); }), 1)
      << refused.err;
  EXPECT_TRUE(has(lines.empty() ? "" : lines.back(), "cannot load the scheduler plugin " + file)) << refused.err;
  cluster.set_master_options({});
  cluster.start_master();
  go();
  const ProcessResult ended = driver.wait();
  EXPECT_EQ(ended.exit_code, 0) << ended.err << cluster.master().err_so_far();
  expect_sums();
}

class BadDirectory : public MasterRestart {
 protected:
  /// A master on the cluster's directory ends, and says why in one line. (Lines of its log come before.)
  void expect_refused(const std::vector<std::string>& command, const std::string& why) {
    const ProcessResult ended = run(command, {.environment = {}, .deadline = std::chrono::seconds(20)});
    EXPECT_EQ(ended.exit_code, 1);
    std::vector<std::string> said;
    for (const std::string& line : lines_of(ended.err))
      if (line.starts_with("weft: ")) said.push_back(line);
    EXPECT_TRUE(said.size() == 1 && has(said[0], why)) << ended.err;
  }
};

TEST_F(BadDirectory, BelongsToOneMasterAtATime) {
  KeptCluster cluster(1);
  std::vector<std::string> second = cluster.master_command();
  second[3] = "127.0.0.1:0";
  expect_refused(second, "is in use by another master that runs");
  EXPECT_EQ(run(cluster.job("cluster_probe", {"noop"})).exit_code, 0) << "the first goes on";
}

/// Neither where the address is taken, nor beside the journal of another master.
TEST_F(BadDirectory, IsNotMadeByAMasterThatCannotBegin) {
  KeptCluster cluster(1);
  const std::string data = files / "other", journal = files / "journal";
  expect_refused({program("weft"), "master", "--listen", cluster.address(), "--http", "none", "--data-dir", data},
                 "; another process listens there: choose another port, or end that process");
  EXPECT_FALSE(exists(data));
  std::filesystem::create_hard_link(cluster.journal(), journal);
  expect_refused({program("weft"), "master", "--listen", "127.0.0.1:0", "--http", "none", "--journal", journal},
                 "is in use by a master that runs");
  for (const std::string beside : {".history", ".profiles", ".programs"}) EXPECT_FALSE(exists(journal + beside)) << beside;
}

TEST_F(BadDirectory, OfALaterReleaseIsRefusedAndAnEndThatWasCutOffIsNot) {
  KeptCluster cluster(1);
  ASSERT_EQ(run(cluster.job("cluster_probe", {"noop"})).exit_code, 0);
  cluster.end_master();
  const std::string whole = read_file(cluster.journal());
  std::string later = whole;
  later[8] = 100;
  write_file(cluster.journal(), later);
  expect_refused(cluster.master_command(), "this journal has version 100, and this weft reads versions");
  EXPECT_EQ(read_file(cluster.journal()), later) << "nothing is changed";
  std::string damaged = whole;
  damaged[60] = static_cast<char>(damaged[60] ^ 1);
  write_file(cluster.journal(), damaged);
  expect_refused(cluster.master_command(), "is damaged at byte 16: ");
  write_file(cluster.journal(), whole.substr(0, whole.size() - 5));
  cluster.start_master();
  ASSERT_TRUE(cluster.has_nodes(1));
  EXPECT_TRUE(has(cluster.master().err_so_far(), "are what a crash left of a write that did not end"))
      << cluster.master().err_so_far();
  EXPECT_EQ(run(cluster.job("cluster_probe", {"noop"})).exit_code, 0);
}

TEST_F(BadDirectory, ThatWasCopiedInPartIsRefused) {
  KeptCluster cluster(0);
  ASSERT_TRUE(cluster.has_nodes(0));
  cluster.end_master();
  std::filesystem::rename(cluster.data() + "/namespace", cluster.data() + "/elsewhere");
  expect_refused(cluster.master_command(), ", so it was copied in part; copy it whole");
  std::filesystem::rename(cluster.data() + "/elsewhere", cluster.data() + "/namespace");
  cluster.start_master();
  EXPECT_TRUE(cluster.has_nodes(0));
}

/// As the packages, Compose and the chart have them: the journal is beside the data directory.
TEST_F(BadDirectory, ThatLacksOneOfBothIsRefusedWhereverTheJournalIs) {
  for (const std::string journal : {"", "beside"}) {
    SCOPED_TRACE(journal);
    KeptCluster cluster(journal.empty() ? std::vector<std::string>{} : std::vector<std::string>{"--journal", files / journal});
    const std::string place = journal.empty() ? cluster.journal() : files / journal, names = cluster.data() + "/namespace";
    cluster.start_master();
    ASSERT_TRUE(cluster.has_nodes(0));
    cluster.end_master(SIGTERM);
    for (const auto& [missing, why] : {std::pair(names, ", so it was copied in part; copy it whole"),
                                       std::pair(place, "has one: copy or move it there, or create an empty file of that name")}) {
      std::filesystem::rename(missing, missing + ".elsewhere");
      for (int again = 0; again < 2; ++again) expect_refused(cluster.master_command(), why);
      EXPECT_FALSE(exists(missing) && !std::filesystem::is_empty(missing)) << "nothing is made in its place";
      std::filesystem::remove_all(missing);
      std::filesystem::rename(missing + ".elsewhere", missing);
      cluster.start_master();
      ASSERT_TRUE(cluster.has_nodes(0)) << cluster.master().err_so_far();
      cluster.end_master(SIGTERM);
    }
    write_file(place, "");
    cluster.start_master();
    EXPECT_TRUE(cluster.has_nodes(0)) << "a cluster that goes on without its jobs: " << cluster.master().err_so_far();
  }
}

TEST_F(BadDirectory, OfAnotherClusterThanTheJournalIsRefused) {
  KeptCluster one({"--journal", files / "one"}), other({"--journal", files / "other"});
  for (KeptCluster* const cluster : {&one, &other}) {
    cluster->start_master();
    ASSERT_TRUE(cluster->has_nodes(0));
    cluster->end_master(SIGTERM);
  }
  std::filesystem::rename(files / "other", files / "one");
  expect_refused(one.master_command(), "; name the journal and the data directory of one cluster");
}

/// Its journal names no cluster: it gets that of the files.
TEST_F(BadDirectory, IsNoneThatAMasterWithAJournalAloneGetsLater) {
  KeptCluster cluster({"--journal", files / "journal"});
  std::vector<std::string> alone = cluster.master_command();
  alone.erase(alone.begin() + 6, alone.begin() + 8);
  {
    Process master(alone, {.deadline = std::chrono::seconds(60), .daemon = true});
    ASSERT_TRUE(cluster.has_nodes(0));
    master.signal(SIGTERM);
    EXPECT_EQ(master.wait().exit_code, 0);
  }
  cluster.start_master();
  ASSERT_TRUE(cluster.has_nodes(0)) << cluster.master().err_so_far();
  cluster.end_master(SIGTERM);
  std::filesystem::remove_all(cluster.data() + "/namespace");
  expect_refused(cluster.master_command(), "is of cluster ");
}

TEST_F(BadDirectory, ThatCannotBeWrittenIsRefused) {
  KeptCluster cluster(0);
  ASSERT_TRUE(cluster.has_nodes(0));
  cluster.end_master();
  const auto read_only = [&](const std::string& what) {
    return std::vector<std::string>{
        "/usr/bin/unshare", "--mount", "/bin/sh", "-c", "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && " + what,
        cluster.data()};
  };
  if (run(read_only("true")).exit_code != 0) GTEST_SKIP() << "mounting needs root";
  std::string master;
  for (const std::string& word : cluster.master_command()) master += " '" + word + "'";
  expect_refused(read_only("exec" + master), "Read-only file system");
}

}  // namespace
}  // namespace weft::test
