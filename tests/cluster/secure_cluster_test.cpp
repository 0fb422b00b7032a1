// A cluster of real processes with certificates, and what people with the wrong ones get (SECURITY.md).
#include "tests/cluster/secure_cluster.hpp"

#include <filesystem>

#include <gtest/gtest.h>
#include <signal.h>

#include "base/machine.hpp"

namespace weft::test {
namespace {

TEST_F(SecureClusterTest, JobsAndFilesWorkAsWithout) {
  const auto sums = job({"sums", "--records", "5000", "--tasks", "8"}, "alice");
  EXPECT_EQ(sums.exit_code, 0) << sums.err;
  EXPECT_EQ(sums.out, expected_sums(5000));
  write_file(files_ / "words", "to be or not to be\n");
  EXPECT_EQ(weft({"fs", "put", files_ / "words", "weft://words"}, "alice").exit_code, 0);
  const auto back = weft({"fs", "cat", "weft://words"}, "alice");
  EXPECT_EQ(back.out, "to be or not to be\n") << back.err;
  const auto counted =
      run({program("wordcount"), "--quiet", "--input", "weft://words", "--output", "weft://counts", "--cluster", address_},
          {.environment = as("alice")});
  EXPECT_EQ(counted.exit_code, 0) << counted.err;
  const auto detached = run({program("weft"), "submit", "--detach", program("wordcount"), "--master", address_, "--", "--input",
                             "weft://words", "--output", "weft://again"},
                            {.environment = as("alice")});
  EXPECT_EQ(detached.exit_code, 0) << detached.err;
  const auto ended = weft({"job", "wait", "3"}, "alice");
  EXPECT_EQ(ended.exit_code, 0) << ended.err << weft({"job", "logs", "3"}, "alice").out;
  const auto listed = weft({"fs", "ls", "--json", "weft://"}, "alice");
  EXPECT_TRUE(has(listed.out, "\"/again\"")) << listed.out;
  EXPECT_FALSE(has(listed.out, "\"" + user_name() + "\"")) << "the driver on a worker writes as the job's user: " << listed.out;
}

TEST_F(SecureClusterTest, AJobIsOfWhomTheCertificateNames) {
  ASSERT_EQ(job({"noop", "--user", "bob"}, "alice").exit_code, 0);
  const auto list = weft({"job", "list", "--json"}, "alice");
  EXPECT_TRUE(has(list.out, "\"user\":\"alice\"") && !has(list.out, "\"bob\"")) << list.out;
  write_file(files_ / "words", "words\n");
  ASSERT_EQ(weft({"fs", "put", files_ / "words", "weft://words"}, "alice").exit_code, 0);
  const auto listed = weft({"fs", "ls", "--json", "weft://"}, "alice");
  EXPECT_TRUE(has(listed.out, "alice")) << listed.out;
}

TEST_F(SecureClusterTest, AWorkersCertificateSubmitsNothing) {
  const auto refused = job({"noop"}, "worker");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(has(refused.err, "worker worker may not do this: it needs the certificate of a user")) << refused.err;
}

TEST_F(SecureClusterTest, AUsersCertificateIsNoWorkers) {
  Process impostor(worker_words("impostor"), {.environment = as("alice"), .daemon = true});
  EXPECT_TRUE(eventually([&] { return has(impostor.err_so_far(), "it needs the certificate of a worker"); }))
      << impostor.err_so_far();
  impostor.signal(SIGTERM);
  impostor.wait();
  EXPECT_FALSE(has(weft({"node", "list"}, "alice").out, "impostor"));
}

TEST_F(SecureClusterTest, NobodyElseIsAnswered) {
  const auto plain = run({program("weft"), "node", "list", "--master", address_}, {});
  EXPECT_EQ(plain.exit_code, 1);
  EXPECT_TRUE(has(plain.err, "this side needs --security DIR") && one_line(plain.err)) << plain.err;
  ASSERT_EQ(security({"init", files_ / "others", "--user", "alice"}).exit_code, 0);
  const auto other = run({program("weft"), "node", "list", "--master", address_, "--security", files_ / "others/alice"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_TRUE(has(other.err, "another authority") && one_line(other.err)) << other.err;
  const auto both = run({program("weft"), "node", "list", "--security", files_ / "others/alice", "--insecure"});
  EXPECT_EQ(both.exit_code, 2);
}

TEST_F(SecureClusterTest, AUserIsRevokedAndAWorkerRenewedWhileAJobRuns) {
  ASSERT_EQ(security({"issue", authority(), "bob"}).exit_code, 0);
  ASSERT_EQ(weft({"node", "list"}, "bob").exit_code, 0);
  Process running({program("cluster_probe"), "--quiet", "--cluster", address_, "spin", "--records", "4", "--tasks", "4", "--marker",
                   files_ / "marker"},
                  {.environment = as("alice")});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(files_ / "marker"); })) << running.err_so_far();
  ASSERT_EQ(security({"revoke", authority(), "bob"}).exit_code, 0);
  ASSERT_EQ(security({"rotate", authority(), "worker"}).exit_code, 0);
  ASSERT_EQ(security({"rotate", authority(), "master"}).exit_code, 0);
  EXPECT_TRUE(eventually([&] { return has(weft({"node", "list"}, "bob").err, "it is revoked"); }));
  write_file(files_ / "marker.go", "");
  const auto ended = running.wait();
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(weft({"node", "wait", "1"}, "alice").exit_code, 0);
}

/// As an earlier release recorded a certificate whose name is that of a file.
TEST_F(SecureClusterTest, OneThatCannotBeRenewedKeepsNoOtherFromIt) {
  const std::string list = authority() + "/issued";
  write_file(list, read_file(list) + "0FF0 user ca.key 99999999999 -\n");
  const std::string before = read_file(identity("worker") + "/identity.pem");
  const auto rotated = security({"rotate", authority(), "--all"});
  EXPECT_EQ(rotated.exit_code, 1);
  EXPECT_TRUE(has(rotated.err, "these certificates were not renewed, all others were: ca.key: ") && one_line(rotated.err))
      << rotated.err;
  EXPECT_NE(read_file(identity("worker") + "/identity.pem"), before);
  EXPECT_EQ(security({"revoke", authority(), "ca.key"}).exit_code, 0);
  EXPECT_EQ(security({"rotate", authority(), "--all"}).exit_code, 0);
}

TEST_F(SecureClusterTest, ARevokedUserIsCutOffUnderLoadAndJobsOfOthersGoOn) {
  ASSERT_EQ(security({"issue", authority(), "bob"}).exit_code, 0);
  const Words spin{
      program("cluster_probe"), "--quiet", "--cluster", address_, "spin", "--records", "1", "--tasks", "1", "--marker"};
  Words bobs = spin;
  bobs.push_back(files_ / "bob");
  Process his(bobs, {.environment = as("bob")});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(files_ / "bob"); })) << his.err_so_far();
  ASSERT_EQ(security({"rotate", authority(), "--all"}).exit_code, 0);
  ASSERT_EQ(security({"revoke", authority(), "bob"}).exit_code, 0);
  EXPECT_TRUE(eventually([&] {
    const auto sums = job({"sums", "--records", "2000", "--tasks", "2"}, "alice");
    EXPECT_EQ(sums.exit_code, 0) << sums.err;
    EXPECT_EQ(sums.out, expected_sums(2000));
    return has(weft({"job", "list", "--json"}, "alice").out, "\"user\":\"bob\",\"pool\":\"\",\"state\":\"killed\"");
  })) << weft({"job", "list"}, "alice").out;
  const auto ended = his.wait();
  EXPECT_NE(ended.exit_code, 0);
  EXPECT_TRUE(has(ended.err, "revoked")) << ended.err;
  EXPECT_EQ(job({"noop"}, "bob").exit_code, 1);
  EXPECT_EQ(job({"noop"}, "alice").exit_code, 0);
}

TEST_F(SecureClusterTest, AUserWithATokenMayDoWhatOneWithACertificateMay) {
  const auto made = security({"token", "issue", authority(), "--user", "carol", "--ttl", "1h"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_FALSE(has(made.out + made.err, "weft1."));  // it is in its file only
  const std::string carol = "tokens/carol";
  const auto sums = job({"sums", "--records", "2000", "--tasks", "2"}, carol);
  EXPECT_EQ(sums.out, expected_sums(2000)) << sums.err;
  EXPECT_TRUE(has(weft({"job", "list", "--json"}, carol).out, "\"user\":\"carol\""));
  write_file(files_ / "words", "words\n");
  EXPECT_EQ(weft({"fs", "put", files_ / "words", "weft://words"}, carol).exit_code, 0);
  const auto submitted = run({program("weft"), "submit", "--detach", program("wordcount"), "--master", address_, "--", "--input",
                              "weft://words", "--output", "weft://counts"},
                             {.environment = as(carol)});
  EXPECT_EQ(submitted.exit_code, 0) << submitted.err;
  EXPECT_EQ(weft({"job", "wait", "2"}, carol).exit_code, 0);
  EXPECT_TRUE(has(security({"list", authority()}).out, "token"));

  Process running({program("cluster_probe"), "--quiet", "--cluster", address_, "spin", "--records", "1", "--tasks", "1", "--marker",
                   files_ / "marker"},
                  {.environment = as(carol)});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(files_ / "marker"); })) << running.err_so_far();
  ASSERT_EQ(security({"token", "revoke", authority(), "--user", "carol"}).exit_code, 0);
  const auto ended = running.wait();
  EXPECT_NE(ended.exit_code, 0) << ended.out;
  const auto refused = job({"noop"}, carol);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(has(refused.err, "revoked") && one_line(refused.err)) << refused.err;
  EXPECT_EQ(job({"noop"}, "alice").exit_code, 0);
}

TEST_F(SecureClusterTest, StartingProgramsOverHttpIsRefused) {
  const auto refused = run({program("weft"), "master", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--security",
                            identity("master"), "--submit-dir", files_ / ""});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(has(refused.err, "--submit-dir") && one_line(refused.err)) << refused.err;
}

TEST(InsecureCluster, SaysSoInRed) {
  ScratchDirectory files;
  Process master(
      {program("weft"), "master", "--listen", "0.0.0.0:0", "--http", "127.0.0.1:0", "--insecure", "--port-file", files / "port"},
      {.daemon = true});
  ASSERT_TRUE(eventually([&] { return read_file(files / "port").ends_with('\n'); })) << master.err_so_far();
  std::string address = read_file(files / "port");
  address.pop_back();
  const auto list = run({program("weft"), "node", "list", "--master", "127.0.0.1" + address.substr(address.rfind(':'))});
  EXPECT_TRUE(has(list.err, "insecure: whoever reaches it can run programs")) << list.err << list.out;
  master.signal(SIGTERM);
  EXPECT_EQ(master.wait().exit_code, 0);
}

TEST(InsecureCluster, IsNotWhatListeningBeyondLoopbackGives) {
  const auto refused = run({program("weft"), "master", "--listen", "0.0.0.0:0", "--http", "none"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(has(refused.err, "weft security init") && has(refused.err, "--insecure") && one_line(refused.err)) << refused.err;
}

}  // namespace
}  // namespace weft::test
