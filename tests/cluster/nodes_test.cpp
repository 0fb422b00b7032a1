// What a cluster says about its workers: those that cannot come, those whose clock is wrong, and waiting for those that are on
// their way.
#include <chrono>

#include <gmock/gmock.h>

#include "engine/master/nodes/clock_offset.hpp"
#include "runtime/protocol/worker.hpp"
#include "tests/cluster/cluster.hpp"

namespace weft::test {
namespace {

namespace protocol = runtime::protocol;

using std::chrono::hours;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

/// A worker that does nothing but say what time it is.
class TimeTeller {
 public:
  TimeTeller(const std::string& master, const std::string& name) : reactor_(rpc::Reactor::start("teller")) {
    const rpc::Limits limits = protocol::peer_limits();
    auto connection = rpc::connect(*reactor_, *rpc::Endpoint::parse(master), seconds(10), {}, limits);
    EXPECT_TRUE(connection.has_value());
    connection_ = *connection;
    protocol::Register registration{name, name, "rack", "127.0.0.1:1", 1, 1 << 20, {}};
    auto answer = rpc::call(*reactor_, connection_, protocol::kRegister, protocol::encode(registration), seconds(10));
    EXPECT_TRUE(answer.has_value());
  }
  ~TimeTeller() {
    reactor_->run([this] { connection_->close(); });
    reactor_->stop();
  }
  void tell(Duration ahead) {
    protocol::Heartbeat heartbeat;
    heartbeat.clock = std::chrono::system_clock::now().time_since_epoch() + ahead;
    reactor_->run([&] { connection_->notify(protocol::kHeartbeat, protocol::encode(heartbeat)); });
  }

 private:
  std::unique_ptr<rpc::Reactor> reactor_;
  rpc::ConnectionPtr connection_;
};

TEST(Nodes, WhoseClockIsOffAreNamedInTheListAndInTheLog) {
  Cluster cluster(1);
  TimeTeller ahead(cluster.address(), "early");
  TimeTeller behind(cluster.address(), "late");
  for (int i = 0; i < 4; ++i) {
    ahead.tell(hours(3));
    behind.tell(-seconds(90));
  }
  EXPECT_TRUE(eventually([&] {
    const std::string nodes = cluster.admin({"node", "list"}).out;
    return nodes.find("ready, clock 3 h 00 min ahead") != std::string::npos &&
           nodes.find("ready, clock 1 min 30 s behind") != std::string::npos;
  })) << cluster.admin({"node", "list"}).out;
  const std::string log = cluster.master().err_so_far();
  EXPECT_THAT(log, AllOf(HasSubstr("the clock of worker early is 3 h 00 min ahead: times"),
                         HasSubstr("the clock of worker late is 1 min 30 s behind: times")));
  EXPECT_EQ(log.find("the clock of worker w1"), std::string::npos);
}

TEST(Nodes, WhoseHeartbeatsWereHeldUpHaveNoWrongClock) {
  master::ClockOffset clock;
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(clock.add(i % 4 == 3 ? -std::chrono::milliseconds(1) : -seconds(60)));
  EXPECT_EQ(master::clock_text(clock.ahead()), "");
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(clock.add(-seconds(60)));
  EXPECT_TRUE(clock.add(-seconds(60)));
  EXPECT_FALSE(clock.add(-seconds(60))) << "said once";
}

TEST(Nodes, ThatStandStillAreLostUntilTheyGoOn) {
  Cluster cluster(2);
  cluster.worker(0).signal(SIGSTOP);
  EXPECT_TRUE(eventually([&] { return cluster.admin({"node", "list", "--json"}).out.find("\"lost\"") != std::string::npos; }));
  EXPECT_THAT(cluster.admin({"node", "list", "--json"}).out, HasSubstr("\"state\":\"lost\",\"cause\":\"not heard of for 10.0 s\""));
  EXPECT_THAT(cluster.admin({"node", "list"}).out, HasSubstr("lost: not heard of for 10.0 s"));
  EXPECT_EQ(cluster.admin({"node", "wait", "2", "--timeout", "0"}).exit_code, 1);
  EXPECT_EQ(run(cluster.job({"sums", "--records", "3000"})).out, expected_sums(3000));
  cluster.worker(0).signal(SIGCONT);
  EXPECT_EQ(cluster.admin({"node", "wait", "2"}).exit_code, 0);
}

/// A signal to stop reaches each thread when that runs next: until then the process goes on.
bool stands_still(const Process& process) {
  const std::string threads = "/proc/" + std::to_string(process.pid()) + "/task";
  const auto names = entries(threads);
  return !names.empty() && std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    const std::string status = read_file(threads + "/" + name + "/stat");
    return status.find(") T ") != std::string::npos;
  });
}

/// The outputs of a worker that stands still are given up when it is, not when those who fetch them have waited again and again.
TEST(Nodes, ThatStandStillHoldUpNoReadersOnceTheyAreLost) {
  for (const char* share : {"false", "true"}) {
    Cluster cluster(0, {"--speculation", "off"});
    for (int i = 0; i < 2; ++i) cluster.add_worker({"--share", share});
    ASSERT_TRUE(cluster.has_nodes(2));
    const std::string marker = cluster.scratch() / "marker";
    Process job(cluster.job({"straggle", "--records", "3000", "--tasks", "6", "--marker", marker}), cluster.options());
    const auto holds = [&](int worker) { return access((marker + ".w" + std::to_string(worker)).c_str(), F_OK) == 0; };
    ASSERT_TRUE(eventually([&] { return holds(1) || holds(2); })) << job.err_so_far();
    ASSERT_TRUE(eventually([&] {
      return cluster.admin({"job", "status", "1", "--json"}).out.find("\"finished\":5") != std::string::npos;
    })) << cluster.admin({"job", "status", "1", "--json"}).out;
    const std::size_t other = holds(1) ? 1 : 0;
    cluster.worker(other).signal(SIGSTOP);
    ASSERT_TRUE(eventually([&] { return stands_still(cluster.worker(other)); }));
    write_file(marker + ".go", "");
    const auto result = job.wait();
    EXPECT_EQ(result.out, expected_sums(3000)) << result.err;
    const std::string log = cluster.master().err_so_far();
    const std::string name = other == 0 ? "w1" : "w2";
    EXPECT_THAT(log, HasSubstr("worker " + name + " is gone: not heard of for 10.0 s")) << log;
    EXPECT_THAT(log, HasSubstr("the worker was lost: not heard of for 10.0 s")) << log;
    EXPECT_EQ(log.find("deadline"), std::string::npos) << log;
    cluster.worker(other).signal(SIGCONT);
    EXPECT_TRUE(cluster.has_nodes(2));
  }
}

TEST(Nodes, SayWhatTheyReallyUse) {
  Cluster cluster(1);
  const auto amount = [&](const std::string& whose, const std::string& name) {
    const std::string json = cluster.admin({"node", "list", "--json"}).out;
    const auto measured = json.find("\"measured\":"), part = json.find("\"" + whose + "\":", measured);
    const auto at = json.find("\"" + name + "\":", part);
    return at == std::string::npos ? 0 : std::stod(json.substr(at + name.size() + 3));
  };
  ASSERT_TRUE(eventually([&] { return amount("worker", "memory") > 1e6 && amount("machine", "cpu") > 0; }));
  EXPECT_GE(amount("machine", "memory"), 1e6);
  const double idle = amount("worker", "memory");
  Process job(cluster.job({"wait", "--records", "1000000", "--marker", cluster.scratch() / "begun"}), cluster.options());
  EXPECT_TRUE(eventually([&] { return amount("worker", "memory") > idle + 1e6; })) << "executors are the worker's, too";
  const auto killed = cluster.admin({"job", "kill", "1"});
  EXPECT_EQ(killed.exit_code, 0) << killed.err;
  job.wait();
  EXPECT_TRUE(has(cluster.admin({"node", "list"}).out, " of ")) << cluster.admin({"node", "list"}).out;
}

TEST(Nodes, AreWaitedForByNumberAndByName) {
  Cluster cluster(0);
  EXPECT_EQ(cluster.admin({"node", "wait", "0"}).exit_code, 0);
  const auto none = cluster.admin({"node", "wait", "2", "--timeout", "0"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("0 of 2 workers are ready after 0"));
  cluster.add_worker();
  cluster.add_worker();
  EXPECT_EQ(cluster.admin({"node", "wait", "2"}).exit_code, 0);
  EXPECT_EQ(cluster.admin({"node", "wait", "--name", "w2"}).exit_code, 0);
  EXPECT_THAT(cluster.admin({"node", "wait", "--name", "w3", "--timeout", "100ms"}).err, HasSubstr("workers called w3"));
}

TEST(Nodes, WaitingForAMasterThatIsNotThereEndsInTime) {
  const auto result = run({program("weft"), "node", "wait", "--timeout", "200ms", "--master", "127.0.0.1:1"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("no weft master answers at 127.0.0.1:1"));
}

TEST(Nodes, ThatCannotReachTheirMasterSayWhereAndKeepTrying) {
  for (const char* nowhere : {"127.0.0.1:1", "no-such-host.invalid:7077"}) {
    Process worker({program("weft"), "worker", "--master", nowhere});
    EXPECT_TRUE(eventually([&] {
      const std::string log = worker.err_so_far();
      const auto first = log.find(std::string("no connection to the master at ") + nowhere);
      return first != std::string::npos && log.find("trying again in", log.find("trying again in", first) + 1) != std::string::npos;
    })) << worker.err_so_far();
    EXPECT_TRUE(worker.running());
    worker.signal(SIGTERM);
    EXPECT_EQ(worker.wait().exit_code, 0);
  }
}

TEST(Nodes, ThatWouldFetchTooSlowlyForTheirTasksAreToldSoAtTheStart) {
  const auto result = run({program("weft"), "worker", "--link-rate", "1KiB"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("worker.link_rate: 1.00 KiB a second is too little"));
}

TEST(Nodes, ThatAskForMoreMemoryThanThereIsAreToldSoAtTheStart) {
  const auto result = run({program("weft"), "worker", "--memory", "900TiB", "--store-memory", "1GiB"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("900 TiB for tasks and 1.00 GiB for map outputs are more than the"),
                                HasSubstr("lower --memory or --store-memory")));
}

}  // namespace
}  // namespace weft::test
