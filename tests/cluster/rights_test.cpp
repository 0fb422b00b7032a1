// What users of a cluster may do with each other's jobs and with the cluster, tried by processes with their certificates. alice has
// jobs, bob is somebody else, carol administers.
#include <filesystem>
#include <future>
#include <regex>
#include <set>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/rpc/credentials.hpp"
#include "engine/client/admin.hpp"
#include "engine/master/replication/protocol.hpp"
#include "runtime/protocol/worker.hpp"
#include "storage/files/file_system.hpp"
#include "storage/files/protocol.hpp"
#include "storage/tables/partition_peers.hpp"
#include "storage/tables/table_client.hpp"
#include "storage/transfer/chunk_client.hpp"
#include "tests/cluster/secure_cluster.hpp"

namespace weft::test {
namespace {

class RightsTest : public SecureClusterTest {
 protected:
  Words more_users() const override { return {"bob", "carol"}; }
  Words master_options() const override { return {"--admin", "carol,dora"}; }

  /// A job of alice that runs until it is killed.
  std::unique_ptr<Process> spinning() {
    const std::string marker = files_ / ("marker" + std::to_string(++markers_));
    auto job = std::make_unique<Process>(Words{program("cluster_probe"), "--quiet", "--cluster", address_, "spin", "--records", "1",
                                               "--tasks", "1", "--marker", marker},
                                         ProcessOptions{.environment = as("alice")});
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(marker); })) << job->err_so_far();
    return job;
  }
  void is_refused(const ProcessResult& tried, const std::string& why) {
    EXPECT_EQ(tried.exit_code, 1) << tried.out;
    EXPECT_TRUE(has(tried.err, why) && one_line(tried.err)) << tried.err << "expected: " << why;
  }
  /// What the page's address is, as the master printed it.
  std::string page() const {
    const std::string said = master_->out_so_far();
    const std::size_t at = said.find("https://");
    return said.substr(at, said.find_first_of(" \n", at + 8) - at);
  }
  /// The status, a blank, and what was answered; `who`: a certificate or a token.
  std::string ask(const std::string& who, const std::string& path, const Words& more = {}) const {
    // Without a look at the master's certificate, which names no host here.
    Words words{"/usr/bin/curl", "-sSk", "-o", "-", "-w", " %{http_code}"};
    std::string token = read_file(identity(who) + "/token");
    token.erase(token.find_last_not_of('\n') + 1);
    if (who.starts_with("tokens/"))
      words.insert(words.end(), {"-H", "Authorization: Bearer " + token});
    else
      words.insert(words.end(), {"--cert", identity(who) + "/identity.pem"});
    words.insert(words.end(), more.begin(), more.end());
    words.push_back(page() + path.substr(page().ends_with('/') ? 1 : 0));
    const auto answered = run(words, {});
    return answered.err + answered.out;
  }

  int markers_ = 0;
};

TEST_F(RightsTest, AJobIsForItsUserAndForAdministrators) {
  const auto running = spinning();
  const std::string whose = "job 1 belongs to alice; bob may not ";
  const std::string who_may = " (only alice or an administrator may: weft master --admin)";
  is_refused(weft({"job", "kill", "1"}, "bob"), whose + "kill it" + who_may);
  is_refused(weft({"job", "logs", "1"}, "bob"), whose + "read its logs" + who_may);
  is_refused(weft({"job", "status", "1"}, "bob"), whose + "read its status" + who_may);
  is_refused(weft({"job", "counters", "1"}, "bob"), whose + "read its status" + who_may);
  is_refused(weft({"job", "explain", "1"}, "bob"), whose + "have it explained" + who_may);
  const auto list = weft({"job", "list", "--json"}, "bob");
  EXPECT_TRUE(has(list.out, "\"user\":\"alice\"")) << list.out << list.err;
  for (const std::string user : {"alice", "carol"}) {
    EXPECT_EQ(weft({"job", "status", "1"}, user).exit_code, 0) << user;
    EXPECT_EQ(weft({"job", "logs", "1"}, user).exit_code, 0) << user;
  }
  EXPECT_EQ(weft({"job", "kill", "1"}, "carol").exit_code, 0);
  EXPECT_NE(running->wait().exit_code, 0);
  const auto another = spinning();
  EXPECT_EQ(weft({"job", "kill", "2"}, "alice").exit_code, 0);
  EXPECT_NE(another->wait().exit_code, 0);
  is_refused(weft({"job", "status", "2"}, "bob"), "job 2 belongs to alice");
}

/// Whoever reached the port could read what the actions of a job had found.
TEST_F(RightsTest, ValuesOfAJobAreForItsUser) {
  const auto running = spinning();
  const auto asked = [&](const std::string& who, rpc::MessageType type, rpc::Payload payload) {
    rpc::Security security{.credentials = rpc::Credentials::open(identity(who)).value()};
    const auto reactor = rpc::Reactor::start("asks", security);
    const auto endpoint = rpc::Endpoint::parse(address_).value().of(rpc::Role::master);
    const auto connection = rpc::connect(*reactor, endpoint, std::chrono::seconds(10));
    EXPECT_TRUE(connection) << connection.error().to_string();
    const auto answer = rpc::call(*reactor, *connection, type, std::move(payload), std::chrono::seconds(10));
    reactor->run([&] { (*connection)->close(); });
    reactor->stop();
    return answer ? std::string() : answer.error().to_string();
  };
  const client::ValueRecord value{JobId(1), ActionId(1)};
  EXPECT_TRUE(has(asked("bob", client::kRecorded, client::encode(value)), "bob may not read its values"));
  EXPECT_TRUE(has(asked("bob", client::kRecordValue, client::encode(value)), "bob may not record values in it"));
  EXPECT_TRUE(
      has(asked("bob", client::kPoll, client::encode(client::Poll{JobId(1), ActionId(1), {}})), "may not read its results"));
  EXPECT_TRUE(has(asked("bob", client::kCloseJob, client::encode(client::JobRequest{JobId(1)})), "bob may not end it"));
  EXPECT_TRUE(has(asked("bob", client::kAttachJob, client::encode(client::Attach{JobId(1), 1})), "bob may not attach to it"));
  EXPECT_EQ(asked("alice", client::kRecorded, client::encode(value)), "");
  EXPECT_EQ(asked("carol", client::kRecorded, client::encode(value)), "");
  // A user's certificate counts, whatever he says for whom he asks.
  rpc::Security security{.credentials = rpc::Credentials::open(identity("bob")).value()};
  ASSERT_EQ(setenv("WEFT_SECURITY", identity("bob").c_str(), 1), 0);
  const auto pretends = client::Admin::connect(address_, {.user = "alice"});
  ASSERT_EQ(unsetenv("WEFT_SECURITY"), 0);
  ASSERT_TRUE(pretends) << pretends.error().to_string();
  EXPECT_EQ((*pretends)->who().value().user, "bob");
  EXPECT_FALSE((*pretends)->kill(JobId(1), "why not"));
  EXPECT_EQ(weft({"job", "kill", "1"}, "alice").exit_code, 0);
  EXPECT_NE(running->wait().exit_code, 0);
}

TEST_F(RightsTest, TheClusterIsForAdministrators) {
  const std::string who_may = ": only an administrator may (weft master --admin)";
  is_refused(weft({"scheduler", "use", "fair"}, "bob"), "bob may not change the scheduler" + who_may);
  is_refused(weft({"scheduler", "reload"}, "bob"), "bob may not change the scheduler" + who_may);
  is_refused(weft({"node", "set", "w1", "slots=1"}, "bob"), "bob may not change the capacity of workers" + who_may);
  is_refused(weft({"node", "drain", "w1"}, "bob"), "bob may not drain workers" + who_may);
  is_refused(weft({"fs", "quota", "bob", "--bytes", "1GiB"}, "bob"), "bob may not change quotas" + who_may);
  is_refused(weft({"fs", "balance"}, "bob"), "bob may not balance the workers' chunks" + who_may);
  is_refused(weft({"profile", "forget", "--all"}, "bob"), "bob may not change profiles" + who_may);
  ASSERT_EQ(job({"noop"}, "alice").exit_code, 0);
  is_refused(weft({"job", "trace", "1"}, "bob"), "job 1 belongs to alice; bob may not read its events");
  is_refused(weft({"job", "trace", "9"}, "bob"), "bob may not read events of job 9, which this master does not know");
  for (const std::string user : {"alice", "carol"}) {
    const auto trace = weft({"job", "trace", "1"}, user);
    EXPECT_TRUE(trace.exit_code == 0 && has(trace.out, "cluster_probe")) << trace.err << trace.out;
    EXPECT_EQ(weft({"job", "diagnose", "1"}, user).exit_code, 0);
  }
  EXPECT_EQ(weft({"scheduler", "show"}, "bob").exit_code, 0);
  EXPECT_EQ(weft({"node", "list"}, "bob").exit_code, 0);
  for (const Words& words :
       {Words{"scheduler", "use", "fair"}, Words{"node", "set", "w1", "slots=1"}, Words{"fs", "quota", "bob", "--bytes", "1GiB"}}) {
    const auto done = weft(words, "carol");
    EXPECT_EQ(done.exit_code, 0) << done.err;
  }
}

TEST_F(RightsTest, OverHttpTheSameHolds) {
  if (!std::filesystem::exists("/usr/bin/curl")) GTEST_SKIP() << "there is no curl";
  ASSERT_EQ(security({"token", "issue", authority(), "--user", "bob", "--ttl", "1h"}).exit_code, 0);
  const auto running = spinning();
  const Words changes{"-H", "X-Weft: 1"}, kill{"-X", "DELETE", "-H", "X-Weft: 1"};
  for (const std::string bob : {"bob", "tokens/bob"}) {
    for (const std::string part : {"", "/counters", "/explain", "/logs", "/tasks", "/findings", "/trace", "/shuffle", "/path"}) {
      const std::string answer = ask(bob, "/api/v1/jobs/1" + part);
      EXPECT_TRUE(has(answer, "job 1 belongs to alice; bob may not") && answer.ends_with(" 403")) << part << answer;
    }
    EXPECT_TRUE(has(ask(bob, "/api/v1/jobs/1", kill), "bob may not kill it"));
    EXPECT_TRUE(has(ask(bob, "/api/v1/scheduler/reload", {"-X", "POST", "-H", "X-Weft: 1"}), "bob may not change the scheduler"));
    EXPECT_TRUE(has(ask(bob, "/api/v1/nodes/w1/drain", {"-X", "POST", "-H", "X-Weft: 1"}), "bob may not drain workers"));
    for (const Words& request : {Words{}, Words{"-X", "POST", "-H", "X-Weft: 1"}})
      EXPECT_TRUE(has(ask(bob, "/api/v1/advice", request), "bob may not read the events of all jobs"));
    EXPECT_TRUE(ask(bob, "/api/v1/jobs").ends_with(" 200"));
    EXPECT_TRUE(has(ask(bob, "/api/v1/events?watch=/jobs/1", {"--max-time", "3"}), "bob may not read its status"));
  }
  for (const std::string user : {"alice", "carol"})
    for (const std::string part : {"", "/logs", "/tasks", "/trace"})
      EXPECT_TRUE(ask(user, "/api/v1/jobs/1" + part).ends_with(" 200")) << user << part;
  EXPECT_TRUE(ask("carol", "/api/v1/advice").ends_with(" 200"));
  EXPECT_TRUE(has(ask("worker", "/api/v1/jobs/1", kill), "worker worker may not kill it"));
  EXPECT_TRUE(ask("alice", "/metrics").ends_with(" 200"));
  // Another site's page in alice's browser, which shows her certificate.
  for (const Words& headers : {Words{"-H", "Origin: https://evil.example"}, Words{"-H", "Sec-Fetch-Site: cross-site"}}) {
    Words forged = kill;
    forged.insert(forged.end(), headers.begin(), headers.end());
    EXPECT_TRUE(ask("alice", "/api/v1/jobs/1", forged).ends_with(" 403"));
  }
  Words own = kill;
  own.insert(own.end(), {"-H", "Origin: " + page().substr(0, page().find('/', 8)), "-H", "Sec-Fetch-Site: same-origin"});
  const std::string killed = ask("alice", "/api/v1/jobs/1", own);
  EXPECT_TRUE(killed.ends_with(" 200")) << killed;
  EXPECT_TRUE(has(running->wait().err, "killed over HTTP by alice"));
}

TEST_F(RightsTest, FilesAreForWhomTheirModeLets) {
  write_file(files_ / "words", "to be or not to be\n");
  const auto fs = [&](Words words, const std::string& who) {
    words.insert(words.begin(), "fs");
    return weft(words, who);
  };
  const auto done = [&](const Words& words, const std::string& who) {
    const auto result = fs(words, who);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  done({"mkdir", "weft://hers"}, "alice");
  done({"put", files_ / "words", "weft://hers/words"}, "alice");
  EXPECT_EQ(done({"cat", "weft://hers/words"}, "bob"), "to be or not to be\n") << "all read what is new";
  is_refused(fs({"put", files_ / "words", "weft://hers/more"}, "bob"),
             "bob may not make /hers/more: /hers belongs to alice and has mode 755 (weft fs chmod)");
  is_refused(fs({"put", "--overwrite", files_ / "words", "weft://hers/words"}, "bob"), "bob may not replace /hers/words");
  is_refused(fs({"rm", "-r", "weft://hers"}, "bob"), "bob may not remove /hers");
  is_refused(fs({"mv", "weft://hers", "weft://his"}, "bob"), "bob may not rename /hers");
  is_refused(fs({"setrep", "1", "weft://hers/words"}, "bob"), "bob may not change /hers/words");
  is_refused(fs({"chmod", "777", "weft://hers/words"}, "bob"), "bob may not change the mode of /hers/words");
  is_refused(fs({"chown", "bob", "weft://hers/words"}, "bob"), "bob may not give files to another user");
  done({"chmod", "600", "weft://hers/words"}, "alice");
  is_refused(fs({"cat", "weft://hers/words"}, "bob"),
             "bob may not read /hers/words: /hers/words belongs to alice and has mode 600 (weft fs chmod)");
  EXPECT_TRUE(has(done({"ls", "weft://hers"}, "bob"), "rw-------"));
  EXPECT_EQ(done({"cat", "weft://hers/words"}, "carol"), "to be or not to be\n") << "administrators may";
  // A job reads what its user may, and writes as him, though its tasks have the worker's certificate.
  const auto counted = [&](const std::string& who, const std::string& output) {
    return run({program("wordcount"), "--quiet", "--input", "weft://hers/words", "--output", output, "--cluster", address_},
               {.environment = as(who)});
  };
  const auto bobs = counted("bob", "weft://counts");
  EXPECT_NE(bobs.exit_code, 0);
  EXPECT_TRUE(has(bobs.err, "bob may not read /hers/words")) << bobs.err;
  const auto hers = counted("alice", "weft://hers/counts");
  EXPECT_EQ(hers.exit_code, 0) << hers.err;
  EXPECT_NE(counted("bob", "weft://hers/mine").exit_code, 0);
  const auto detached = run({program("weft"), "submit", "--detach", program("wordcount"), "--master", address_, "--", "--input",
                             "weft://hers/words", "--output", "weft://hers/again"},
                            {.environment = as("alice")});
  EXPECT_EQ(detached.exit_code, 0) << detached.err;
  const std::string job = detached.out.substr(0, detached.out.find('\n'));
  EXPECT_EQ(weft({"job", "wait", job}, "alice").exit_code, 0) << weft({"job", "logs", job}, "alice").out;
  done({"chmod", "700", "weft://hers"}, "alice");
  is_refused(fs({"ls", "weft://hers"}, "bob"), "bob may not read /hers");
  is_refused(fs({"stat", "weft://hers/words"}, "bob"), "bob may not reach /hers/words");
  done({"chown", "-R", "bob", "weft://hers"}, "carol");
  EXPECT_EQ(done({"cat", "weft://hers/words"}, "bob"), "to be or not to be\n");
  is_refused(fs({"ls", "weft://hers"}, "alice"), "/hers belongs to bob");
  done({"rm", "-r", "weft://hers"}, "bob");
}

TEST_F(RightsTest, TablesAreForWhomTheirModeLets) {
  const auto table = [&](Words words, const std::string& who) {
    words.insert(words.begin(), "table");
    return weft(words, who);
  };
  const auto done = [&](const Words& words, const std::string& who) {
    const auto result = table(words, who);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  done({"create", "hers", "--partitions", "2", "--replication", "1"}, "alice");
  done({"put", "hers", "ann", "42"}, "alice");
  EXPECT_EQ(done({"get", "hers", "ann"}, "bob"), "42\n") << "all read what is new";
  EXPECT_EQ(done({"scan", "hers"}, "bob"), "ann\t42\n");
  const std::string why = "it belongs to alice and has mode 644 (weft table chmod)";
  is_refused(table({"put", "hers", "ann", "43"}, "bob"), "bob may not write the table 'hers': " + why);
  is_refused(table({"delete", "hers", "ann"}, "bob"), "bob may not write the table 'hers': " + why);
  is_refused(table({"snapshot", "create", "hers", "monday"}, "bob"), "bob may not write the table 'hers': " + why);
  is_refused(table({"drop", "hers"}, "bob"), "bob may not drop the table 'hers': " + why);
  is_refused(table({"chmod", "666", "hers"}, "bob"), "bob may not change the mode of the table 'hers': " + why);
  is_refused(table({"chown", "bob", "hers"}, "alice"), "alice may not give tables to another user");
  done({"chmod", "600", "hers"}, "alice");
  is_refused(table({"get", "hers", "ann"}, "bob"), "bob may not read the table 'hers': it belongs to alice and has mode 600");
  is_refused(table({"scan", "hers"}, "bob"), "bob may not read the table 'hers'");
  is_refused(table({"stat", "hers"}, "bob"), "bob may not read the table 'hers'");
  const std::string list = done({"list"}, "bob");
  EXPECT_TRUE(has(list, "rw-------") && has(list, "alice")) << list;
  EXPECT_EQ(done({"get", "hers", "ann"}, "carol"), "42\n") << "administrators may";
  // A job reads and writes what its user may, though its tasks have the worker's certificate.
  const auto copied = [&](const std::string& who, const std::string& from, const std::string& to) {
    return run({program("table_probe"), "copy", "--quiet", "--from", from, "--to", to, "--cluster", address_},
               {.environment = as(who)});
  };
  done({"create", "his", "--partitions", "1", "--replication", "1"}, "bob");
  const auto not_read = copied("bob", "hers", "his"), not_written = copied("alice", "hers", "his");
  EXPECT_NE(not_read.exit_code, 0);
  EXPECT_TRUE(has(not_read.err, "bob may not read the table 'hers'")) << not_read.err;
  EXPECT_NE(not_written.exit_code, 0);
  EXPECT_TRUE(has(not_written.err, "alice may not write the table 'his'")) << not_written.err;
  done({"chmod", "666", "his"}, "bob");
  const auto allowed = copied("alice", "hers", "his");
  EXPECT_EQ(allowed.exit_code, 0) << allowed.err;
  EXPECT_EQ(done({"get", "his", "ann"}, "bob"), "42\n");
  done({"chown", "bob", "hers"}, "carol");
  done({"put", "hers", "ann", "44"}, "bob");
  is_refused(table({"get", "hers", "ann"}, "alice"), "alice may not read the table 'hers': it belongs to bob");
  done({"drop", "hers"}, "bob");
  const std::string log = read_file(files_ / "data/audit/requests");
  EXPECT_TRUE(has(log, "\"user\":\"bob\"") && has(log, "\"action\":\"drop table\",\"object\":\"hers\"")) << log;
}

/// What a program of a user can ask of a worker past the master.
TEST_F(RightsTest, AWorkerAsksUsersForTheKeyOfATable) {
  using namespace storage::tables;
  ASSERT_EQ(weft({"table", "create", "hers", "--partitions", "1", "--replication", "1"}, "alice").exit_code, 0);
  ASSERT_EQ(weft({"table", "put", "hers", "ann", "42"}, "alice").exit_code, 0);
  const auto status_for = [&](const std::string& who) {
    ::setenv("WEFT_SECURITY", identity(who).c_str(), 1);
    const TableStatus status = TableClient::connect(address_).value()->describe("hers").value();
    ::unsetenv("WEFT_SECURITY");
    return status;
  };
  const TableStatus hers = status_for("alice"), his = status_for("bob");
  ASSERT_NE(hers.keys.write, 0U);
  EXPECT_EQ(his.keys.read, hers.keys.read);
  EXPECT_EQ(his.keys.write, 0U);
  const std::string worker = his.partitions.at(0).members.at(0).address;
  const auto reactor = rpc::Reactor::start("bob", rpc::Security{.credentials = rpc::Credentials::open(identity("bob")).value()});
  std::unique_ptr<PartitionPeers> peers;
  reactor->run([&] { peers = std::make_unique<PartitionPeers>(*reactor); });
  const auto ask = [&](PartitionOperation operation, std::uint64_t key) {
    std::promise<Result<PartitionReply>> answer;
    reactor->run([&] {
      peers->ask(worker, {{his.id, 0}, 0, std::move(operation), key}, std::chrono::seconds(20),
                 [&](Result<PartitionReply> reply) { answer.set_value(std::move(reply)); });
    });
    return answer.get_future().get();
  };
  const GetRows get{{}, {"ann"}};
  const auto read = ask(get, his.keys.read);
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(std::get<Values>(*read).values.at(0).value, "42");
  const PutRows put{{{"ann", "43"}}};
  EXPECT_TRUE(has(ask(get, 0).error().to_string(), "user bob shows no key to read partition"));
  EXPECT_EQ(ask(get, his.keys.read + 1).error().code(), Code::unavailable);
  EXPECT_EQ(ask(put, 0).error().code(), Code::permission_denied);
  EXPECT_FALSE(ask(put, his.keys.read)) << "to read is not to write";
  EXPECT_TRUE(ask(put, hers.keys.write)) << "the key is what counts";
  for (const PartitionOperation& operation : std::vector<PartitionOperation>{
           Hold{1, true}, Release{99}, NextPage{}, StartCopy{1, "nowhere:1"}, BeginStream{1, "nowhere:1"}})
    EXPECT_TRUE(has(ask(operation, hers.keys.write).error().to_string(), "only masters and workers do"));
  // What he has kept is of no use when she takes the right away.
  ASSERT_EQ(weft({"table", "chmod", "600", "hers"}, "alice").exit_code, 0);
  EXPECT_TRUE(eventually([&] { return !ask(get, his.keys.read); }));
  EXPECT_EQ(weft({"table", "get", "hers", "ann"}, "alice").out, "43\n");
  reactor->run([&] { peers.reset(); });
  reactor->stop();
}

/// By FileSystem, as a program of his does it.
TEST_F(RightsTest, AFileThatWasBegunBeforeIsNotCompletedOverAnothers) {
  write_file(files_ / "words", "hers\n");
  ::setenv("WEFT_SECURITY", identity("bob").c_str(), 1);
  const auto bobs = storage::files::FileSystem::connect(address_);
  ::unsetenv("WEFT_SECURITY");
  ASSERT_TRUE(bobs) << bobs.error().to_string();
  auto data = (*bobs)->create("/data", {.overwrite = true});
  ASSERT_TRUE(data) << data.error().to_string();
  ASSERT_TRUE((*data)->append(as_bytes(std::string_view("his\n"))));
  ASSERT_EQ(weft({"fs", "put", files_ / "words", "weft://data"}, "alice").exit_code, 0);
  const auto closed = (*data)->close();
  ASSERT_FALSE(closed);
  EXPECT_TRUE(has(closed.error().to_string(), "bob may not replace /data: /data belongs to alice")) << closed.error().to_string();
  EXPECT_EQ(weft({"fs", "cat", "weft://data"}, "alice").out, "hers\n");
}

/// Who may read a file knows its chunks' ids and digests, and can find other bytes of the same digest.
TEST_F(RightsTest, AWorkerAsksUsersForTheKeyOfAChunkThatTheyWrite) {
  using namespace storage;
  const auto reactor = rpc::Reactor::start("bob", rpc::Security{.credentials = rpc::Credentials::open(identity("bob")).value()});
  const auto endpoint = rpc::Endpoint::parse(address_).value().of(rpc::Role::master);
  const auto master = rpc::connect(*reactor, endpoint, std::chrono::seconds(10));
  ASSERT_TRUE(master) << master.error().to_string();
  const auto ask = [&](const files::FileRequest& request) {
    return rpc::call(*reactor, *master, files::kFileRequest, files::encode(request), std::chrono::seconds(10))
        .and_then(files::decode_file_reply);
  };
  const auto lease = std::get<files::Leased>(ask(files::CreateFile{"/his", "bob", {}}).value()).lease;
  // A worker is a node at once, and has a chunk store when it has said what is in it.
  Result<files::FileReply> allocated;
  ASSERT_TRUE(eventually([&] {
    allocated = ask(files::AllocateChunk{lease, "", {}, 10});
    return allocated.has_value();
  })) << allocated.error().to_string();
  const auto given = std::get<files::Allocated>(*allocated);
  const std::vector<std::string> targets{given.targets.at(0).node.address};
  {
    ChunkClient client(*reactor);
    const auto refused = [&](ChunkId chunk, std::uint64_t key) {
      const auto begun = client.create(chunk, targets, 10, key);
      return begun ? std::string("accepted") : begun.error().to_string();
    };
    EXPECT_TRUE(has(refused(ChunkId(7), 0), "user bob shows no key to write chunk 0000000000000007")) << refused(ChunkId(7), 0);
    EXPECT_TRUE(has(refused(ChunkId(7), given.key), "that this worker's master did not give")) << "it is the key of another chunk";
    EXPECT_EQ(refused(given.chunk, given.key), "accepted");
  }
  reactor->run([&] { (*master)->close(); });
  reactor->stop();
}

/// A worker gives a chunk to whoever knows its id, so that nobody may guess one.
TEST_F(RightsTest, IdsOfChunksCannotBeGuessed) {
  write_file(files_ / "words", "to be or not to be\n");
  std::set<std::string> ids;
  for (const std::string name : {"a", "b", "c"}) {
    ASSERT_EQ(weft({"fs", "put", files_ / "words", "weft://" + name}, "alice").exit_code, 0);
    const std::string found = weft({"fs", "fsck", "--blocks", "--json", "weft://" + name}, "alice").out;
    std::smatch id;
    ASSERT_TRUE(std::regex_search(found, id, std::regex("\"id\":\"([0-9a-f]{16})\""))) << found;
    ids.insert(id[1].str().substr(0, 8));
  }
  EXPECT_EQ(ids.size(), 3U) << "the upper halves of three random numbers";
  EXPECT_FALSE(ids.contains("00000000"));
}

class PoolRightsTest : public RightsTest {
 protected:
  Words master_options() const override {
    write_file(files_ / "pools.toml", "[[pool]]\nname = \"reports\"\nsubmit = [\"alice\"]\nadminister = [\"bob\"]\n");
    return {"--admin", "carol", "--scheduler", "fair(pools=" + (files_ / "pools.toml") + ")"};
  }
};

TEST_F(PoolRightsTest, PoolsSayWhoMaySubmitAndAdminister) {
  ASSERT_EQ(security({"issue", authority(), "eve"}).exit_code, 0);
  is_refused(job({"noop", "--pool", "reports"}, "eve"),
             "eve may not submit to pool reports (only alice may: `submit` in the scheduler's file)");
  for (const std::string who : {"alice", "bob", "carol"}) EXPECT_EQ(job({"noop", "--pool", "reports"}, who).exit_code, 0) << who;
  EXPECT_EQ(job({"noop"}, "eve").exit_code, 0);
  const std::string marker = files_ / "marker";
  Process running({program("cluster_probe"), "--quiet", "--cluster", address_, "--pool", "reports", "spin", "--records", "1",
                   "--tasks", "1", "--marker", marker},
                  {.environment = as("alice")});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(marker); })) << running.err_so_far();
  is_refused(weft({"job", "kill", "5"}, "eve"), "job 5 belongs to alice; eve may not kill it");
  EXPECT_EQ(weft({"job", "status", "5"}, "bob").exit_code, 0);
  EXPECT_EQ(weft({"job", "kill", "5"}, "bob").exit_code, 0);
  EXPECT_NE(running.wait().exit_code, 0);
  write_file(files_ / "pools.toml", "[[pool]]\nname = \"reports\"\nsubmit = [\"eve\"]\n");
  ASSERT_EQ(weft({"scheduler", "reload"}, "carol").exit_code, 0);
  EXPECT_EQ(job({"noop", "--pool", "reports"}, "eve").exit_code, 0);
  EXPECT_NE(job({"noop", "--pool", "reports"}, "alice").exit_code, 0);
}

TEST_F(RightsTest, WhoDidWhatIsInTheAuditLog) {
  const auto running = spinning();
  EXPECT_EQ(weft({"job", "logs", "1"}, "alice").exit_code, 0);
  EXPECT_NE(weft({"job", "kill", "1"}, "bob").exit_code, 0);
  EXPECT_NE(weft({"scheduler", "use", "fair"}, "bob").exit_code, 0);
  EXPECT_EQ(weft({"scheduler", "use", "fair"}, "carol").exit_code, 0);
  write_file(files_ / "words", "words\n");
  EXPECT_EQ(weft({"fs", "put", files_ / "words", "weft://words"}, "alice").exit_code, 0);
  EXPECT_EQ(weft({"fs", "cat", "weft://words"}, "bob").exit_code, 0);
  EXPECT_NE(weft({"fs", "rm", "weft://words"}, "bob").exit_code, 0);
  EXPECT_EQ(weft({"job", "kill", "1"}, "carol").exit_code, 0);
  const auto killed = running->wait();
  EXPECT_NE(killed.exit_code, 0);
  EXPECT_TRUE(has(killed.err, "killed by carol")) << "by her certificate, not by the account that typed it: " << killed.err;
  EXPECT_NE(job({"noop"}, "worker").exit_code, 0);
  EXPECT_EQ(weft({"fs", "fsck", "weft://words"}, "bob").exit_code, 0);
  const auto reactor = rpc::Reactor::start("bob", rpc::Security{.credentials = rpc::Credentials::open(identity("bob")).value()});
  const auto connection =
      rpc::connect(*reactor, rpc::Endpoint::parse(address_).value().of(rpc::Role::master), std::chrono::seconds(10));
  ASSERT_TRUE(connection) << connection.error().to_string();
  for (const rpc::MessageType type : {rpc::MessageType{runtime::protocol::kRegister}, rpc::MessageType{master::kFollow}})
    EXPECT_FALSE(rpc::call(*reactor, *connection, type, {}, std::chrono::seconds(10)));
  EXPECT_TRUE(rpc::call(*reactor, *connection, storage::files::kFileRequest,
                        storage::files::encode(storage::files::FileRequest(storage::files::Locate{"/words", 1, 1})),
                        std::chrono::seconds(10)));
  reactor->run([&] {
    (*connection)->notify(runtime::protocol::kHeartbeat, {});
    (*connection)->close();
  });
  reactor->stop();
  const auto wanted = {
      R"("user":"alice","peer":"user alice at .*","action":"submit","job":1,"owner":"alice","object":".*","outcome":"done")",
      R"("user":"alice",.*"action":"read logs","job":1,"owner":"alice","outcome":"done")",
      R"("user":"bob",.*"action":"kill","job":1,"owner":"alice","outcome":"refused","error":"job 1 belongs to alice)",
      R"("user":"bob",.*"action":"change scheduler","object":"fair","outcome":"refused")",
      R"("user":"carol",.*"action":"change scheduler","object":"fair","outcome":"done")",
      R"("user":"alice",.*"action":"write file","object":"/words","outcome":"done")",
      R"("user":"bob",.*"action":"read file","object":"/words","outcome":"done")",
      R"("user":"bob",.*"action":"remove","object":"/words","outcome":"refused")",
      R"("user":"carol",.*"action":"kill","job":1,"owner":"alice","outcome":"done")",
      R"("user":"bob",.*"action":"check","object":"/words","outcome":"done")",
      R"("user":"bob",.*"action":"register as a worker","outcome":"refused")",
      R"("user":"bob",.*"action":"follow as a master","outcome":"refused")",
      R"("user":"bob",.*"action":"send a message","object":"message \d+","outcome":"refused")",
      R"("peer":"worker worker at .*"action":"submit","object":".*","outcome":"refused")",
  };
  for (const char* const line : wanted) {
    const std::regex pattern(line);
    EXPECT_TRUE(eventually([&] { return std::regex_search(read_file(files_ / "data/audit/requests"), pattern); }))
        << line << "\n"
        << read_file(files_ / "data/audit/requests");
  }
}

TEST_F(RightsTest, WhatThePageRefusesIsInTheAuditLog) {
  if (!std::filesystem::exists("/usr/bin/curl")) GTEST_SKIP() << "there is no curl";
  ASSERT_EQ(job({"noop"}, "alice").exit_code, 0);
  EXPECT_TRUE(run({"/usr/bin/curl", "-sSk", "-w", " %{http_code}", page() + "api/v1/jobs"}, {}).out.ends_with(" 401"));
  EXPECT_TRUE(ask("bob", "/api/v1/advice").ends_with(" 403"));
  EXPECT_TRUE(ask("bob", "/api/v1/jobs/1/trace").ends_with(" 403"));
  EXPECT_TRUE(ask("alice", "/api/v1/jobs/1", {"-X", "DELETE"}).ends_with(" 403"));
  for (
      const char* const line :
      {R"("user":"","peer":"127\.0\.0\.1:\d+","action":"ask the page","object":"GET /api/v1/jobs","outcome":"refused")",
       R"("user":"bob","peer":"the page","action":"read events","outcome":"refused","error":"bob may not read the events of all)",
       R"("user":"bob","peer":"the page","action":"read events","job":1,"owner":"alice","outcome":"refused")",
       R"("user":"alice","peer":"user alice at .*","action":"ask the page","object":"DELETE /api/v1/jobs/1","outcome":"refused")"}) {
    const std::regex pattern(line);
    EXPECT_TRUE(eventually([&] { return std::regex_search(read_file(files_ / "data/audit/requests"), pattern); }))
        << line << "\n"
        << read_file(files_ / "data/audit/requests");
  }
}

/// Without certificates names are claims, but they are taken seriously: a script of bob does not kill alice's job by mistake.
TEST(InsecureRights, HoldForWhomPeopleSayTheyAre) {
  Cluster cluster(1, {"--insecure", "--admin", "carol"});
  ScratchDirectory files;
  Process running({program("cluster_probe"), "--quiet", "--cluster", cluster.address(), "--user", "alice", "spin", "--records", "1",
                   "--tasks", "1", "--marker", files / "marker"});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(files / "marker"); })) << running.err_so_far();
  const auto as = [&](const std::string& user) { return client::Admin::connect(cluster.address(), {.user = user}).value(); };
  const auto refused = as("bob")->kill(JobId(1), "");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(has(refused.error().to_string(), "job 1 belongs to alice; bob may not kill it")) << refused.error().to_string();
  EXPECT_EQ(refused.error().code(), Code::permission_denied);
  EXPECT_TRUE(as("carol")->who().value().administrator);
  EXPECT_TRUE(as("alice")->kill(JobId(1), "enough"));
  EXPECT_NE(running.wait().exit_code, 0);
}

}  // namespace
}  // namespace weft::test
