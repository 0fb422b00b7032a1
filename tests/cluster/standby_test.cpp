// Two masters and an etcd: what happens when the one that leads is gone, hangs, or is cut off.
#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/fd.hpp"
#include "tests/cluster/master_group.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

class Standby : public testing::Test {
 protected:
  void SetUp() override {
    if (etcd_program().empty()) GTEST_SKIP() << "there is no etcd (scripts/setup installs it)";
    group.emplace();
  }
  /// A job whose first stage has ended and whose second waits for go(), in a process of its own.
  std::vector<std::string> holding() const {
    return group->job("cluster_probe", {"hold", "--records", "1000", "--tasks", "4", "--marker", marker, "--output", output});
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
  void put_file() const {
    write_file(files / "local", std::string(300'000, 'x') + "\n");
    const auto put = group->admin({"fs", "put", files / "local", "/kept", "--replication", "2"});
    ASSERT_EQ(put.exit_code, 0) << put.err;
  }
  void expect_file() const {
    const auto got = group->admin({"fs", "get", "/kept", files / "back"});
    EXPECT_EQ(got.exit_code, 0) << got.err;
    EXPECT_TRUE(read_file(files / "back") == read_file(files / "local"));
    std::filesystem::remove(files / "back");
  }
  static ProcessResult refused(const std::vector<std::string>& words) {
    std::vector<std::string> command{program("weft"), "master", "--listen", "127.0.0.1:0", "--http", "none"};
    command.insert(command.end(), words.begin(), words.end());
    return run(command, {.environment = {}, .deadline = std::chrono::seconds(60)});
  }

  /// A socket of this process that listens there, where a follower has bound the address.
  static Fd listening_on(const std::string& address) {
    Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    EXPECT_EQ(::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
    EXPECT_EQ(::listen(socket.get(), 1), 0);
    return socket;
  }

  ScratchDirectory files;
  const std::string marker = files / "mark", output = files / "out";
  std::optional<MasterGroup> group;
};

class LeaderIsGone : public Standby, public testing::WithParamInterface<int> {};

TEST_P(LeaderIsGone, TheOtherGoesOnWithJobsFilesAndWorkers) {
  put_file();
  Process driver(holding(), group->options());
  ASSERT_TRUE(held());
  group->master(0).signal(GetParam());
  if (GetParam() != SIGSTOP) group->master(0).wait();
  ASSERT_TRUE(group->leads(1)) << group->log_of(1);
  const std::string goes_on = "1 jobs of the last master go on; 2 workers are waited for";
  EXPECT_TRUE(eventually([&] { return has(group->log_of(1), goes_on); })) << group->log_of(1);
  EXPECT_TRUE(group->has_nodes(2));
  expect_file();
  go();
  const ProcessResult ended = driver.wait();
  EXPECT_EQ(ended.exit_code, 0) << ended.err << group->log_of(1);
  expect_sums();
  EXPECT_THAT(group->admin({"job", "list"}).out, HasSubstr("finished"));

  if (GetParam() == SIGSTOP)
    group->master(0).signal(SIGCONT);  // it is deposed and does not know it
  else
    group->start_master(0);
  ASSERT_TRUE(group->is_in_sync(0)) << group->log_of(0);
  EXPECT_TRUE(group->master(0).running());
  const std::string masters = group->admin({"masters"}).out;
  EXPECT_THAT(masters, testing::ContainsRegex("epoch 2\nADDRESS.*\n" + group->address_of(1) + " +leads +-.*\n" +
                                              group->address_of(0) + " +in sync +[0-9]+ changes"));
  group->kill_master(1);
  ASSERT_TRUE(group->leads(0)) << group->log_of(0);
  EXPECT_THAT(group->admin({"job", "list"}).out, HasSubstr("finished"));
  expect_file();
}

INSTANTIATE_TEST_SUITE_P(Signals, LeaderIsGone, testing::Values(SIGKILL, SIGTERM, SIGSTOP), [](const auto& signal) {
  return signal.param == SIGKILL ? "Killed" : signal.param == SIGTERM ? "Ended" : "Stopped";
});

TEST_F(Standby, ADetachedJobOutlivesThatMastersTakeTurnsUnderIt) {
  const std::vector<std::string> words{program("weft"),
                                       "submit",
                                       "--detach",
                                       "--master",
                                       group->address(),
                                       program("cluster_probe"),
                                       "--",
                                       "hold",
                                       "--records",
                                       "1000",
                                       "--tasks",
                                       "4",
                                       "--marker",
                                       marker,
                                       "--output",
                                       output};
  const auto submit = run(words, {.environment = {}, .deadline = std::chrono::seconds(60)});
  ASSERT_EQ(submit.exit_code, 0) << submit.err;
  ASSERT_TRUE(held());
  for (int turn = 0; turn < 3; ++turn) {
    const int leader = turn % 2, other = 1 - leader;
    group->kill_master(leader);
    ASSERT_TRUE(group->leads(other)) << group->log_of(other);
    group->start_master(leader);
    ASSERT_TRUE(group->is_in_sync(leader)) << group->log_of(leader);
  }
  go();
  const auto waited = group->admin({"job", "wait", "1"});
  EXPECT_EQ(waited.exit_code, 0) << waited.err << waited.out;
  expect_sums();
}

TEST_F(Standby, ALeaderWithoutEtcdStopsWhenItsLeaseEndsAndGoesOnWhenEtcdIsBack) {
  Process driver(holding(), group->options());
  ASSERT_TRUE(held());
  group->etcd().pause();
  const std::string lost = "this master does not lead any more: its lease of 3s could not be prolonged";
  ASSERT_TRUE(eventually([&] { return has(group->log_of(0), lost); })) << group->log_of(0);
  EXPECT_TRUE(eventually([&] { return has(group->log_of(0), "it cannot be seen who leads"); })) << group->log_of(0);
  EXPECT_TRUE(group->master(0).running());
  group->etcd().resume();
  go();
  const ProcessResult ended = driver.wait();
  EXPECT_EQ(ended.exit_code, 0) << ended.err << group->log_of(0) << group->log_of(1);
  expect_sums();
}

TEST_F(Standby, TheLeaderGoesOnWithoutAStandbyThatIsGone) {
  group->kill_master(1);
  ASSERT_TRUE(eventually([&] { return has(group->log_of(0), "is not in sync any more"); })) << group->log_of(0);
  put_file();
  group->kill_master(0);
  group->start_master(1);
  // It lacks what was acknowledged without it, and so it must not lead.
  ASSERT_TRUE(eventually([&] { return has(group->log_of(1), "have everything that was acknowledged, and none of them is there"); }))
      << group->log_of(1);
  group->start_master(0);
  ASSERT_TRUE(group->leads(0)) << group->log_of(0);
  ASSERT_TRUE(group->is_in_sync(1)) << group->log_of(1);
  group->kill_master(0);
  ASSERT_TRUE(group->leads(1)) << group->log_of(1);
  expect_file();
}

/// A follower binds its address and does not listen there, so another process of the machine can take it.
TEST_F(Standby, AFollowerWhoseAddressIsTakenLeadsWhenItIsFree) {
  put_file();
  std::optional<Fd> taken = listening_on(group->address_of(1));
  group->master(0).signal(SIGKILL);
  group->master(0).wait();
  const std::string waits = "this master cannot take the lead: it could not serve: cannot listen on " + group->address_of(1);
  ASSERT_TRUE(eventually([&] { return has(group->log_of(1), waits); })) << group->log_of(1);
  EXPECT_TRUE(group->master(1).running());
  taken.reset();
  ASSERT_TRUE(group->leads(1)) << group->log_of(1);
  expect_file();
}

TEST_F(Standby, ALeaderWhosePageIsTakenServesWithoutItUntilItIsFree) {
  group->kill_master(1);
  const std::string page = "127.0.0.1:" + free_port();
  std::vector<std::string> command = group->master_command(1);
  *std::find(command.begin(), command.end(), "none") = page;
  Process master(command, {.environment = {}, .deadline = std::chrono::seconds(300), .daemon = true});
  ASSERT_TRUE(eventually([&] { return has(master.err_so_far(), "this master has everything"); })) << master.err_so_far();
  std::optional<Fd> taken = listening_on(page);
  group->kill_master(0);
  ASSERT_TRUE(eventually([&] { return has(master.err_so_far(), "there is no page until its address is free"); }))
      << master.err_so_far();
  EXPECT_TRUE(group->has_nodes(2));
  taken.reset();
  EXPECT_TRUE(eventually([&] { return has(master.out_so_far(), "weft master's page is at http://" + page); }))
      << master.err_so_far();
}

TEST_F(Standby, ADataDirectoryThatWasRestoredDoesNotLead) {
  const auto end = [&](int master) {
    group->master(master).signal(SIGTERM);
    group->master(master).wait();
  };
  end(1);
  std::filesystem::copy(group->data(1), files / "backup", std::filesystem::copy_options::recursive);
  group->start_master(1);
  ASSERT_TRUE(group->is_in_sync(1)) << group->log_of(1);
  put_file();
  for (const int master : {0, 1}) group->master(master).signal(SIGKILL);
  for (const int master : {0, 1}) group->master(master).wait();
  std::filesystem::remove_all(group->data(1));
  std::filesystem::rename(files / "backup", group->data(1));
  group->start_master(1);
  ASSERT_TRUE(eventually([&] { return has(group->log_of(1), "is older than what it acknowledged"); })) << group->log_of(1);
  group->start_master(0);
  ASSERT_TRUE(group->leads(0)) << group->log_of(0);
  ASSERT_TRUE(group->is_in_sync(1)) << group->log_of(1);
  group->kill_master(0);
  ASSERT_TRUE(group->leads(1)) << group->log_of(1);
  expect_file();
}

TEST_F(Standby, AMasterOnACopyOfADirectoryInUseSaysSoAndLeavesTheOtherAlone) {
  group->kill_master(1);
  std::filesystem::copy(group->data(1), files / "copy", std::filesystem::copy_options::recursive);
  group->start_master(1);
  ASSERT_TRUE(group->is_in_sync(1)) << group->log_of(1);
  std::vector<std::string> command = group->master_command(1);
  *std::find(command.begin(), command.end(), group->data(1)) = files / "copy";
  *std::find(command.begin(), command.end(), group->address_of(1)) = "127.0.0.1:" + free_port();
  Process twin(command, {.environment = {}, .deadline = std::chrono::seconds(300), .daemon = true});
  ASSERT_TRUE(eventually([&] { return has(twin.err_so_far(), "this data directory was copied; empty it"); })) << twin.err_so_far();
  EXPECT_FALSE(has(group->log_of(0), "it begins again")) << group->log_of(0);
  group->kill_master(0);
  ASSERT_TRUE(group->leads(1)) << group->log_of(1) << twin.err_so_far();
  EXPECT_FALSE(has(twin.err_so_far(), "this master leads")) << twin.err_so_far();
}

TEST_F(Standby, WhatCannotBeAMasterOfTheGroupIsRefused) {
  const std::string etcd = group->etcd().url();
  EXPECT_THAT(refused({"--data-dir", group->data(1), "--etcd", etcd}).err, HasSubstr("another master"));
  group->kill_master(1);
  const auto alone = refused({"--data-dir", group->data(1)});
  EXPECT_EQ(alone.exit_code, 1);
  EXPECT_THAT(alone.err, HasSubstr("is of a master of a group, and a copy that may not be complete; start it with --etcd"));
  group->kill_master(0);
  MasterGroup other(0);
  const auto foreign = refused({"--data-dir", group->data(0), "--etcd", other.etcd().url()});
  EXPECT_EQ(foreign.exit_code, 1);
  EXPECT_THAT(foreign.err, HasSubstr("and these masters are of cluster"));
}

TEST(StandbyOptions, ThatContradictEachOtherAreRefusedInALine) {
  ScratchDirectory scratch;
  const auto refused = [&](std::vector<std::string> words, const std::string& listen = "127.0.0.1:0") {
    words.insert(words.begin(), {program("weft"), "master", "--listen", listen, "--http", "none"});
    const auto result = run(words, {.environment = {}, .deadline = std::chrono::seconds(60)});
    EXPECT_NE(result.exit_code, 0);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    return result.err;
  };
  EXPECT_THAT(refused({"--standby"}), HasSubstr("--standby is for one of several masters"));
  EXPECT_THAT(refused({"--advertise", "h"}), HasSubstr("--advertise is for one of several masters"));
  EXPECT_THAT(refused({"--page-url", "http://h:1"}), HasSubstr("--page-url is for one of several masters"));
  for (const char* url : {"h:1", "http://", "javascript://h", "http://h/page", "https://h:1\n"})
    EXPECT_THAT(refused({"--etcd", "http://127.0.0.1:1", "--data-dir", scratch / "d", "--page-url", url}),
                HasSubstr("is no address of a page; write http://HOST:PORT"));
  EXPECT_THAT(refused({"--etcd", "http://127.0.0.1:1"}), HasSubstr("--data-dir"));
  EXPECT_THAT(refused({"--etcd", "127.0.0.1:1", "--data-dir", scratch / "d"}), HasSubstr("--etcd"));
  EXPECT_THAT(refused({"--etcd", "http://127.0.0.1:1", "--kubernetes-lease", "x", "--data-dir", scratch / "d"}),
              HasSubstr("name one of them"));
  EXPECT_THAT(refused({"--etcd", "http://127.0.0.1:1", "--leader-lease", "1s", "--data-dir", scratch / "d"}), HasSubstr("2s"));
  EXPECT_THAT(refused({"--etcd", "", "--data-dir", scratch / "d"}), HasSubstr("--etcd"));
  EXPECT_THAT(refused({"--etcd", "http://127.0.0.1:1", "--advertise", "a b", "--data-dir", scratch / "d"}),
              HasSubstr("--advertise: 'a b' is no host"));
  // Before it joins the others, whom it would otherwise lead for a moment.
  EXPECT_THAT(refused({"--etcd", "http://127.0.0.1:1", "--data-dir", scratch / "d"}, "0.0.0.0:0"),
              HasSubstr("0.0.0.0:0 can be reached from other machines"));
}

}  // namespace
}  // namespace weft::test
