// What user code attempts against its machine, its worker and other jobs, and what becomes of it (SECURITY.md).
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sanitized.hpp"
#include "tests/cluster/cluster.hpp"

namespace weft::test {
namespace {

using Words = std::vector<std::string>;

class IsolationTest : public testing::Test {
 protected:
  Words job(const std::string& script, Words more = {}) const {
    Words words{program("shell_probe"), "--quiet", "--cluster", cluster_.address(), script};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  ProcessResult run_script(const std::string& script, Words more = {}) const { return run(job(script, std::move(more))); }
  std::vector<int> left_behind(const std::string& mark) const {
    auto variables = cluster_.options().environment;
    variables["LEFT_BEHIND"] = mark;
    return processes_with(variables);
  }
  std::string log(const std::string& job) const { return cluster_.admin({"job", "logs", job}).out; }

  ScratchDirectory files_;
  Cluster cluster_{1};
};

TEST_F(IsolationTest, AProcessOfAJobGetsNoMoreRightsAndWritesNoCore) {
  const auto ran = run_script("grep NoNewPrivs /proc/self/status; grep 'core file' /proc/self/limits");
  EXPECT_TRUE(has(ran.out, "NoNewPrivs:\t1\n")) << ran.out << ran.err;
  const std::string soft = kSanitized ? "0" : "1";  // the sanitizer allows none by itself
  EXPECT_TRUE(has(ran.out, "Max core file size        " + soft + "                    1 ")) << ran.out;
}

TEST_F(IsolationTest, AJobHasADirectoryOfItsOwnForTemporaryFilesUntilItEnds) {
  const auto ran = run_script("touch \"$TMPDIR/file\" && stat -c '%a %u' \"$TMPDIR\" && echo \"$TMPDIR\"");
  EXPECT_TRUE(ran.out.starts_with("700 " + std::to_string(::geteuid()) + "\n/")) << ran.out << ran.err;
  const std::string directory = ran.out.substr(ran.out.find('/'), ran.out.rfind('\n') - ran.out.find('/'));
  EXPECT_TRUE(eventually([&] { return entries(directory).empty(); })) << directory;
}

TEST_F(IsolationTest, NoDescriptorOfTheWorkerIsInherited) {
  // 3 is the connection to the worker; what an executor opens itself is closed when the shell starts.
  const auto ran = run_script("ls /proc/self/fd | tr '\\n' ' '");
  EXPECT_EQ(ran.out, "0 1 2 3 ") << "3 is the directory that ls reads: " << ran.out << ran.err;
}

TEST_F(IsolationTest, AProcessThatATaskLeavesBehindEndsWithItsJob) {
  const auto ran = run_script("(LEFT_BEHIND=yes setsid sh -c 'setsid sleep 1000 & sleep 1000' > /dev/null 2>&1 &); sleep 0.1");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(eventually([&] { return left_behind("yes").empty(); }));
  EXPECT_EQ(run_script("echo fine").out, "fine\n") << "the worker goes on";
}

TEST_F(IsolationTest, AProcessThatADriverLeavesBehindEndsWithIt) {
  const ScratchDirectory files;
  const std::string script = files / "driver";
  write_file(script, "#!/bin/sh\n(LEFT_BEHIND=driver setsid sleep 1000 > /dev/null &)\nls -d \"$TMPDIR\"\nexit 3\n");
  ASSERT_EQ(chmod(script.c_str(), 0755), 0);
  ASSERT_EQ(cluster_.admin({"submit", "--detach", script}).exit_code, 0);
  EXPECT_EQ(cluster_.admin({"job", "wait", "1"}).exit_code, 3);
  EXPECT_TRUE(has(log("1"), "-driver-") && has(log("1"), "/tmp\n")) << log("1");
  EXPECT_TRUE(eventually([&] { return left_behind("driver").empty(); }));
}

TEST_F(IsolationTest, WithoutControlGroupsTheProcessesOfTheUserAreCounted) {
  if (::geteuid() == 0) GTEST_SKIP() << "the kernel does not count those of root";
  cluster_.add_worker({"--cgroup", "none", "--job-processes", "100"});
  ASSERT_TRUE(cluster_.has_nodes(2));
  cluster_.worker(0).signal(SIGTERM);
  ASSERT_EQ(cluster_.worker(0).wait().exit_code, 0);
  const auto bomb =
      run_script("i=0; while [ $i -lt 10000 ]; do (LEFT_BEHIND=bomb exec sleep 1000 > /dev/null 2>&1) & i=$((i+1)); done",
                 {"--max-attempts", "1"});
  EXPECT_NE(bomb.exit_code, 0) << bomb.out;
  EXPECT_TRUE(has(bomb.err, "; perhaps the job's processes reached the limit of 108 (weft worker --job-processes)")) << bomb.err;
  EXPECT_TRUE(eventually([&] { return left_behind("bomb").empty(); }));
}

/// Where workers can make control groups.
class ControlGroupTest : public IsolationTest {
 protected:
  void SetUp() override {
    if (has(cluster_.worker(0).err_so_far(), "jobs have no control groups")) GTEST_SKIP() << cluster_.worker(0).err_so_far();
  }
};

TEST_F(ControlGroupTest, AForkBombReachesItsLimitAndOthersGoOn) {
  Process& small = cluster_.add_worker({"--job-processes", "200", "--attribute", "small=1"});
  ASSERT_TRUE(cluster_.has_nodes(2));
  cluster_.worker(0).signal(SIGTERM);
  ASSERT_EQ(cluster_.worker(0).wait().exit_code, 0);
  Process honest(job("while [ ! -e " + files_ / "go" + " ]; do sleep 0.02; done; echo fine"));
  const auto bomb =
      run_script("i=0; while [ $i -lt 10000 ]; do (LEFT_BEHIND=bomb exec sleep 1000 > /dev/null 2>&1) & i=$((i+1)); done",
                 {"--max-attempts", "1"});
  EXPECT_NE(bomb.exit_code, 0) << bomb.out;
  EXPECT_TRUE(has(bomb.err, "; the job's processes reached the limit of 208 (weft worker --job-processes)")) << bomb.err;
  write_file(files_ / "go", "");
  EXPECT_EQ(honest.wait().out, "fine\n") << "beside it, on the same worker";
  EXPECT_TRUE(eventually([&] { return left_behind("bomb").empty(); }));
  EXPECT_TRUE(small.running());
}

TEST_F(ControlGroupTest, ProcessesThatTakeTooMuchMemoryAreEndedAndOthersGoOn) {
  if (kSanitized) GTEST_SKIP() << "memory is limited without sanitizers only";
  cluster_.add_worker({"--memory", "64MiB", "--store-memory", "64MiB"});
  ASSERT_TRUE(cluster_.has_nodes(2));
  cluster_.worker(0).signal(SIGTERM);
  ASSERT_EQ(cluster_.worker(0).wait().exit_code, 0);
  Process honest(job("while [ ! -e " + files_ / "go" + " ]; do sleep 0.02; done; echo fine"));
  // Several processes, because each of them may take as much as the job's executor.
  const auto eater =
      run_script("for i in 1 2 3; do head -c 500000000 /dev/zero | tail -c 500000000 | (sleep 5; wc -c) & done; wait; false",
                 {"--max-attempts", "1"});
  EXPECT_NE(eater.exit_code, 0) << eater.out;
  EXPECT_TRUE(has(eater.err, "of memory, and the kernel killed one of them") || has(eater.err, "out of memory (limit"))
      << eater.err;
  write_file(files_ / "go", "");
  EXPECT_EQ(honest.wait().out, "fine\n") << "beside it, on the same worker";
}

TEST_F(IsolationTest, AProcessOfATaskThatCrashedDoesNotStayEither) {
  const auto ran =
      run_script("(LEFT_BEHIND=crash setsid sleep 1000 > /dev/null 2>&1 &); kill -KILL $PPID", {"--max-attempts", "1"});
  EXPECT_NE(ran.exit_code, 0);
  EXPECT_TRUE(has(ran.err, "SIGKILL")) << ran.err;
  EXPECT_TRUE(eventually([&] { return left_behind("crash").empty(); }));
}

/// A worker of root on a machine with users: they are in a file that only its processes see as /etc/passwd.
class OtherUsersTest : public testing::Test {
 protected:
  static constexpr unsigned kAlice = 61701, kBob = 61702;

  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "it needs root";
    ASSERT_EQ(chmod(files_.path().c_str(), 0755), 0);
    write_file(files_ / "passwd", read_file("/etc/passwd") + "alice:x:61701:61701::" + files_ / "alice" +
                                      ":/bin/sh\nbob:x:61702:61702::" + files_ / "bob" + ":/bin/sh\n");
    for (const auto& [name, user] : {std::pair("alice", kAlice), std::pair("bob", kBob)}) {
      ASSERT_EQ(mkdir((files_ / name).c_str(), 0700), 0);
      ASSERT_EQ(chown((files_ / name).c_str(), user, user), 0);
    }
    if (run({"unshare", "-m", "true"}).exit_code != 0) GTEST_SKIP() << "no namespaces can be made here";
    if (certificates_) make_certificates();
    master_ = std::make_unique<Process>(Words{program("weft"), "master", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
                                              "--port-file", files_ / "port", "--data-dir", files_ / "data"},
                                        ProcessOptions{.environment = {{"WEFT_SECURITY", security("master")}}, .daemon = true});
    ASSERT_TRUE(eventually([&] { return read_file(files_ / "port").ends_with('\n'); })) << master_->err_so_far();
    address_ = read_file(files_ / "port");
    address_.pop_back();
    start_worker({});
  }
  void TearDown() override {
    for (Process* const process : {worker_.get(), master_.get()}) {
      if (process == nullptr) continue;
      process->signal(SIGTERM);
      EXPECT_EQ(process->wait().exit_code, 0) << process->err_so_far();
    }
  }
  void start_worker(const Words& more) {
    Words words{"unshare", "-m", "sh", "-c", "mount --bind " + files_ / "passwd" + " /etc/passwd && exec \"$@\"", "sh"};
    const Words worker{program("weft"),  "worker", "--master",    address_,          "--name",          "w1",
                       "--slots",        "2",      "--run-as",    "submitter",       "--memory",        "64MiB",
                       "--store-memory", "16MiB",  "--chunk-dir", files_ / "chunks", "--chunk-reserve", "1MiB"};
    words.insert(words.end(), worker.begin(), worker.end());
    words.insert(words.end(), more.begin(), more.end());
    worker_ = std::make_unique<Process>(
        words, ProcessOptions{
                   .environment = {{"WORKERS_SECRET", "of root"}, {"TMPDIR", files_.path()}, {"WEFT_SECURITY", security("worker")}},
                   .daemon = true});
    ASSERT_EQ(weft({"node", "wait", "1", "--timeout", "15s"}).exit_code, 0) << worker_->err_so_far();
  }
  /// A program whose driver is a process of that user, too.
  ProcessResult as(unsigned user, Words words) const {
    const std::string id = std::to_string(user);
    words.insert(words.begin(), {"setpriv", "--reuid", id, "--regid", id, "--clear-groups"});
    words.insert(words.end(), {"--quiet", "--cluster", address_, "--user", name_of(user)});
    return run(words, {.environment = {{"TMPDIR", files_ / name_of(user)}, {"WEFT_SECURITY", security(name_of(user))}}});
  }
  static std::string name_of(unsigned user) { return user == kAlice ? "alice" : "bob"; }
  /// As alice, but by a process of root.
  ProcessResult weft(Words words) const {
    words.insert(words.begin(), {program("weft"), "--master", address_});
    return run(words, {.environment = {{"WEFT_SECURITY", certificates_ ? files_ / "certificates/alice" : security("alice")}}});
  }
  /// What $WEFT_SECURITY says to processes of that name; users have theirs in their homes.
  std::string security(const std::string& name) const {
    if (!certificates_) return "insecure";
    return name == "alice" || name == "bob" ? files_ / (name + "/.weft") : files_ / ("certificates/" + name);
  }
  void make_certificates() const {
    const std::string all = files_ / "certificates";
    ASSERT_EQ(run({program("weft"), "security", "init", all, "--user", "alice"}).exit_code, 0);
    ASSERT_EQ(run({program("weft"), "security", "issue", all, "bob"}).exit_code, 0);
    for (const char* const name : {"alice", "bob"}) {
      ASSERT_EQ(run({"cp", "-r", all + "/" + name, security(name)}).exit_code, 0);
      ASSERT_EQ(run({"chown", "-R", std::to_string(std::string(name) == "alice" ? kAlice : kBob), security(name)}).exit_code, 0);
    }
  }
  ProcessResult script(unsigned user, const std::string& text) const {
    return as(user, {program("shell_probe"), "--max-attempts", "1", text});
  }

  ScratchDirectory files_;
  bool certificates_ = false;
  std::string address_;
  std::unique_ptr<Process> master_, worker_;
};

class CertifiedUsersTest : public OtherUsersTest {
 protected:
  CertifiedUsersTest() { certificates_ = true; }
};

TEST_F(CertifiedUsersTest, TasksHaveTheirUsersCertificateAndCannotReadTheWorkers) {
  const auto own = script(kAlice, "id -u; echo $WEFT_SECURITY");
  EXPECT_EQ(own.out, "61701\n" + security("alice") + "\n") << own.err;
  for (const std::string& attempt :
       Words{"cat " + security("worker") + "/identity.pem", "cat " + security("bob") + "/identity.pem"}) {
    const auto refused = script(kAlice, attempt);
    EXPECT_TRUE(has(refused.err, "ermission denied")) << refused.err << refused.out;
  }
}

TEST_F(CertifiedUsersTest, TasksAndDriversUseFilesOfTheCluster) {
  write_file(files_ / "words", "to be or not to be\n");
  ASSERT_EQ(weft({"fs", "put", files_ / "words", "weft://words"}).exit_code, 0);
  const auto counted = as(kAlice, {program("wordcount"), "--input", "weft://words", "--output", "weft://counts"});
  EXPECT_EQ(counted.exit_code, 0) << counted.err;
  const auto submitted =
      weft({"submit", "--detach", program("wordcount"), "--", "--input", "weft://words", "--output", "weft://again"});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  EXPECT_EQ(weft({"job", "wait", "2"}).exit_code, 0) << weft({"job", "logs", "2"}).out;
}

TEST_F(OtherUsersTest, ATaskIsAProcessOfTheJobsUser) {
  const auto ran =
      script(kAlice, "id -u; id -g; id -G; grep CapEff /proc/self/status; echo $HOME $USER; stat -c '%a %u' $TMPDIR; umask");
  EXPECT_EQ(ran.out, "61701\n61701\n61701\nCapEff:\t0000000000000000\n" + files_ / "alice" + " alice\n700 61701\n0022\n")
      << ran.err;
  const auto nobody = run({program("shell_probe"), "id -un", "--quiet", "--insecure", "--cluster", address_, "--user", "carol"});
  EXPECT_EQ(nobody.out, "nobody\n") << "this machine has no carol: " << nobody.err;
  for (const char* claimed : {"root", "daemon"}) {
    const auto refused = run({program("shell_probe"), "id -un", "--quiet", "--insecure", "--cluster", address_, "--user", claimed});
    EXPECT_EQ(refused.out, "nobody\n") << "nobody is believed to be " << claimed << ": " << refused.err;
  }
}

TEST_F(OtherUsersTest, ATaskCanNeitherKillTheWorkerNorReadWhatIsOfOthers) {
  const std::string worker = std::to_string(worker_->pid());
  const auto killed = script(kAlice, "kill -KILL " + worker);
  EXPECT_TRUE(has(killed.err, "Operation not permitted")) << killed.err;
  for (const char* const attempt : {"cat environ", "ls fd", "head -c 1 mem", "cat maps"}) {
    const auto read = script(kAlice, "cd /proc/" + worker + " && " + attempt);
    EXPECT_TRUE(has(read.err, "ermission denied")) << attempt << ": " << read.err;
    EXPECT_FALSE(has(read.out + read.err, "of root")) << attempt;
  }
  const std::string directory = [&] {
    const auto shown = script(kAlice, "cd $TMPDIR/../../.. && pwd");
    return shown.out.substr(0, shown.out.find('\n'));
  }();
  for (const char* const what : {"store", "logs", "binaries", "jobs"}) {
    const auto listed = script(kAlice, "ls " + directory + "/" + what);
    EXPECT_TRUE(has(listed.err, "ermission denied")) << what << ": " << listed.err << listed.out;
  }
  EXPECT_TRUE(worker_->running());
}

TEST_F(OtherUsersTest, AJobCannotReadWhatAnotherHas) {
  Words words{"setpriv",
              "--reuid",
              "61702",
              "--regid",
              "61702",
              "--clear-groups",
              program("shell_probe"),
              "umask 000; echo secret > $TMPDIR/file; echo $TMPDIR > " + files_ / "bob/where" + "; echo $$ > " +
                  files_ / "bob/pid" + "; while [ ! -e " + files_ / "go" + " ]; do sleep 0.02; done",
              "--quiet",
              "--insecure",
              "--cluster",
              address_,
              "--user",
              "bob"};
  Process bobs(words);
  ASSERT_TRUE(eventually([&] { return read_file(files_ / "bob/pid").ends_with('\n'); })) << bobs.err_so_far();
  std::string where = read_file(files_ / "bob/where"), pid = read_file(files_ / "bob/pid");
  where.pop_back(), pid.pop_back();
  for (const std::string& attempt : Words{"cat " + where + "/file", "ls " + where + "/..", "cat /proc/" + pid + "/environ",
                                          "kill -STOP " + pid, "cat " + files_ / "bob/where"}) {
    const auto tried = script(kAlice, attempt);
    EXPECT_TRUE(has(tried.err, "ermission denied") || has(tried.err, "not permitted")) << attempt << ": " << tried.err << tried.out;
  }
  write_file(files_ / "go", "");
  EXPECT_EQ(bobs.wait().exit_code, 0);
}

TEST_F(OtherUsersTest, JobsWorkWithSpillsAndTheirOutputsAreTheUsers) {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += "the word " + std::to_string(i) + " and the line " + std::to_string(i % 977) + "\n";
  write_file(files_ / "alice/in", text);
  ASSERT_EQ(chown((files_ / "alice/in").c_str(), kAlice, kAlice), 0);
  ASSERT_EQ(chmod((files_ / "alice/in").c_str(), 0600), 0);
  const auto counted =
      as(kAlice, {program("wordcount"), "--input", files_ / "alice/in", "--output", files_ / "alice/out", "--memory", "8MiB"});
  EXPECT_EQ(counted.exit_code, 0) << counted.err;
  struct stat info {};
  ASSERT_EQ(stat((files_ / "alice/out/part-00000").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, kAlice);
  const auto others = as(kBob, {program("wordcount"), "--input", files_ / "alice/in", "--output", files_ / "bob/out"});
  EXPECT_NE(others.exit_code, 0) << "it is not his to read";
  const auto grepped =
      as(kAlice, {program("grep"), "--input", files_ / "alice/in", "--output", files_ / "alice/found", "--pattern", "line 5$"});
  EXPECT_EQ(grepped.exit_code, 0) << grepped.err;
}

TEST_F(OtherUsersTest, ADetachedDriverIsAProcessOfTheJobsUserToo) {
  const std::string path = files_ / "driver";
  write_file(path, "#!/bin/sh\nid -un\npwd\nls -d \"$TMPDIR\"\nexit 3\n");
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  const auto submitted = run({program("weft"), "submit", "--detach", "--insecure", "--user", "alice", "--master", address_, path});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  EXPECT_EQ(run({program("weft"), "job", "wait", "1", "--insecure", "--master", address_}).exit_code, 3);
  const std::string log = run({program("weft"), "job", "logs", "1", "--insecure", "--master", address_}).out;
  EXPECT_TRUE(has(log, "alice\n/") && has(log, "/tmp\n")) << log;
}

class SandboxTest : public OtherUsersTest {
 protected:
  void SetUp() override {
    OtherUsersTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    worker_->signal(SIGTERM);
    worker_->wait();
    ASSERT_EQ(mkdir((files_ / "outputs").c_str(), 01777), 0);
    ASSERT_EQ(chmod((files_ / "outputs").c_str(), 01777), 0);
    // The worker's directory is not below the files of the test, which are where the sandbox has something empty.
    start_worker({"--sandbox", "true", "--writable", files_ / "outputs", "--writable", files_ / "alice"});
  }
};

TEST_F(SandboxTest, FilesAreReadOnlyAndThoseOfOthersAreNotThere) {
  const auto ran = script(kAlice, "ls /tmp; touch /tmp/mine && echo mine > $TMPDIR/too && cat /tmp/too; ls /dev/shm | wc -l");
  EXPECT_TRUE(has(ran.out, "mine\n0\n")) << ran.out << ran.err;
  EXPECT_FALSE(has(ran.out, "weft-worker-w") || has(ran.out, "passwd")) << ran.out;
  const auto read_only = script(kAlice, "mount | grep -c ' / .*[(,]ro[,)]' > /dev/null; touch /etc/new");
  EXPECT_TRUE(has(read_only.err, "Read-only file system") || has(read_only.err, "ermission denied")) << read_only.err;
  const auto outside = script(kAlice, "touch " + files_ / "bob/new" + " || touch $HOME/../new");
  EXPECT_NE(outside.exit_code, 0);
  const auto processes =
      script(kAlice, "cat /proc/" + std::to_string(worker_->pid()) + "/stat /proc/1/stat; ls -d /proc/[0-9]* | wc -l");
  EXPECT_TRUE(has(processes.out, "No such file") && !has(processes.out, "weft")) << processes.out << processes.err;
  const auto directory = script(kAlice, "cd $TMPDIR/../../.. && ls -d jobs; ls -d logs store binaries; true");
  EXPECT_TRUE(directory.out.starts_with("jobs\n")) << directory.out << directory.err;
  for (const char* const name : {"logs", "store", "binaries"})
    EXPECT_TRUE(has(directory.out, "'" + std::string(name) + "': No such file")) << directory.out;
}

TEST_F(SandboxTest, JobsReadTheirInputsAndWriteTheirOutputs) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "the word " + std::to_string(i) + "\n";
  write_file(files_ / "alice/in", text);
  ASSERT_EQ(chown((files_ / "alice/in").c_str(), kAlice, kAlice), 0);
  const auto counted =
      as(kAlice, {program("wordcount"), "--input", files_ / "alice/in", "--output", files_ / "outputs/counts", "--memory", "8MiB"});
  EXPECT_EQ(counted.exit_code, 0) << counted.err;
  EXPECT_EQ(part_lines(files_ / "outputs/counts").size(), 100002u);
}

TEST(RunAs, ASandboxNeedsIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "it needs root";
  const auto refused = run({program("weft"), "worker", "--master", "127.0.0.1:1", "--sandbox", "true"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(has(refused.err, "--run-as submitter") && one_line(refused.err)) << refused.err;
}

TEST(RunAs, NamesNoAdministratorOfTheMachine) {
  if (::geteuid() != 0) GTEST_SKIP() << "it needs root";
  const auto refused = run({program("weft"), "worker", "--master", "127.0.0.1:1", "--run-as", "root"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(has(refused.err, "the user root has the rights of root") && one_line(refused.err)) << refused.err;
}

TEST(RunAs, NeedsRootAndADirectoryThatOthersCanEnter) {
  if (::geteuid() != 0) GTEST_SKIP() << "it needs root";
  const ScratchDirectory files;
  const auto closed =
      run({program("weft"), "worker", "--master", "127.0.0.1:1", "--run-as", "submitter", "--directory", files / "w"});
  EXPECT_EQ(closed.exit_code, 1);
  EXPECT_TRUE(has(closed.err, "other users cannot enter " + files.path()) && one_line(closed.err)) << closed.err;
  const auto unknown = run({program("weft"), "worker", "--master", "127.0.0.1:1", "--run-as", "no-such-user"});
  EXPECT_TRUE(has(unknown.err, "this machine has no user no-such-user") && one_line(unknown.err)) << unknown.err;
  const auto plain = run({"setpriv", "--reuid", "61701", "--clear-groups", program("weft"), "worker", "--run-as", "submitter"});
  EXPECT_TRUE(has(plain.err, "only a worker of root") && one_line(plain.err)) << plain.err;
}

}  // namespace
}  // namespace weft::test
