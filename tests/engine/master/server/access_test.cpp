#include "engine/master/server/access.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/master/protocol/protocol.hpp"
#include "engine/master/replication/protocol.hpp"
#include "engine/master/server/audit.hpp"
#include "engine/master/server/request_gate.hpp"
#include "engine/master/storage/storage_service.hpp"
#include "runtime/protocol/worker.hpp"
#include "storage/files/protocol.hpp"
#include "storage/tables/protocol.hpp"
#include "tests/engine/master/server/peer.hpp"
#include "tests/support/process.hpp"

namespace weft::master {
namespace {

using rpc::Role;
namespace protocol = runtime::protocol;

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
  for (const rpc::MessageType type :
       {rpc::MessageType{client::kAttachJob}, rpc::MessageType{client::kRunPart}, rpc::MessageType{client::kPoll},
        rpc::MessageType{client::kCloseJob}, rpc::MessageType{storage::files::kFileRequest},
        rpc::MessageType{storage::tables::kTableRequest}})
    EXPECT_TRUE(may_send(worker(), type)) << type;
}

TEST(Access, AMessageOfALaterReleaseIsNobodysByAccident) {
  EXPECT_FALSE(may_send(worker(), 399));
  EXPECT_FALSE(may_send(user(), 199));
}

TEST(Access, WithoutCertificatesMessagesAreTakenFromAll) {
  const Peer peer(std::nullopt);
  EXPECT_TRUE(may_send(peer, protocol::kRegister));
}

TEST(Access, ARefusalNamesTheRoleThatIsNeeded) {
  const auto refused = may_send(user(), protocol::kRegister);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().to_string(), "user alice may not do this: it needs the certificate of a worker");
}

TEST(Access, EveryRefusalIsNoted) {
  const Caller alice{"alice", false, "user alice at 10.0.0.9:1"};
  const Error why(Code::invalid_argument, "it needs the certificate of a worker");
  rpc::Message message;
  message.type = protocol::kRegister;
  EXPECT_EQ(audit_refusal(alice, message, why).action, "register as a worker");
  message.type = kFollow;
  EXPECT_EQ(audit_refusal(alice, message, why).action, "follow as a master");
  for (const rpc::MessageType type : {rpc::MessageType{protocol::kHeartbeat}, rpc::MessageType{399}}) {
    message.type = type;
    const AuditEntry entry = audit_refusal(alice, message, why);
    EXPECT_EQ(entry.action, "send a message");
    EXPECT_EQ(entry.object, "message " + std::to_string(type));
    EXPECT_EQ(entry.user + entry.error, "alice" + why.to_string());
  }
  EXPECT_FALSE(audit_entry(alice, message, &why)) << "what is answered, and fails, is no refusal";
}

TEST(Access, ANotificationThatIsRefusedIsNotedOnceForAConnection) {
  const test::ScratchDirectory files;
  const std::string log = files / "audit";
  {
    RequestGate gate(Trust::certificates, {}, [](JobId) { return std::nullopt; });
    ASSERT_TRUE(gate.open_audit_log(log, {}));
    rpc::Message beat;
    beat.type = protocol::kHeartbeat;
    EXPECT_FALSE(gate.admit_notification(user(), beat));
    EXPECT_FALSE(gate.admit_notification(user(), beat));
    EXPECT_TRUE(gate.admit_notification(worker(), beat));
    gate.forget(user());
    EXPECT_FALSE(gate.admit_notification(user(), beat));
  }
  const std::string written = test::read_file(log);
  EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), 2) << written;
  EXPECT_NE(written.find("\"outcome\":\"refused\""), std::string::npos) << written;
}

/// The numbers of the messages that the headers of the protocols name; of those, the ones that a master sends or that others get.
std::map<rpc::MessageType, std::string> messages_in(const std::string& header) {
  std::ifstream file(std::string(SOURCES) + "/" + header);
  EXPECT_TRUE(file.good()) << header;
  const std::regex number(R"(^(?:\s+|inline constexpr rpc::MessageType )(k[A-Za-z]+) = (\d+)[,;]\s*(//.*)?$)");
  std::map<rpc::MessageType, std::string> found;
  for (std::string line; std::getline(file, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, number)) continue;
    const std::string comment = match[3];
    const bool elsewhere = comment.find("master to worker") != std::string::npos || comment.find("data port") != std::string::npos;
    if (!elsewhere) found[static_cast<rpc::MessageType>(std::stoi(match[2]))] = match[1];
  }
  return found;
}

TEST(Access, EveryMessageThatArrivesAtAMasterHasARule) {
  std::size_t messages = 0;
  for (const char* const header :
       {"engine/master/protocol/protocol.hpp", "engine/master/replication/protocol.hpp", "runtime/protocol/worker.hpp",
        "storage/files/protocol.hpp", "storage/tables/protocol.hpp", "storage/acting_user.hpp"}) {
    const auto all = messages_in(header);
    EXPECT_FALSE(all.empty()) << header;
    messages += all.size();
    for (const auto& [type, name] : all) EXPECT_NE(rule_of(type), nullptr) << header << ": who may send " << name << "?";
  }
  EXPECT_EQ(messages, rules().size()) << "a rule for a message that there is not";
}

TEST(Access, WhatChangesTheClusterNeedsAnAdministratorAndWhatConcernsAJobItsUser) {
  for (const rpc::MessageType type : {client::kConfigureScheduler, client::kSetNode})
    EXPECT_EQ(rule_of(type)->needs, Needs::administrator) << type;
  EXPECT_EQ(rule_of(client::kReadEvents)->needs, Needs::events);
  for (const rpc::MessageType type : {client::kRunPart, client::kPoll, client::kRecordValue, client::kCloseJob, client::kAttachJob,
                                      client::kRecorded, client::kStartDriver})
    EXPECT_EQ(rule_of(type)->needs, Needs::own_job) << type;
  for (const rpc::MessageType type : {client::kJobStatus, client::kKillJob, client::kJobLogs, client::kExplainJob})
    EXPECT_EQ(rule_of(type)->needs, Needs::job_of_pool) << type;
}

rpc::Message received(rpc::Payload payload) {
  rpc::Message message;
  message.header = std::move(payload.header);
  return message;
}

TEST(Access, TheJobIsFoundInAllMessagesAboutOne) {
  const JobId job(7);
  std::vector<rpc::Payload> about;
  about.push_back(client::encode(client::JobRequest{job}));
  about.push_back(client::encode(client::Poll{job, ActionId(3), {}}));
  about.push_back(client::encode(client::ValueRecord{job, ActionId(3)}));
  about.push_back(client::encode(client::Attach{job, 9}));
  about.push_back(client::encode(client::KillRequest{job, "why"}));
  about.push_back(client::encode(client::LogsWanted{job, 9}));
  for (rpc::Payload& payload : about) {
    const auto named = job_named_in(received(std::move(payload)));
    ASSERT_TRUE(named) << named.error().to_string();
    EXPECT_EQ(*named, job);
  }
  EXPECT_FALSE(job_named_in({}).has_value());
}

}  // namespace
}  // namespace weft::master
