// The journal of a master that is killed, started again, started twice; and `weft journal`.
#include "tests/cluster/cluster.hpp"

namespace weft::test {
namespace {

class MasterJournal : public testing::Test {
 protected:
  std::vector<std::string> kept() const { return {"--journal", journal}; }
  ProcessResult second_master() const { return run({program("weft"), "master", "--listen", "127.0.0.1:0", "--journal", journal}); }
  ProcessResult command(const std::string& what) const { return run({program("weft"), "journal", what, journal}); }
  void flip(std::size_t at) const {
    std::string bytes = read_file(journal);
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ 1);
    write_file(journal, bytes);
  }

  ScratchDirectory files;
  std::string journal = files / "journal";
};

TEST_F(MasterJournal, TellsTheNextMasterHowJobsEndedAndWhichRan) {
  std::string counters;
  {
    Cluster cluster(1, kept());
    EXPECT_EQ(run(cluster.job({"sums", "--records", "3000"})).out, expected_sums(3000));
    Process job(cluster.job({"wait", "--tasks", "5", "--records", "1000000", "--marker", files / "begun"}), cluster.options());
    ASSERT_TRUE(eventually([&] { return has(cluster.admin({"node", "list", "--json"}).out, "\"running\":2"); }));
    counters = cluster.admin({"job", "counters", "1"}).out;
    EXPECT_EQ(command("repair").exit_code, 1);  // not under a master that runs
    cluster.master().signal(SIGKILL);
    EXPECT_EQ(cluster.master().wait().exit_code, 137);
    job.signal(SIGKILL);  // it would wait for a master at the same address
    job.wait();
  }
  const auto checked = command("check");
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_TRUE(has(checked.out, "jobs: 1 ended; not ended: 2\n") && has(checked.out, "\nwhole\n")) << checked.out;
  Cluster again(1, kept());
  EXPECT_EQ(again.admin({"job", "counters", "1"}).out, counters);
  EXPECT_TRUE(has(again.admin({"job", "status", "1"}).out, "finished"));
  EXPECT_TRUE(has(again.admin({"job", "status", "2"}).out, "running")) << "its driver may come back";
  EXPECT_EQ(again.admin({"job", "kill", "2"}).exit_code, 0);
  EXPECT_EQ(run(again.job({"sums", "--records", "3000"})).out, expected_sums(3000));
  EXPECT_TRUE(has(again.admin({"job", "status", "3"}).out, "finished"));
}

TEST_F(MasterJournal, BelongsToOneMasterAtATime) {
  Cluster cluster(1, kept());
  const auto second = second_master();
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_TRUE(has(second.err, journal + " is in use by a master that runs") && one_line(second.err)) << second.err;
  EXPECT_EQ(run(cluster.job({"sums", "--records", "3000"})).out, expected_sums(3000));
}

TEST_F(MasterJournal, WithDamageIsRefusedAndCheckedAndRepaired) {
  {
    Cluster cluster(1, kept());
    EXPECT_EQ(run(cluster.job({"sums", "--records", "3000"})).out, expected_sums(3000));
  }
  write_file(journal, read_file(journal) + std::string(700, '\0'));  // a power loss
  const auto torn = command("check");
  EXPECT_EQ(torn.exit_code, 0);
  EXPECT_TRUE(has(torn.out, "whole but for its end: a crash left the last 700 bytes")) << torn.out;
  {
    Cluster cluster(0, kept());
    EXPECT_TRUE(has(cluster.admin({"job", "status", "1"}).out, "finished"));
    EXPECT_TRUE(has(cluster.master().err_so_far(), "its last 700 bytes")) << cluster.master().err_so_far();
  }
  flip(16 + 12 + 30);  // within the first record
  const auto refused = second_master();
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(has(refused.err, "damaged at byte 16: ") && has(refused.err, "'weft journal repair " + journal + "'")) << refused.err;
  EXPECT_TRUE(one_line(refused.err.substr(refused.err.find("weft: ")))) << "behind its log: " << refused.err;
  const auto checked = command("check");
  EXPECT_EQ(checked.exit_code, 1);
  EXPECT_TRUE(has(checked.out, "damaged at byte 16: ") && has(checked.out, "jobs: 1\n")) << checked.out;
  EXPECT_TRUE(has(checked.err, "weft journal repair") && one_line(checked.err)) << checked.err;
  const std::string damaged = read_file(journal);
  const auto repaired = command("repair");
  EXPECT_EQ(repaired.exit_code, 0) << repaired.err;
  EXPECT_TRUE(has(repaired.out, "truncated at byte 16") && has(repaired.out, journal + ".damaged")) << repaired.out;
  EXPECT_EQ(read_file(journal + ".damaged"), damaged);
  Cluster cluster(1, kept());
  EXPECT_NE(cluster.admin({"job", "status", "1"}).exit_code, 0);
  EXPECT_EQ(run(cluster.job({"sums", "--records", "3000"})).out, expected_sums(3000));
  EXPECT_TRUE(has(cluster.admin({"job", "status", "2"}).out, "finished"));
}

TEST_F(MasterJournal, IsDumpedAsLinesUpToItsDamage) {
  {
    Cluster cluster(2, kept());
    ASSERT_EQ(cluster.admin({"node", "set", "w2", "slots=1"}).exit_code, 0);
    EXPECT_EQ(run(cluster.job({"sums", "--records", "3000"})).out, expected_sums(3000));
    EXPECT_NE(run(cluster.job({"throw", "--records", "10", "--tasks", "1", "--max-attempts", "2"})).exit_code, 0);
    const auto detached = run(
        {program("weft"), "submit", "--detach", "--master", cluster.address(), program("cluster_probe"), "--", "noop", "--quiet"});
    EXPECT_EQ(detached.out, "3\n") << detached.err;
    EXPECT_EQ(cluster.admin({"job", "wait", "3"}).exit_code, 0);
    cluster.worker(1).signal(SIGKILL);
    ASSERT_TRUE(cluster.has_nodes(1));
    cluster.master().signal(SIGTERM);
    cluster.master().wait();
  }
  const auto whole = command("dump");
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  for (const std::string fact : {"submission", "part", "value", "shape", "launch", "failure", "finish", "driver"})
    EXPECT_TRUE(has(whole.out, "\"fact\":\"" + fact + "\"")) << fact << " in " << whole.out;
  for (const std::string part : {"\"masters\":1}", "\"node\":1,\"worker\":\"w", "\"node_gone\":",
                                 "\"worker\":\"w2\",\"capacity\":\"", "\"job\":1,\"ended\":true,\"state\":\"finished\"",
                                 "\"job\":2,\"ended\":true,\"state\":\"failed\"", "\"stage\":0,\"task\":0,\"attempt\":0,\"node\":"})
    EXPECT_TRUE(has(whole.out, part)) << part << " in " << whole.out;
  const std::size_t half = whole.out.find('\n', whole.out.size() / 2) + 1;
  const std::size_t damage = std::stoul(whole.out.substr(whole.out.find("\"offset\":", half) + 9));
  flip(damage + 12);
  const auto damaged = command("dump");
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_EQ(damaged.out, whole.out.substr(0, half)) << "what lies before the damage";
  EXPECT_TRUE(has(damaged.err, "damaged at byte " + std::to_string(damage) + ": ") && one_line(damaged.err)) << damaged.err;
}

TEST_F(MasterJournal, CommandsExplainThemselvesAndWhatIsWrong) {
  EXPECT_TRUE(has(run({program("weft"), "journal", "--help"}).out, "repair"));
  EXPECT_TRUE(has(run({program("weft"), "journal", "check", "--help"}).out, "fails when it is"));
  EXPECT_EQ(run({program("weft"), "journal", "check"}).exit_code, 2);
  const auto none = command("check");
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_TRUE(has(none.err, journal) && one_line(none.err)) << none.err;
  write_file(journal, "of something else");
  for (const std::string what : {"check", "repair"}) {
    const auto other = command(what);
    EXPECT_EQ(other.exit_code, 1);
    EXPECT_TRUE(has(other.err, "this is no weft journal") && one_line(other.err)) << other.err;
  }
  EXPECT_EQ(read_file(journal), "of something else");
}

}  // namespace
}  // namespace weft::test
