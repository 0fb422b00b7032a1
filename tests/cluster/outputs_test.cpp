// Files that commands and jobs write where the user says: what is there before stays what it is, and nothing of the user's is lost.
#include <filesystem>
#include <functional>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/cluster/file_cluster.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

class Outputs : public testing::Test {
 public:
  static const std::string& master() { return world->cluster.address(); }

 protected:
  static void SetUpTestSuite() {
    world = std::make_unique<World>();
    const ScratchDirectory& files = world->files;
    FileCluster& cluster = world->cluster;
    write_file(files / "words.txt", "a b\nc a\n");
    EXPECT_EQ(cluster.run_fs({"put", files / "words.txt", "/words", "--replication", "1"}).exit_code, 0);
    EXPECT_EQ(weft({"table", "create", "t", "--replication", "1"}).exit_code, 0);
    EXPECT_EQ(weft({"table", "put", "t", "key", "value"}).exit_code, 0);
    EXPECT_EQ(run({program("wordcount"), "--quiet", "--cluster", cluster.address(), "--input", files / "words.txt", "--output",
                   files / "counts"})
                  .exit_code,
              0);
  }
  static void TearDownTestSuite() { world.reset(); }

  static ProcessResult weft(Words words) {
    words.insert(words.begin(), program("weft"));
    words.insert(words.end(), {"--master", world->cluster.address()});
    return run(words);
  }
  /// A command with the name of a file for @.
  static ProcessResult run_with(Words words, const std::string& file) {
    for (std::string& word : words)
      if (word == "@") word = file;
    return run(words, {.environment = {{"WEFT_MASTER", world->cluster.address()}}});
  }

  struct World {
    ScratchDirectory files{};
    std::string event_log = files / "events";
    FileCluster cluster{1, {.master = {"--event-log", event_log}}};
  };
  static std::unique_ptr<World> world;
  ScratchDirectory files;
};
std::unique_ptr<Outputs::World> Outputs::world;

/// What is there to write a file.
std::vector<Words> exports(const std::string& log) {
  const std::string weft = program("weft");
  return {{weft, "fs", "get", "weft://words", "@"},
          {weft, "fs", "cp", "weft://words", "@"},
          {weft, "table", "export", "t", "@"},
          {weft, "profile", "export", "--output", "@"},
          {weft, "job", "trace", "1", "--event-log", log, "-o", "@"},
          {weft, "job", "report", "1", "--event-log", log, "-o", "@"},
          {weft, "simulate", "--workload", "generate:jobs=2", "--write-workload", "@"}};
}

/// What tells of a run.
std::vector<Words> reports(const std::string& input, const std::string& output) {
  const std::string weft = program("weft");
  return {{program("wordcount"), "--quiet", "--input", input, "--output", output, "--overwrite", "--stats", "@"},
          {weft, "simulate", "--quiet", "--workload", "generate:jobs=2", "--report", "@"},
          {weft, "simulate", "--quiet", "--workload", "generate:jobs=2", "--event-log", "@"}};
}

TEST_F(Outputs, WhatExistsIsReplacedOnlyWhenThatIsSaid) {
  for (Words command : exports(world->event_log)) {
    const std::string name = command[1] + " " + command[2];
    const std::string file = files / "file";
    write_file(file, "mine");
    const auto refused = run_with(command, file);
    EXPECT_EQ(refused.exit_code, 1) << name;
    EXPECT_EQ(refused.err, "weft: " + file + " exists; say --overwrite to replace it\n") << name;
    EXPECT_EQ(read_file(file), "mine") << name;
    command.emplace_back("--overwrite");
    const auto replaced = run_with(command, file);
    EXPECT_EQ(replaced.exit_code, 0) << name << ": " << replaced.err;
    EXPECT_TRUE(read_file(file) != "mine" && !read_file(file).empty()) << name;
    EXPECT_EQ(std::distance(fs::directory_iterator(files.path()), fs::directory_iterator()), 1) << name << " leaves something";
  }
  write_file(files / "file", "mine");
  for (const Words& command : reports(world->files / "words.txt", world->files / "again")) {
    const auto written = run_with(command, files / "file");
    EXPECT_EQ(written.exit_code, 0) << written.err;
    EXPECT_NE(read_file(files / "file"), "mine") << "it tells of the last run";
    write_file(files / "file", "mine");
  }
}

TEST_F(Outputs, AreWrittenToWhatIsNoFileAndThroughLinks) {
  std::vector<Words> commands = exports(world->event_log);
  for (Words& command : reports(world->files / "words.txt", world->files / "again")) commands.push_back(std::move(command));
  for (const Words& command : commands) {
    const std::string name = command[1] + " " + command[2];
    // A device: of a link to it, so that a command that is wrong harms nobody.
    fs::remove(files / "null");
    fs::create_symlink("/dev/null", files / "null");
    EXPECT_EQ(run_with(command, files / "null").exit_code, 0) << name;
    EXPECT_TRUE(fs::is_symlink(files / "null") && fs::is_character_file(files / "null")) << name;

    fs::remove(files / "pipe");
    ASSERT_EQ(::mkfifo((files / "pipe").c_str(), 0600), 0);
    Process reader({"/bin/cat", files / "pipe"});
    const auto piped = run_with(command, files / "pipe");
    EXPECT_EQ(piped.exit_code, 0) << name << ": " << piped.err;
    EXPECT_FALSE(reader.wait().out.empty()) << name;
    EXPECT_TRUE(fs::is_fifo(files / "pipe")) << name;

    const auto printed = run_with(command, "/dev/stdout");
    EXPECT_EQ(printed.exit_code, 0) << name << ": " << printed.err;
    EXPECT_FALSE(printed.out.empty()) << name;

    fs::remove(files / "link");
    fs::remove(files / "target");
    fs::create_symlink("target", files / "link");
    EXPECT_EQ(run_with(command, files / "link").exit_code, 0) << name << ", whose file is not there yet";
    EXPECT_TRUE(fs::is_symlink(files / "link") && fs::is_regular_file(fs::symlink_status(files / "target"))) << name;
    EXPECT_FALSE(read_file(files / "target").empty()) << name;

    const auto directory = run_with(command, files.path());
    const bool into = command[1] == "fs";  // under its own name
    EXPECT_EQ(directory.exit_code != 0, !into) << name;
    EXPECT_TRUE(into || (one_line(directory.err) && has(directory.err, "is a directory; name a file"))) << name << directory.err;
    fs::remove(files / "words");
  }
}

TEST_F(Outputs, MayHaveTheLongestNames) {
  const std::string longest(255, 'n');
  std::vector<Words> commands = exports(world->event_log);
  for (Words& command : reports(world->files / "words.txt", world->files / "again")) commands.push_back(std::move(command));
  for (const Words& command : commands) {
    fs::remove(files / longest);
    const auto written = run_with(command, files / longest);
    EXPECT_EQ(written.exit_code, 0) << command[1] << ": " << written.err;
    EXPECT_FALSE(read_file(files / longest).empty());
  }
  const std::string other = longest.substr(1) + "m";
  for (const std::string& output : {files / (longest.substr(1) + "o"), files / other, "weft://" + longest, "weft://" + other}) {
    for (const bool again : {false, true}) {
      Words job{program("wordcount"), "--quiet", "--input", world->files / "words.txt",
                "--output",           output,    "--files", world->cluster.address()};
      if (again) job.emplace_back("--overwrite");
      const auto done = run(job);
      EXPECT_EQ(done.exit_code, 0) << output << ": " << done.err;
    }
  }
  EXPECT_TRUE(fs::exists(files / (other + "/_SUCCESS")));
  EXPECT_FALSE(has(world->cluster.run_fs({"ls", "/"}).out, ".weft-"));
}

TEST_F(Outputs, APortFileMayBeALinkOrADevice) {
  fs::create_symlink("address", files / "link");
  Process master({program("weft"), "master", "--listen", "127.0.0.1:0", "--http", "none", "--port-file", files / "link"},
                 {.daemon = true});
  EXPECT_TRUE(eventually([&] { return has(read_file(files / "address"), "127.0.0.1:"); })) << master.err_so_far();
  EXPECT_TRUE(fs::is_symlink(files / "link"));
  Process other({program("weft"), "master", "--listen", "127.0.0.1:0", "--http", "none", "--port-file", "/dev/stdout"},
                {.daemon = true});
  EXPECT_TRUE(eventually([&] { return has(other.out_so_far(), "\n127.0.0.1:"); })) << other.out_so_far() << other.err_so_far();
  EXPECT_TRUE(has(other.out_so_far(), "weft master listens on 127.0.0.1:"));
  for (Process* process : {&master, &other}) {
    process->signal(SIGTERM);
    EXPECT_EQ(process->wait().exit_code, 0);
  }
}

TEST_F(Outputs, AnEventLogIsRotatedBesideWhereItIs) {
  fs::create_directory(files / "logs");
  fs::create_symlink("logs/events", files / "events");
  Process master({program("weft"), "master", "--listen", "127.0.0.1:0", "--http", "none", "--port-file", files / "port",
                  "--event-log", files / "events", "--event-log-size", "1"},
                 {.daemon = true});
  EXPECT_TRUE(eventually([&] { return !read_file(files / "port").empty(); })) << master.err_so_far();
  std::string address = read_file(files / "port");
  address.pop_back();
  EXPECT_EQ(run({program("weft"), "scheduler", "use", "fair", "--master", address}).exit_code, 0);
  EXPECT_TRUE(eventually([&] { return fs::exists(files / "logs/events.000001") || fs::exists(files / "logs/events.000001.zst"); }))
      << master.err_so_far();
  EXPECT_TRUE(fs::is_symlink(files / "events"));
  master.signal(SIGTERM);
  EXPECT_EQ(master.wait().exit_code, 0);

  Process printing({program("weft"), "master", "--listen", "127.0.0.1:0", "--http", "none", "--port-file", files / "port2",
                    "--event-log", "/dev/stdout", "--event-log-size", "1"},
                   {.daemon = true});
  EXPECT_TRUE(eventually([&] { return has(printing.out_so_far(), "log_started"); })) << printing.err_so_far();
  printing.signal(SIGTERM);
  EXPECT_EQ(printing.wait().exit_code, 0);
  EXPECT_TRUE(fs::exists("/dev/stdout"));
}

/// The command writes to a pipe whose reader has gone before it began.
ProcessResult unread(const std::string& directory, const Words& command) {
  Words words{"/bin/sh", "-c",
              "rm -f \"$0/gone\" && mkfifo \"$0/gone\" && exec 3<>\"$0/gone\" 4>\"$0/gone\" 3<&- && \"$@\" >&4 4>&-; status=$?; "
              "echo ended >&2; exit $status",
              directory};
  words.insert(words.end(), command.begin(), command.end());
  return run(words, {.environment = {{"WEFT_MASTER", Outputs::master()}}});
}

TEST_F(Outputs, NobodyHasToReadThemToTheEnd) {
  write_file(files / "large", std::string(3'000'000, 'x') + "\n");
  ASSERT_EQ(world->cluster.run_fs({"put", files / "large", "/large", "--replication", "1"}).exit_code, 0);
  const std::string weft = program("weft");
  for (const Words& command : std::vector<Words>{{weft, "fs", "cat", "/large"},
                                                 {weft, "fs", "ls", "/"},
                                                 {weft, "fs", "report"},
                                                 {weft, "table", "scan", "t"},
                                                 {weft, "job", "list"},
                                                 {weft, "job", "tail", "1"},
                                                 {weft, "node", "list"},
                                                 {weft, "simulate", "--print-cluster"},
                                                 {weft, "--help"}}) {
    const auto ended = unread(files.path(), command);
    EXPECT_EQ(ended.exit_code, 0) << command[1] << ": " << ended.err;
    EXPECT_TRUE(ended.err == "ended\n" || command.back() == "1") << command[1] << ": " << ended.err;
  }
  const auto failed = unread(files.path(), {weft, "fs", "cat", "/nothing"});
  EXPECT_EQ(failed.exit_code, 1) << "what is wrong is wrong all the same";
  EXPECT_TRUE(has(failed.err, "/nothing does not exist")) << failed.err;
  const auto full = run({"/bin/sh", "-c", "\"$0\" job list --master \"$1\" > /dev/full", weft, world->cluster.address()});
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_EQ(full.err, "weft: cannot write standard output: No space left on device\n");
}

TEST_F(Outputs, AJobGoesOnWhenNobodyReadsWhatItPrints) {
  const auto explained =
      unread(files.path(), {program("wordcount"), "--input", world->files / "words.txt", "--output", files / "never", "--explain"});
  EXPECT_EQ(explained.exit_code, 0) << explained.err;
  EXPECT_EQ(explained.err, "ended\n");
  for (const Words& where : std::vector<Words>{{"--threads", "2"}, {"--workers", "2"}, {"--cluster", master()}}) {
    Words job{program("cluster_probe"), "sums", "--records", "20000", "--quiet", "--stats", files / "stats"};  // it prints them
    job.insert(job.end(), where.begin(), where.end());
    const auto ended = unread(files.path(), job);
    EXPECT_EQ(ended.exit_code, 0) << where[0] << ": " << ended.err;
    EXPECT_EQ(ended.err, "ended\n") << where[0];
    EXPECT_TRUE(has(read_file(files / "stats"), "\"stages\":[")) << where[0];
    fs::remove(files / "stats");
  }
}

}  // namespace
}  // namespace weft::test
