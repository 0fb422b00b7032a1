#include "engine/master/server/access.hpp"

#include <optional>

#include <gtest/gtest.h>

#include "engine/master/protocol/protocol.hpp"
#include "engine/master/replication/protocol.hpp"
#include "engine/master/storage/storage_service.hpp"
#include "runtime/protocol/worker.hpp"

namespace weft::master {
namespace {

using rpc::Role;
namespace protocol = runtime::protocol;

/// Somebody with that certificate, or with none.
class Peer final : public rpc::Connection {
 public:
  explicit Peer(std::optional<rpc::Identity> identity) : identity_(std::move(identity)) {}
  void request(rpc::MessageType, rpc::Payload, rpc::Duration, rpc::Reply, std::shared_ptr<rpc::BulkSink>) override {}
  void notify(rpc::MessageType, rpc::Payload) override {}
  void close() override {}
  const std::string& peer() const override { return name_; }
  Result<rpc::Protocol> protocol() const override { return rpc::Protocol{1}; }
  const std::string& peer_software() const override { return name_; }
  const rpc::Identity* identity() const override { return identity_ ? &*identity_ : nullptr; }

 private:
  const std::optional<rpc::Identity> identity_;
  const std::string name_ = "peer";
};

const Peer& user() {
  static const Peer peer(rpc::Identity{Role::user, "alice"});
  return peer;
}
const Peer& worker() {
  static const Peer peer(rpc::Identity{Role::worker, "worker"});
  return peer;
}
const Peer& master() {
  static const Peer peer(rpc::Identity{Role::master, "master"});
  return peer;
}

TEST(Access, OnlyWorkersRegisterAndReport) {
  for (const rpc::MessageType type :
       {rpc::MessageType{protocol::kRegister}, rpc::MessageType{protocol::kHeartbeat}, rpc::MessageType{protocol::kTaskEvents},
        rpc::MessageType{protocol::kDying}, rpc::MessageType{protocol::kDriverEnded}, kFirstWorkerStorageMessage}) {
    EXPECT_TRUE(may_send(worker(), type)) << type;
    EXPECT_FALSE(may_send(user(), type)) << type;
    EXPECT_FALSE(may_send(master(), type)) << type;
  }
}

TEST(Access, OnlyMastersFollow) {
  for (const rpc::MessageType type : {rpc::MessageType{kFollow}, rpc::MessageType{kPull}, rpc::MessageType{kAlive}}) {
    EXPECT_TRUE(may_send(master(), type)) << type;
    EXPECT_FALSE(may_send(user(), type)) << type;
    EXPECT_FALSE(may_send(worker(), type)) << type;
  }
}

TEST(Access, WorkersBeginNoJobsAndGiveNoOrders) {
  for (const rpc::MessageType type :
       {client::kSubmitJob, client::kDetachJob, client::kStartDriver, client::kKillJob, client::kSetNode,
        client::kConfigureScheduler, client::kProfiles, client::kJobLogs, client::kListJobs}) {
    EXPECT_TRUE(may_send(user(), type)) << type;
    EXPECT_TRUE(may_send(master(), type)) << type;
    EXPECT_FALSE(may_send(worker(), type)) << type;
  }
}

TEST(Access, DriversInTheClusterAttachAndReadFiles) {
  for (const rpc::MessageType type : {rpc::MessageType{client::kAttachJob}, rpc::MessageType{client::kRunPart},
                                      rpc::MessageType{client::kPoll}, rpc::MessageType{client::kCloseJob}, kFirstStorageMessage})
    EXPECT_TRUE(may_send(worker(), type)) << type;
}

TEST(Access, AMessageOfALaterReleaseIsNobodysByAccident) {
  EXPECT_FALSE(may_send(worker(), 399));
  EXPECT_FALSE(may_send(user(), 199));
}

TEST(Access, WithoutCertificatesTheMessageIsBelieved) {
  const Peer peer(std::nullopt);
  EXPECT_TRUE(may_send(peer, protocol::kRegister));
  EXPECT_EQ(user_of(peer), "");
}

TEST(Access, AUserIsWhomHisCertificateNames) {
  EXPECT_EQ(user_of(user()), "alice");
  EXPECT_EQ(user_of(worker()), "");
  EXPECT_EQ(user_of(master()), "");
  const auto refused = may_send(user(), protocol::kRegister);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().to_string(), "user alice may not do this: it needs the certificate of a worker");
}

}  // namespace
}  // namespace weft::master
