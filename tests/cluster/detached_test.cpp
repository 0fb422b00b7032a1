// Jobs whose driver runs in the cluster: weft submit --detach, and what becomes of them when drivers and workers die.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include "tests/cluster/cluster.hpp"

namespace weft::test {
namespace {

/// `weft submit --detach`, and the job's number.
class Detached : public testing::Test {
 protected:
  explicit Detached(int workers = 2) : cluster(workers) {}
  ProcessResult submit(std::vector<std::string> words) const {
    words.insert(words.begin(), {"submit", "--detach"});
    return admin(std::move(words));
  }
  /// In another directory than this process and the workers.
  ProcessResult submit_from(const std::string& directory, std::vector<std::string> words) const {
    words.insert(words.begin(), {"/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", directory, program("weft"), "--master",
                                 cluster.address(), "submit", "--detach"});
    return run(words, {.environment = {}, .deadline = std::chrono::seconds(60)});
  }
  /// Options of weft stand before the program.
  ProcessResult admin(std::vector<std::string> words) const {
    words.insert(words.begin(), {program("weft"), "--master", cluster.address()});
    return run(words, {.environment = {}, .deadline = std::chrono::seconds(60)});
  }
  std::string script(const std::string& name, const std::string& text) const {
    const std::string path = scratch / name;
    write_file(path, "#!/bin/sh\n" + text);
    EXPECT_EQ(chmod(path.c_str(), 0755), 0);
    return path;
  }
  /// Of this cluster.
  std::vector<int> drivers(const std::string& job) const {
    auto variables = cluster.options().environment;
    variables["WEFT_DRIVER_JOB"] = job;
    return processes_with(variables);
  }
  static std::ptrdiff_t lines_of(const std::string& path) {
    const std::string text = read_file(path);
    return std::count(text.begin(), text.end(), '\n');
  }
  std::string state(const std::string& job) const {
    const std::string json = admin({"job", "status", job, "--json"}).out;
    const auto at = json.find("\"state\":\"");
    return at == std::string::npos ? "" : json.substr(at + 9, json.find('"', at + 9) - at - 9);
  }

  ScratchDirectory scratch;
  Cluster cluster;
};

TEST_F(Detached, AProgramThatIsNoJobProgramFailsWithItsLastLine) {
  const auto submitted = submit({script("fails", "echo in $(pwd); echo no such thing: \"$1\" >&2; exit 3\n"), "--", "x"});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  EXPECT_EQ(submitted.out, "1\n");
  const auto waited = admin({"job", "wait", "1"});
  EXPECT_EQ(waited.exit_code, 3) << waited.err;
  EXPECT_TRUE(has(waited.err, "job 1 failed: its driver failed: exit code 3: no such thing: x")) << waited.err;
  const auto logs = admin({"job", "logs", "1"});
  EXPECT_TRUE(has(logs.out, "== driver on w") && has(logs.out, "\nno such thing: x\n")) << logs.out;
  EXPECT_TRUE(has(admin({"job", "logs", "1", "--json"}).out, "\"driver\":true"));
  EXPECT_TRUE(has(admin({"job", "logs", "-f", "1"}).out, "| no such thing: x\n"));
  const auto nothing = submit({script("nothing", "exit 0\n")});
  EXPECT_EQ(nothing.out, "2\n") << nothing.err;
  EXPECT_TRUE(has(admin({"job", "wait", "2"}).err, "without having run the job"));
  EXPECT_TRUE(eventually([this] { return drivers("1").empty() && drivers("2").empty(); }));
}

TEST_F(Detached, ItsArgumentsAndItsDirectoryAreThoseOfTheSubmission) {
  const auto submitted =
      submit({"--pool", "etl", script("tells", "echo \"$@\" in $(pwd); exit 1\n"), "--", "a b", "--priority", "7"});
  ASSERT_EQ(submitted.out, "1\n") << submitted.err;
  EXPECT_EQ(admin({"job", "wait", "1"}).exit_code, 3);
  const std::string told = admin({"job", "logs", "1"}).out;
  EXPECT_TRUE(has(told, "a b --priority 7 --pool etl --user ")) << told;
  EXPECT_TRUE(has(told, " --cluster " + cluster.address() + " in /")) << told;
  const std::string json = admin({"job", "status", "1", "--json"}).out;
  EXPECT_TRUE(has(json, "\"pool\":\"etl\"") && has(json, "\"priority\":7")) << json;
}

TEST_F(Detached, AFileThatNoWorkerHasIsRefused) {
  // A path that leads elsewhere in each process stands for a file of this machine alone.
  std::filesystem::create_directory(scratch / "here");
  write_file(scratch / "here/in.txt", "a b\n");
  for (const std::string word : {"/proc/self/cwd/in.txt", "--input=/proc/self/cwd/in.txt"}) {
    const auto refused = submit_from(scratch / "here", {script("never", "exit 1\n"), "--", word});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_EQ(refused.out, "");
    EXPECT_TRUE(has(refused.err, "no worker has /proc/self/cwd/in.txt, which the job's command line names")) << refused.err;
    EXPECT_TRUE(one_line(refused.err)) << refused.err;
  }
  EXPECT_EQ(state("1"), "failed");
  EXPECT_EQ(state("2"), "failed");
  EXPECT_FALSE(has(admin({"job", "logs", "1"}).out, "driver on")) << "it was started nowhere";
}

TEST_F(Detached, APipeIsNoFileThatAWorkerMustHaveAndAProgramMustBeHere) {
  const std::string pipe = scratch / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto special = submit({script("never", "exit 1\n"), "--", pipe});
  EXPECT_EQ(special.exit_code, 0) << "a pipe is no file that a worker could have: " << special.err;
  EXPECT_EQ(submit({scratch / "none"}).exit_code, 1);
  EXPECT_EQ(submit({"no-such-program-anywhere"}).exit_code, 1);
}

TEST_F(Detached, ADriverThatIsKilledIsStartedAgainAndOneWithoutEndIsCancelled) {
  const std::string starts = scratch / "starts";
  const auto submitted = submit({script("endless", "echo $$ >> " + starts + "\nexec sleep 1000\n"), "--json"});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  EXPECT_TRUE(has(submitted.out, "{\"id\":1}")) << submitted.out;
  ASSERT_TRUE(eventually([&] { return lines_of(starts) == 1; }));
  for (const int pid : drivers("1")) ::kill(pid, SIGKILL);
  ASSERT_TRUE(eventually([&] { return lines_of(starts) == 2; }));
  EXPECT_EQ(state("1"), "running");
  EXPECT_EQ(drivers("1").size(), 1u);
  EXPECT_EQ(admin({"job", "wait", "1", "--timeout", "10ms"}).exit_code, 5);
  ASSERT_EQ(admin({"job", "cancel", "1", "--reason", "enough"}).exit_code, 0);
  EXPECT_EQ(admin({"job", "attach", "1"}).exit_code, 4);
  EXPECT_TRUE(eventually([this] { return drivers("1").empty(); })) << "it is stopped though it does not know that its job is over";
}

TEST_F(Detached, ADriverMovesFromAWorkerThatDies) {
  const std::string starts = scratch / "starts";
  ASSERT_EQ(submit({script("endless", "echo $PPID >> " + starts + "\nexec sleep 1000\n")}).out, "1\n");
  ASSERT_TRUE(eventually([&] { return read_file(starts).ends_with('\n'); }));
  const int host = std::stoi(read_file(starts));
  for (const std::size_t index : {0u, 1u})
    if (cluster.worker(index).pid() == host) cluster.worker(index).signal(SIGKILL);
  ASSERT_TRUE(eventually([&] { return lines_of(starts) == 2; }));
  EXPECT_EQ(state("1"), "running");
  EXPECT_TRUE(eventually([this] { return drivers("1").size() == 1; })) << "the first ended with its worker";
  ASSERT_EQ(admin({"job", "kill", "1"}).exit_code, 0);
}

TEST_F(Detached, ARequestIdIsOneJob) {
  const std::string sleeper = script("endless", "exec sleep 1000\n");
  ASSERT_EQ(submit({"--request-id", "nightly", sleeper}).out, "1\n");
  EXPECT_EQ(submit({"--request-id", "nightly", sleeper}).out, "1\n");
  EXPECT_EQ(submit({"--request-id", "weekly", sleeper}).out, "2\n");
  ASSERT_EQ(admin({"job", "kill", "1"}).exit_code, 0);
  EXPECT_EQ(submit({"--request-id", "nightly", sleeper}).out, "1\n") << "it is known, though over";
  ASSERT_EQ(admin({"job", "kill", "2"}).exit_code, 0);
}

/// Without workers: what is removed before the first comes is what no worker ever had.
class DetachedEarly : public Detached {
 protected:
  DetachedEarly() : Detached(0) {
    std::filesystem::create_directory(gone);
    write_file(scratch / "in.txt", "a b a\n");
  }
  /// The end of job 1, whose directory the worker lacks.
  ProcessResult end_without_directory() {
    std::filesystem::remove_all(gone);
    cluster.add_worker();
    return admin({"job", "wait", "1"});
  }
  void submit_script(const std::string& arguments) {
    const auto submitted = submit_from(gone, {script("job", "exec " + program("wordcount") + " " + arguments + " \"$@\"\n")});
    EXPECT_EQ(submitted.out, "1\n") << submitted.err;
  }

  const std::string gone = scratch / "gone", in = scratch / "in.txt";
};

TEST_F(DetachedEarly, AnOutputThatIsRelativeToADirectoryThatNoWorkerHasIsRefused) {
  const auto submitted = submit_from(gone, {program("wordcount"), "--", "--input", in, "--output", "counts"});
  EXPECT_EQ(submitted.out, "1\n") << submitted.err;
  EXPECT_TRUE(has(submitted.err, "there is no worker yet; job 1 waits for one")) << submitted.err;
  EXPECT_TRUE(one_line(submitted.err)) << submitted.err;
  const auto waited = end_without_directory();
  EXPECT_EQ(waited.exit_code, 3);
  EXPECT_TRUE(has(waited.err, "no worker has " + gone + ", the directory of the submission")) << waited.err;
  EXPECT_FALSE(has(admin({"job", "logs", "1"}).out, "driver on")) << "it was started nowhere";
}

TEST_F(DetachedEarly, AnOutputThatTheProgramNamesIsNotLostWithTheDirectoryOfTheDriver) {
  submit_script("--input " + in + " --output counts");
  const auto waited = end_without_directory();
  EXPECT_EQ(waited.exit_code, 3) << waited.out;
  EXPECT_TRUE(has(waited.err, "output counts is relative to the directory of the submission (" + gone + ")")) << waited.err;
}

TEST_F(DetachedEarly, AnInputThatTheProgramNamesIsNotLookedForInTheDirectoryOfTheDriver) {
  submit_script("--input more.txt --output " + scratch / "out");
  const auto waited = end_without_directory();
  EXPECT_EQ(waited.exit_code, 3) << waited.out;
  EXPECT_TRUE(has(waited.err, "input more.txt is relative to the directory of the submission (" + gone + ")")) << waited.err;
}

TEST_F(DetachedEarly, AFileOfFiguresIsNotLostWithTheDirectoryOfTheDriver) {
  submit_script("--stats figures.json --input " + in + " --output " + scratch / "out");
  const auto waited = end_without_directory();
  EXPECT_EQ(waited.exit_code, 3) << waited.out;
  EXPECT_TRUE(has(waited.err, "--stats figures.json is relative to the directory of the submission")) << waited.err;
}

TEST_F(DetachedEarly, AbsolutePathsNeedNoDirectory) {
  ASSERT_EQ(submit_from(gone, {program("wordcount"), "--", "--input", in, "--output", scratch / "out"}).out, "1\n");
  const auto waited = end_without_directory();
  EXPECT_EQ(waited.exit_code, 0) << waited.err;
  EXPECT_EQ(part_lines(scratch / "out").size(), 2u);
}

TEST_F(DetachedEarly, FilesThatAPatternStandsForAreLookedForOnWorkers) {
  write_file(gone + "/a.txt", "a\n");
  ASSERT_EQ(submit_from("/", {program("wordcount"), "--", "--input", gone + "/*.txt", "--output", scratch / "out"}).out, "1\n");
  const auto waited = end_without_directory();
  EXPECT_EQ(waited.exit_code, 3);
  EXPECT_TRUE(has(waited.err, "no worker has " + gone + "/a.txt, which the job's command line names")) << waited.err;
}

// What follows needs drivers that attach to their job and replay their definition.

class DetachedWordcount : public Detached {
 protected:
  void SetUp() override {
    for (int i = 0; i < 20000; ++i) text_ += "the word " + std::to_string(i % 977) + " and the line " + std::to_string(i) + "\n";
    write_file(scratch / "in.txt", text_);
  }
  void expect_counts(const std::string& output) const {
    std::map<std::string, std::uint64_t> counts;
    for (const std::string& line : part_lines(output)) {
      const auto tab = line.find('\t');
      ASSERT_NE(tab, std::string::npos) << line;
      counts[line.substr(0, tab)] = std::stoull(line.substr(tab + 1));
    }
    std::map<std::string, std::uint64_t> expected;
    std::string word;
    for (const char c : text_) {
      if (c != ' ' && c != '\n') {
        word += c;
      } else if (!word.empty()) {
        ++expected[word];
        word.clear();
      }
    }
    EXPECT_EQ(counts, expected);
  }

  std::string text_;
};

TEST_F(DetachedWordcount, FinishesWithoutItsTerminal) {
  const auto submitted = submit({program("wordcount"), "--", "--input", scratch / "in.txt", "--output", scratch / "out"});
  ASSERT_EQ(submitted.out, "1\n") << submitted.err;
  const auto waited = admin({"job", "wait", "1"});
  EXPECT_EQ(waited.exit_code, 0) << waited.err;
  EXPECT_TRUE(has(waited.out, "job 1 wordcount finished")) << waited.out;
  expect_counts(scratch / "out");
  EXPECT_FALSE(has(admin({"job", "list", "--json"}).out, "\"id\":2")) << "it attached to its job";
}

TEST_F(DetachedWordcount, RelativePathsAreThoseOfTheSubmission) {
  const auto submitted = submit_from(scratch.path(), {program("wordcount"), "--", "--input", "in.txt", "--output", "out"});
  ASSERT_EQ(submitted.out, "1\n") << submitted.err;
  EXPECT_EQ(submitted.err, "");
  EXPECT_EQ(admin({"job", "wait", "1"}).exit_code, 0);
  expect_counts(scratch / "out");
}

/// In the foreground.
class Repeated : public DetachedWordcount {
 protected:
  ProcessResult submit_here(const std::string& id, std::vector<std::string> words) const {
    words.insert(words.begin(), {"submit", "--request-id", id});
    return admin(std::move(words));
  }
};

TEST_F(Repeated, ASubmissionWhoseJobHasFinishedIsNoError) {
  const std::vector<std::string> counts{program("wordcount"), "--", "--input", scratch / "in.txt", "--output", scratch / "out"};
  const std::vector<std::string> sums{program("cluster_probe"), "--", "sums", "--records", "100", "--tasks", "2"};
  ASSERT_EQ(submit_here("nightly", counts).exit_code, 0);
  const auto first = submit_here("sums", sums);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  std::filesystem::remove(scratch / "in.txt");  // as after a night's work
  const auto again = submit_here("nightly", counts);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(has(again.err, "wordcount: job 1 has the request id nightly and has finished; nothing is run again\n")) << again.err;
  expect_counts(scratch / "out");
  const auto without_output = submit_here("sums", sums);
  EXPECT_EQ(without_output.exit_code, 0) << without_output.err;
  EXPECT_TRUE(has(without_output.err, "job 2 has the request id sums and has finished; nothing is run again"))
      << without_output.err;
  EXPECT_EQ(without_output.out, "");
  EXPECT_FALSE(has(admin({"job", "list", "--json"}).out, "\"id\":3"));
  const auto other = submit_here("sums", {"--user", "bob", program("cluster_probe"), "--", "sums", "--records", "100"});
  EXPECT_EQ(other.exit_code, 0) << other.err;
  EXPECT_EQ(other.out, first.out) << "another user's";
}

TEST_F(Repeated, ASubmissionWhoseJobHasNotFinishedIsItsError) {
  const std::vector<std::string> bad{program("cluster_probe"), "--", "throw", "--records", "8", "--tasks", "1"};
  ASSERT_EQ(submit_here("bad", bad).exit_code, 1);
  const auto failed = submit_here("bad", bad);
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_TRUE(has(failed.err, "job 1 has the request id bad and has failed: ") && has(failed.err, " is bad") &&
              has(failed.err, "give a new run another --request-id"))
      << failed.err;
  ASSERT_EQ(submit({"--request-id", "slow", script("endless", "exec sleep 1000\n")}).out, "2\n");
  const auto running = submit_here("slow", bad);
  EXPECT_EQ(running.exit_code, 1);
  EXPECT_TRUE(has(running.err, "weft job attach 2 shows it")) << running.err;
  ASSERT_EQ(admin({"job", "kill", "2", "--reason", "enough"}).exit_code, 0);
  const auto killed = submit_here("slow", bad);
  EXPECT_EQ(killed.exit_code, 1);
  EXPECT_TRUE(has(killed.err, "job 2 has the request id slow and was killed: enough")) << killed.err;
  EXPECT_FALSE(has(admin({"job", "list", "--json"}).out, "\"id\":3"));
}

/// Its tasks wait until the test lets them go.
TEST_F(Detached, AJobFinishesThoughItsDriverAndThenItsWorkerAreKilled) {
  ASSERT_EQ(
      submit({program("cluster_probe"), "--", "spin", "--quiet", "--records", "8", "--tasks", "2", "--marker", scratch / "mark"})
          .out,
      "1\n");
  ASSERT_TRUE(eventually([&] { return exists(scratch / "mark"); }));
  const auto first = drivers("1");
  ASSERT_EQ(first.size(), 1u);
  ::kill(first[0], SIGKILL);
  ASSERT_TRUE(eventually([&] { return drivers("1").size() == 1 && drivers("1") != first; }));
  const auto of_worker = [&](std::size_t index) {
    auto variables = cluster.options().environment;
    variables["WEFT_DRIVER_JOB"] = "1";
    variables["WEFT_TEST_NODE"] = "w" + std::to_string(index + 1);
    return processes_with(variables).size();
  };
  // A process that is being started shows its variables a moment later.
  ASSERT_TRUE(eventually([&] { return of_worker(0) + of_worker(1) == 1; }));
  const std::size_t host = of_worker(0) == 1 ? 0 : 1;
  cluster.worker(host).signal(SIGKILL);
  ASSERT_TRUE(eventually([&] { return of_worker(1 - host) == 1; }));
  write_file(scratch / "mark.go", "");
  const auto waited = admin({"job", "wait", "1"});
  EXPECT_EQ(waited.exit_code, 0) << waited.err;
}

TEST_F(Detached, AJobThatIsToContinueOutlivesItsTerminal) {
  Process terminal(
      {program("weft"), "submit", "--master", cluster.address(), "--on-disconnect", "continue", program("cluster_probe"), "--",
       "spin", "--quiet", "--records", "8", "--tasks", "2", "--marker", scratch / "mark"},
      {.environment = {}, .may_die = true});
  ASSERT_TRUE(eventually([&] { return exists(scratch / "mark"); })) << terminal.err_so_far();
  terminal.signal(SIGKILL);
  ASSERT_TRUE(eventually([this] { return drivers("1").size() == 1; })) << "after ten seconds";
  write_file(scratch / "mark.go", "");
  const auto waited = admin({"job", "wait", "1"});
  EXPECT_EQ(waited.exit_code, 0) << waited.err;
}

}  // namespace
}  // namespace weft::test
