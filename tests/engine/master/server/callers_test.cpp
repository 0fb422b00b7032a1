#include "engine/master/server/callers.hpp"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "engine/master/protocol/protocol.hpp"
#include "storage/acting_user.hpp"
#include "tests/engine/master/server/peer.hpp"

namespace weft::master {
namespace {

using rpc::Role;

TEST(Callers, AUserIsWhomHisCertificateNamesWhateverHeSays) {
  Callers callers(Trust::certificates, {"carol"});
  const Peer alice(rpc::Identity{Role::user, "alice"});
  ASSERT_TRUE(callers.act_for(alice, "carol"));
  EXPECT_EQ(callers.of(alice).user, "alice");
  EXPECT_FALSE(callers.of(alice).administrator);
  EXPECT_EQ(callers.owner(alice, "bob"), "alice");
  EXPECT_TRUE(callers.of(Peer(rpc::Identity{Role::user, "carol"})).administrator);
}

TEST(Callers, WorkersAndMastersActForUsers) {
  Callers callers(Trust::certificates, {"carol"});
  const Peer worker(rpc::Identity{Role::worker, "carol"});
  EXPECT_TRUE(callers.of(worker).administrator) << "a process of the cluster, for itself";
  EXPECT_EQ(callers.of(worker).user, "");
  ASSERT_TRUE(callers.act_for(worker, "alice"));
  EXPECT_EQ(callers.of(worker).user, "alice");
  EXPECT_FALSE(callers.of(worker).administrator);
  callers.forget(worker);
  EXPECT_EQ(callers.of(worker).user, "");
}

TEST(Callers, OnOneMachineNamesAreClaimsOfTheOneUser) {
  Callers callers(Trust::own_machine, {"carol"});
  const Peer peer(std::nullopt);
  ASSERT_TRUE(callers.act_for(peer, "bob"));
  EXPECT_EQ(callers.of(peer).user, "bob");
  EXPECT_TRUE(callers.of(peer).administrator);
  EXPECT_EQ(callers.owner(peer, "alice"), "alice");
  EXPECT_EQ(callers.owner(peer, ""), "bob");
}

TEST(Callers, InsecureNamesAreClaimsThatCount) {
  Callers callers(Trust::claims, {"carol"});
  const Peer silent(std::nullopt), bob(std::nullopt), carol(std::nullopt);
  ASSERT_TRUE(callers.act_for(bob, "bob"));
  ASSERT_TRUE(callers.act_for(carol, "carol"));
  EXPECT_TRUE(callers.of(silent).administrator);
  EXPECT_FALSE(callers.of(bob).administrator);
  EXPECT_TRUE(callers.of(carol).administrator);
  EXPECT_FALSE(callers.act_for(bob, std::string(storage::kMostUserName + 1, 'b')));
}

TEST(Callers, ARefusalSaysWhoMay) {
  const Callers callers(Trust::certificates, {"carol"});
  const Caller bob{"bob", false, ""};
  const auto refused = [&](rpc::MessageType type, const std::optional<JobOwner>& owner) {
    const auto may = callers.may(bob, *rule_of(type), JobId(7), owner);
    EXPECT_TRUE(may || may.error().code() == Code::permission_denied);
    return may ? std::string() : may.error().to_string();
  };
  EXPECT_EQ(refused(client::kKillJob, JobOwner{"alice", ""}),
            "job 7 belongs to alice; bob may not kill it (only alice or an administrator may: weft master --admin)");
  EXPECT_EQ(refused(client::kKillJob, JobOwner{}),
            "job 7 belongs to nobody; bob may not kill it (only an administrator may: weft master --admin)");
  EXPECT_EQ(refused(client::kSetNode, std::nullopt),
            "bob may not change the capacity of workers: only an administrator may (weft master --admin)");
  EXPECT_EQ(refused(client::kKillJob, JobOwner{"bob", ""}), "");
  EXPECT_EQ(refused(client::kKillJob, std::nullopt), "") << "there is no such job, which the answer says";
  EXPECT_EQ(refused(client::kListNodes, std::nullopt), "");
}

}  // namespace
}  // namespace weft::master
