// What is for one process at a time (names, directories), and what is waited for (masters, leases).
#include <filesystem>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/fd.hpp"
#include "tests/cluster/file_cluster.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

class Claims : public testing::Test {
 protected:
  std::unique_ptr<Process> start_master(const Words& options, const std::string& listen = "127.0.0.1:0") {
    fs::remove(files / "port");
    Words command{program("weft"), "master", "--listen", listen, "--http", "none", "--port-file", files / "port"};
    command.insert(command.end(), options.begin(), options.end());
    auto master = std::make_unique<Process>(command, ProcessOptions{.daemon = true});
    EXPECT_TRUE(eventually([&] { return !read_file(files / "port").empty(); })) << master->err_so_far();
    address = read_file(files / "port");
    address.erase(address.find_last_not_of('\n') + 1);
    return master;
  }
  static void end(Process& process) {
    process.signal(SIGTERM);
    EXPECT_EQ(process.wait().exit_code, 0);
  }

  ScratchDirectory files;
  std::string address;
};

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST_F(Claims, ASecondMasterOfADirectoryIsRefusedByName) {
  for (const std::string option : {"--profiles", "--directory", "--data-dir"}) {
    const std::string directory = files / option;
    const auto first = start_master({option, directory});
    const auto second = run({program("weft"), "master", "--listen", "127.0.0.1:0", "--http", "none", option, directory});
    EXPECT_EQ(second.exit_code, 1) << option << second.out << second.err;
    const std::string said = second.err.substr(second.err.rfind("weft: "));
    EXPECT_TRUE(one_line(said) && has(said, directory) && has(said, "another master")) << option << ": " << second.err;
    first->signal(SIGKILL);
    first->wait();
    end(*start_master({option, directory}));  // what a killed one had is free
  }
}

TEST_F(Claims, ASecondWorkerOfADirectoryIsRefusedByName) {
  const auto master = start_master({});
  Process first({program("weft"), "worker", "--master", address, "--directory", files / "work"}, {.daemon = true});
  ASSERT_EQ(run({program("weft"), "node", "wait", "1", "--master", address}).exit_code, 0) << first.err_so_far();
  const auto second = run({program("weft"), "worker", "--master", address, "--directory", files / "work"});
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_TRUE(has(second.err, files / "work" + " is in use by another worker that runs")) << second.err;
  end(first);
  end(*master);
}

TEST_F(Claims, AChunkDirectoryIsNamedOnce) {
  fs::create_directory(files / "one");
  fs::create_symlink("one", files / "link");
  for (const auto& [a, b] : std::vector<std::pair<std::string, std::string>>{
           {"one", "one"}, {"one", "link"}, {"new", "new"}, {"one", "./one/"}, {"new", "link/../new"}}) {
    const auto refused =
        run({program("weft"), "worker", "--master", "127.0.0.1:1", "--chunk-dir", files / a, "--chunk-dir", files / b});
    EXPECT_EQ(refused.exit_code, 1) << a << " " << b << refused.err;
    EXPECT_TRUE(one_line(refused.err) && has(refused.err, "--chunk-dir: ") && has(refused.err, "once")) << refused.err;
  }
}

TEST_F(Claims, AWorkersNameIsItsOwn) {
  FileCluster cluster(1, {});
  const std::string weft = program("weft");
  const auto second = run({weft, "worker", "--master", cluster.address(), "--name", "w1", "--chunk-dir", files / "chunks"});
  EXPECT_EQ(second.exit_code, 1);
  const std::string said = second.err.substr(second.err.rfind("weft: "));
  EXPECT_TRUE(one_line(said) && has(said, "the worker w1 is there already, on h1 at 127.0.0.1:") &&
              has(said, "give this one another --name, or end that one"))
      << second.err;
  EXPECT_EQ(times(cluster.master().err_so_far(), "worker w1 at "), 1u) << "the first one stays: " << cluster.master().err_so_far();
  cluster.kill_worker(0);
  cluster.start_worker(0);
  EXPECT_TRUE(cluster.ready(1)) << "started again, it is welcome";
}

/// A job's work directory and a file in the making, both of writers with nothing to say, live three times as long as a lease: so
/// long as it takes three drivers that are killed to be missed, one after the other.
TEST_F(Claims, AShortLeaseIsRenewedInTime) {
  FileCluster cluster(1, {.master = {"--lease", "1s"}});
  write_file(files / "words", "a b a\n");
  ASSERT_EQ(cluster.run_fs({"put", files / "words", "/words", "--replication", "1"}).exit_code, 0);
  ASSERT_EQ(::mkfifo((files / "pipe").c_str(), 0600), 0);
  Fd end_of_pipe(::open((files / "pipe").c_str(), O_RDWR | O_CLOEXEC));
  Words put{"/bin/sh", "-c", "exec \"$@\" < \"$0\"", files / "pipe"};
  for (const std::string& word : cluster.fs({"put", "-", "/slow", "--replication", "1"})) put.push_back(word);
  Process writer(put);
  ASSERT_TRUE(eventually([&] { return FileCluster::number(cluster.report(), "open_files") == 1; })) << cluster.report();
  cluster.worker(0).signal(SIGSTOP);  // so that jobs wait
  const auto job = [&](const std::string& output) {
    return std::make_unique<Process>(Words{program("wordcount"), "--quiet", "--cluster", cluster.address(), "--input",
                                           "weft://words", "--output", "weft://" + output});
  };
  const auto listed = [&] { return cluster.run_fs({"ls", "/"}).out; };
  const auto patient = job("patient");
  ASSERT_TRUE(eventually([&] { return has(listed(), "/.patient.weft-"); })) << patient->err_so_far();
  for (int number = 0; number < 3; ++number) {
    const auto killed = job("killed");
    ASSERT_TRUE(eventually([&] { return has(listed(), "/.killed.weft-"); })) << killed->err_so_far();
    killed->signal(SIGKILL);
    killed->wait();
    ASSERT_TRUE(eventually([&] { return !has(listed(), "/.killed.weft-"); }));
  }
  EXPECT_TRUE(has(listed(), "/.patient.weft-")) << "its lease ran out";
  cluster.worker(0).signal(SIGCONT);
  EXPECT_EQ(patient->wait().exit_code, 0) << patient->err_so_far();
  ASSERT_EQ(::write(end_of_pipe.get(), "slow\n", 5), 5);
  end_of_pipe.reset();
  EXPECT_EQ(writer.wait().exit_code, 0) << writer.err_so_far();
  EXPECT_EQ(cluster.run_fs({"cat", "/slow"}).out, "slow\n");
}

std::string verb(const Words& command) { return command.size() > 2 ? command[2] : ""; }

TEST_F(Claims, EveryCommandWaitsForAMasterThatIsAwayWhenItBegins) {
  write_file(files / "words", "a b a\n");
  end(*start_master({"--data-dir", files / "data", "--journal", files / "journal"}));
  const std::string weft = program("weft");
  const std::vector<Words> commands{
      {weft, "job", "list"},
      {weft, "job", "explain", "1"},
      {weft, "job", "wait", "1"},
      {weft, "node", "list"},
      {weft, "node", "set", "w1", "slots=1"},
      {weft, "node", "drain", "another"},
      {weft, "top"},
      {weft, "fs", "ls", "/"},
      {weft, "fs", "cp", files / "words", "weft://copied"},
      {weft, "table", "list"},
      {weft, "profile", "list"},
      {weft, "pool", "list"},
      {weft, "scheduler", "show"},
      {weft, "scheduler", "reload"},
      {weft, "submit", program("wordcount"), "--", "--input", files / "words", "--output", files / "counts"},
      {program("wordcount"), "--input", files / "words", "--output", "weft://counts", "--files", address},
  };
  std::vector<std::unique_ptr<Process>> waiting;
  for (Words command : commands) {
    const auto place = command[0] == weft ? command.begin() + 1 : command.end();
    Words said{"--patience", "100s"};
    if (command[0] == weft) said.insert(said.end(), {"--master", address});
    command.insert(place, said.begin(), said.end());
    waiting.push_back(std::make_unique<Process>(command));
  }
  for (std::size_t i = 0; i < commands.size(); ++i)
    EXPECT_TRUE(eventually([&] { return has(waiting[i]->err_so_far(), "waiting for up to 100 s"); }))
        << commands[i][1] << ": " << waiting[i]->err_so_far();
  const auto master = start_master({"--data-dir", files / "data", "--journal", files / "journal"}, std::string(address));
  Process worker({weft, "worker", "--master", address, "--name", "w1", "--slots", "2", "--chunk-dir", files / "chunks",
                  "--chunk-reserve", "1MiB"},
                 {.daemon = true});
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const auto ended = waiting[i]->wait();
    if (verb(commands[i]) == "wait" || verb(commands[i]) == "explain") {  // of a job of which this master knows nothing, perhaps
      EXPECT_FALSE(has(ended.err, "no weft master answers at " + address + ": ")) << ended.err;
      continue;
    }
    if (verb(commands[i]) == "set" || verb(commands[i]) == "drain") continue;  // the worker may be on its way still: it is answered
    EXPECT_EQ(ended.exit_code, 0) << commands[i][1] << " " << verb(commands[i]) << ": " << ended.err;
  }
  end(worker);
  end(*master);
}

TEST_F(Claims, PatienceEndsWithALineThatSaysSo) {
  const std::string weft = program("weft");
  write_file(files / "words", "a b a\n");
  for (const Words& command : std::vector<Words>{{weft, "job", "list"},
                                                 {weft, "fs", "ls", "/"},
                                                 {weft, "table", "list"},
                                                 {program("wordcount"), "--input", files / "words", "--output", "weft://counts"}}) {
    Words words = command;
    words.insert(words.end(), {"--patience", "700ms", command[0] == weft ? "--master" : "--files", "127.0.0.1:1"});
    const auto given_up = run(words);
    EXPECT_EQ(given_up.exit_code, 1);
    const std::string last = given_up.err.substr(given_up.err.rfind('\n', given_up.err.size() - 2) + 1);
    EXPECT_TRUE(has(last, "gave up after ") && has(last, "no weft master answers at 127.0.0.1:1; ")) << given_up.err;
    words[words.size() - 3] = "0s";
    const auto at_once = run(words);
    EXPECT_EQ(at_once.exit_code, 1);
    EXPECT_TRUE(one_line(at_once.err) && !has(at_once.err, "gave up")) << at_once.err;
  }
}

}  // namespace
}  // namespace weft::test
