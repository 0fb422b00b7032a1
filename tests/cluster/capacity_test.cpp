// Workers whose capacity changes: an operator's word, a program's, and what others on the machine take.
#include <thread>

#include <gmock/gmock.h>

#include "tests/cluster/cluster.hpp"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Capacity : public testing::Test {
 protected:
  bool list_has(const std::string& part) {
    return eventually([&] { return cluster_.admin({"node", "list"}).out.find(part) != std::string::npos; });
  }
  bool json_has(const std::string& part) {
    return eventually([&] { return cluster_.admin({"node", "list", "--json"}).out.find(part) != std::string::npos; });
  }
  ProcessResult set(std::vector<std::string> words) {
    words.insert(words.begin(), {"node", "set"});
    return cluster_.admin(words);
  }
  /// How often the master's log has it.
  int said(const std::string& part) {
    const std::string log = cluster_.master().err_so_far();
    int times = 0;
    for (auto at = log.find(part); at != std::string::npos; at = log.find(part, at + 1)) ++times;
    return times;
  }
  ScratchDirectory files_;
  Cluster cluster_{0, {"--event-log", files_ / "events"}};
};

TEST_F(Capacity, AnOperatorTakesAWorkersSlotsAndWhatRunsThereGoesOn) {
  cluster_.add_worker();
  ASSERT_TRUE(cluster_.has_nodes(1));
  const std::string marker = files_ / "spin";
  Process job(cluster_.job({"spin", "--tasks", "2", "--records", "2000", "--marker", marker}), cluster_.options());
  ASSERT_TRUE(json_has("\"running\":2"));
  const auto done = set({"w1", "slots=0", "--reason", "a new disk"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_TRUE(list_has("ready, reduced: set by an operator: a new disk"));
  EXPECT_THAT(cluster_.admin({"node", "list", "--json"}).out,
              AllOf(HasSubstr("\"capacity_why\":\"set by an operator: a new disk\""), HasSubstr("\"nominal\":{\"cpu\":2"),
                    HasSubstr("\"running\":2")));
  write_file(marker + ".go", "");
  EXPECT_TRUE(eventually([&] {
    return cluster_.admin({"job", "explain", "1"}).out.find("at present: the capacity of 1 worker is reduced") != std::string::npos;
  })) << cluster_.admin({"job", "explain", "1"}).out;
  ASSERT_EQ(set({"w1", "slots=1"}).exit_code, 0);
  EXPECT_EQ(job.wait().out, expected_sums(2000));
  ASSERT_EQ(set({"w1", "nominal"}).exit_code, 0);
  EXPECT_TRUE(list_has("ready  "));
  EXPECT_THAT(read_file(files_ / "events"),
              AllOf(HasSubstr("\"event\":\"capacity_changed\""), HasSubstr("\"reason\":\"set by an operator: a new disk\"")));
}

TEST_F(Capacity, WhatAnOperatorCannotSetIsOneClearLine) {
  cluster_.add_worker();
  ASSERT_TRUE(cluster_.has_nodes(1));
  const auto refused = [&](const std::vector<std::string>& words, int code, const std::string& why) {
    const auto result = set(words);
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(why));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  };
  refused({"w1", "slots=3"}, 1, "worker w1 joined with cpu=2");
  refused({"w2", "slots=1"}, 1, "there is no worker 'w2'");
  refused({"w1", "disk_read=1MB"}, 1, "worker w1 does not account for disk_read");
  refused({"w1", "slot=1"}, 2, "'slot=1' is no amount of a worker's capacity");
  refused({"w1", "slots=-1"}, 2, "must be finite and not negative");
  refused({"w1"}, 2, "CAPACITY is required");
}

TEST_F(Capacity, FollowsAFileThatProgramsWrite) {
  const std::string file = files_ / "capacity", forecast = files_ / "forecast";
  write_file(file, "slots=1  # at first\n");
  write_file(forecast, "00:00 50%\n");
  cluster_.add_worker({"--capacity-from", file, "--forecast", forecast});
  ASSERT_TRUE(list_has("reduced: its --capacity-from file"));
  EXPECT_TRUE(json_has("\"capacity\":{\"cpu\":1,"));
  write_file(file, "slots=many\n");
  EXPECT_TRUE(eventually([&] { return said("worker w1: its --capacity-from file is wrong: cpu=many is not a number") == 1; }))
      << cluster_.master().err_so_far();
  EXPECT_TRUE(json_has("\"capacity\":{\"cpu\":1,")) << "the last good one stays";
  write_file(file, "nominal");
  EXPECT_TRUE(json_has("\"capacity\":{\"cpu\":2,"));
  EXPECT_EQ(said("is wrong"), 1) << "once";
  write_file(file, std::string(5000, ' '));
  EXPECT_TRUE(eventually([&] { return cluster_.worker(0).err_so_far().find("has more than 4096 bytes") != std::string::npos; }));
  EXPECT_TRUE(eventually([&] { return read_file(files_ / "events").find("\"forecast\":[{\"from_ns\":") != std::string::npos; }));
  EXPECT_EQ(run(cluster_.job({"sums", "--records", "3000"})).out, expected_sums(3000));
}

TEST_F(Capacity, FilesThatAreWrongFromTheBeginningAreRefused) {
  const std::string file = files_ / "capacity";
  write_file(file, "slots=1,slots=2\n");
  const auto start = [&](const std::string& option, const std::string& path) {
    return run({program("weft"), "worker", "--master", cluster_.address(), option, path});
  };
  const auto twice = start("--capacity-from", file);
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_THAT(twice.err, HasSubstr(file + ": cpu is given twice"));
  const auto hour = start("--forecast", file);
  EXPECT_EQ(hour.exit_code, 2);
  EXPECT_THAT(hour.err, HasSubstr("line 1: 'slots=1,slots=2' is no hour of a day"));
  const auto missing = start("--capacity-from", file + "2");
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("No such file"));
}

/// A load on the same machines has priority: what it needs it gets at once, and what had to stop runs again.
TEST(CapacityTaken, StopsTasksWithinASecondAndNothingIsLost) {
  ScratchDirectory files;
  const std::string log = files / "events", marker = files / "spin";
  Cluster cluster(0, {"--scheduler", "reverse_adaptive(cycle=1s)", "--event-log", log});
  for (int i = 0; i < 2; ++i) cluster.add_worker({"--stop-grace", "300ms"});
  ASSERT_TRUE(cluster.has_nodes(2));
  Process job(cluster.job({"spin", "--tasks", "6", "--records", "3000", "--marker", marker}), cluster.options());
  const auto running = [&] {
    const std::string list = cluster.admin({"node", "list", "--json"}).out;
    int tasks = 0;
    for (auto at = list.find("\"running\":"); at != std::string::npos; at = list.find("\"running\":", at + 1))
      tasks += list[at + 10] - '0';
    return tasks;
  };
  ASSERT_TRUE(eventually([&] { return running() == 4; }));
  ASSERT_EQ(cluster.admin({"node", "set", "w1", "slots=0"}).exit_code, 0);  // in user code that asks nobody whether to go on
  EXPECT_TRUE(eventually([&] { return running() == 2; }));
  // A task that is asked to stop may still end in the time that it is given: only when both have failed may the others go on.
  std::string events;
  EXPECT_TRUE(eventually([&] {
    events = read_file(files / "events");
    const auto first = events.find("\"event\":\"task_failed\"");
    return first != std::string::npos && events.find("\"event\":\"task_failed\"", first + 1) != std::string::npos;
  }));
  write_file(marker + ".go", "");
  ASSERT_EQ(cluster.admin({"node", "set", "w1", "nominal"}).exit_code, 0);
  EXPECT_EQ(job.wait().out, expected_sums(3000));

  const auto time_of = [&](std::size_t at) { return std::stod(events.substr(events.rfind("\"time_ns\":", at) + 10)) / 1e9; };
  const std::size_t taken = events.find("\"event\":\"capacity_changed\"");
  ASSERT_NE(taken, std::string::npos);
  double last = 0;
  int stopped = 0;
  for (auto at = events.find("\"event\":\"task_failed\"", taken); at != std::string::npos && stopped < 2;
       at = events.find("\"event\":\"task_failed\"", at + 1)) {
    last = time_of(at);
    ++stopped;
  }
  EXPECT_EQ(stopped, 2);
  RecordProperty("seconds_until_stopped", std::to_string(last - time_of(taken)));
  std::printf("stopped %.3f s after the capacity was taken\n", last - time_of(taken));
  EXPECT_LT(last - time_of(taken), 10) << "a second, where the machine has one to spare";
}

TEST_F(Capacity, LeavesToOthersOnTheMachineWhatTheyTake) {
  cluster_.add_worker({"--yield", "true", "--slots", "8"});
  cluster_.add_worker({"--slots", "8"});
  ASSERT_TRUE(cluster_.has_nodes(2));
  std::vector<std::unique_ptr<Process>> others;
  for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i)
    others.push_back(
        std::make_unique<Process>(std::vector<std::string>{"/bin/sh", "-c", "while :; do :; done"}, cluster_.options()));
  EXPECT_TRUE(list_has("reduced: others on its machine use")) << cluster_.admin({"node", "list"}).out;
  std::string second = cluster_.admin({"node", "list"}).out;
  second.erase(0, second.find(" w2 "));
  EXPECT_THAT(second.substr(0, second.find('\n')), Not(HasSubstr("reduced"))) << "it was not asked to";
  for (const auto& other : others) {
    other->signal(SIGKILL);
    other->wait();
  }
}

}  // namespace
}  // namespace weft::test
