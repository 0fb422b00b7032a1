// What releases of the past wrote is read, and so is what later ones may write: every message whose two sides may be of different
// releases. protocol-N.txt has them as the first release wrote them that speaks protocol N:
//   WEFT_RECORD_RELEASE=FILE build/release/tests/releases_test --gtest_filter='*AreRecorded'
#include <cstdlib>
#include <fstream>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "engine/master/plan/plan.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "engine/master/replication/protocol.hpp"
#include "runtime/protocol/executor.hpp"
#include "runtime/protocol/worker.hpp"
#include "shuffle/read/read_part.hpp"
#include "storage/acting_user.hpp"
#include "storage/files/protocol.hpp"
#include "storage/tables/protocol.hpp"
#include "tests/releases/grown.hpp"
#include "tests/releases/values.hpp"

namespace weft::releases {
namespace {

rpc::Message received(rpc::Payload payload) {
  rpc::Message message;
  message.header = std::move(payload.header);
  std::string bulk;
  for (const SharedBytes& piece : payload.bulk) bulk += as_chars(piece.bytes);
  message.bulk = Buffer::copy_of(as_bytes(bulk));
  return message;
}

/// A kind of message: examples of it with all fields set, and what is read of one.
struct Kind {
  std::vector<std::shared_ptr<const rpc::Message>> examples;
  std::function<Result<std::string>(const rpc::Message&)> describe;
};

template <class M, class Encode, class Decode>
Kind kind_of(Encode encode, Decode decode) {
  Kind kind;
  kind.describe = [decode](const rpc::Message& message) -> Result<std::string> {
    WEFT_ASSIGN(const M value, decode(message));
    return Description::of(value);
  };
  for (std::size_t choice = 0, choices = 1; choice < choices; ++choice) {
    M value{};
    Filler filler(choice);
    filler.fill(value);
    choices = filler.choices();
    kind.examples.push_back(std::make_shared<const rpc::Message>(received(encode(std::move(value)))));
  }
  return kind;
}

template <class M>
Kind of_workers() {
  return kind_of<M>([](M message) { return runtime::protocol::encode(std::move(message)); },
                    [](const rpc::Message& message) {
                      unsigned skipped = 0;
                      return runtime::protocol::decode<M>(message, &skipped);
                    });
}
template <class M>
Kind of_clients() {
  return kind_of<M>([](M message) { return client::encode(std::move(message)); },
                    [](const rpc::Message& message) { return client::decode<M>(message); });
}
template <class M>
Kind of_masters() {
  return kind_of<M>([](M message) { return master::to_payload(std::move(message)); },
                    [](const rpc::Message& message) { return master::from_message<M>(message); });
}
template <class M>
Kind of_chunks() {
  return kind_of<M>([](const M& message) { return storage::files::encode(message); },
                    [](const rpc::Message& message) {
                      unsigned skipped = 0;
                      return storage::files::decode<M>(message, &skipped);
                    });
}
template <class M>
Kind of_tables() {
  return kind_of<M>([](const M& message) { return storage::tables::encode(message); },
                    [](const rpc::Message& message) { return storage::tables::decode<M>(message); });
}
template <class M, class Decode>
Kind of_storage(Decode decode) {
  return kind_of<M>([](const M& message) { return encode(message); }, decode);
}

/// By name.
std::map<std::string, Kind> make_kinds() {
  namespace protocol = runtime::protocol;
  namespace files = storage::files;
  namespace tables = storage::tables;
  return {
      {"Launches", of_workers<protocol::Launches>()},
      {"Events", of_workers<protocol::Events>()},
      {"Register", of_workers<protocol::Register>()},
      {"Registered", of_workers<protocol::Registered>()},
      {"EventsKept", of_workers<protocol::EventsKept>()},
      {"Heartbeat", of_workers<protocol::Heartbeat>()},
      {"CapacityTexts", of_workers<protocol::CapacityTexts>()},
      {"Leaving", of_workers<protocol::Leaving>()},
      {"Remains", of_workers<protocol::Remains>()},
      {"Dying", of_workers<protocol::Dying>()},
      {"PrefetchReport", of_workers<protocol::PrefetchReport>()},
      {"Commands", of_workers<protocol::Commands>()},
      {"ReplicaEnded", of_workers<protocol::ReplicaEnded>()},
      {"BinaryRequest", of_workers<protocol::BinaryRequest>()},
      {"BinaryChunk", of_workers<protocol::BinaryChunk>()},
      {"LogRequest", of_workers<protocol::LogRequest>()},
      {"DriverEnded", of_workers<protocol::DriverEnded>()},
      {"FileQuery", of_workers<protocol::FileQuery>()},
      {"FileAnswer", of_workers<protocol::FileAnswer>()},
      {"ExecutorSetup", of_workers<protocol::ExecutorSetup>()},
      {"Value", of_workers<protocol::Value>()},
      {"Stop", of_workers<protocol::Stop>()},
      {"Forget", of_workers<protocol::Forget>()},
      {"ChunkTraffic", of_workers<protocol::ChunkTraffic>()},
      {"Commit", of_workers<protocol::Commit>()},
      {"ReadRequest", of_workers<protocol::ReadRequest>()},
      {"PartContents", of_workers<shuffle::PartContents>()},
      {"StorageSite", of_chunks<files::StorageSite>()},
      {"StorageJoin", of_chunks<files::StorageJoin>()},
      {"ChunkReport", of_chunks<files::ChunkReport>()},
      {"ChunkUpdate", of_chunks<files::ChunkUpdate>()},
      {"ChunkCommands", of_chunks<files::ChunkCommands>()},
      {"FileRequest", of_storage<files::FileRequest>(files::decode_file_request)},
      {"FileReply", of_storage<files::FileReply>(files::decode_file_reply)},
      {"Follow", of_masters<master::Follow>()},
      {"Following", of_masters<master::Following>()},
      {"Pull", of_masters<master::Pull>()},
      {"Pulled", of_masters<master::Pulled>()},
      {"TableHeartbeat", of_tables<tables::TableHeartbeat>()},
      {"TableOrders", of_tables<tables::TableOrders>()},
      {"InSyncChange", of_tables<tables::InSyncChange>()},
      {"TableRequest", of_storage<tables::TableRequest>(tables::decode_table_request)},
      {"TableReply", of_storage<tables::TableReply>(tables::decode_table_reply)},
      {"PartitionRequest", of_storage<tables::PartitionRequest>(tables::decode_partition_request)},
      {"PartitionReply", of_storage<tables::PartitionReply>(tables::decode_partition_reply)},
      {"Submit", of_clients<client::Submit>()},
      {"Detach", of_clients<client::Detach>()},
      {"PollReply", of_clients<client::PollReply>()},
      {"JobList", of_clients<client::JobList>()},
      {"MasterList", of_clients<client::MasterList>()},
      {"EventsWanted", of_clients<client::EventsWanted>()},
      {"Events", of_clients<client::Events>()},
      {"NodeCapacity", of_clients<client::NodeCapacity>()},
      {"Explanation", of_clients<master::JobExplanation>()},
      {"PlanPart", kind_of<plan::PlanPart>(
                       [](const plan::PlanPart& part) {
                         return rpc::Payload{plan::encode(part), {}, {}};
                       },
                       [](const rpc::Message& message) { return plan::decode_part(message.header.view()); })},
      {"Submitted", of_clients<client::Submitted>()},
      {"Attach", of_clients<client::Attach>()},
      {"Recorded", of_clients<client::Recorded>()},
      {"Upload", of_clients<client::Upload>()},
      {"JobRequest", of_clients<client::JobRequest>()},
      {"ValueRecord", of_clients<client::ValueRecord>()},
      {"Poll", of_clients<client::Poll>()},
      {"KillRequest", of_clients<client::KillRequest>()},
      {"LogsWanted", of_clients<client::LogsWanted>()},
      {"JobLogs", of_clients<client::JobLogs>()},
      {"NodeList", of_clients<client::NodeList>()},
      {"GroupList", of_clients<client::GroupList>()},
      {"SchedulerInfo", of_clients<client::SchedulerInfo>()},
      {"ProfileRequest", of_clients<client::ProfileRequest>()},
      {"ProfileReply", of_clients<client::ProfileReply>()},
      {"ActFor", of_storage<storage::ActFor>(storage::decode_act_for)},
      {"ActedFor", of_storage<storage::ActedFor>(storage::decode_acted_for)},
  };
}
const std::map<std::string, Kind>& kinds() {
  static const std::map<std::string, Kind> made = make_kinds();
  return made;
}

std::string hexadecimal(ByteView bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}
Buffer from_hexadecimal(std::string_view text) {
  Buffer bytes(text.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes.data()[i] = static_cast<std::byte>(std::stoul(std::string(text.substr(2 * i, 2)), nullptr, 16));
  return bytes;
}

/// A message as a release wrote it, and what was in it.
struct Recorded {
  std::string kind;
  rpc::Message message;
  std::string description;
};

std::vector<Recorded> recorded(int protocol) {
  std::ifstream file(fmt::format("{}/protocol-{}.txt", RELEASES, protocol));
  std::vector<Recorded> all;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("message ")) {
      all.emplace_back().kind = line.substr(8);
    } else if (line.starts_with("header ")) {
      all.back().message.header = from_hexadecimal(std::string_view(line).substr(7));
    } else if (line.starts_with("bulk ")) {
      all.back().message.bulk = from_hexadecimal(std::string_view(line).substr(5));
    } else if (line.starts_with("  ")) {
      all.back().description += line + "\n";
    }
  }
  return all;
}

const std::vector<Recorded>& all_recorded() {
  static const std::vector<Recorded> all = [] {
    std::vector<Recorded> made;
    for (int protocol = rpc::kProtocols.lowest; protocol <= rpc::kProtocols.highest; ++protocol)
      for (Recorded& one : recorded(protocol)) made.push_back(std::move(one));
    return made;
  }();
  return all;
}

TEST(Releases, AllMessagesOfThisProtocolAreRecorded) {
  std::string text;
  std::size_t examples = 0;
  for (const auto& [name, kind] : kinds())
    for (const auto& message : kind.examples) {
      const auto description = kind.describe(*message);
      ASSERT_TRUE(description) << name << ": " << description.error().to_string();
      text += fmt::format("message {}\nheader {}\nbulk {}\n{}", name, hexadecimal(message->header.view()),
                          hexadecimal(message->bulk.view()), *description);
      ++examples;
    }
  if (const char* const path = std::getenv("WEFT_RECORD_RELEASE")) std::ofstream(path) << text;
  std::map<std::string, std::size_t> there;
  for (const Recorded& one : recorded(rpc::kProtocols.highest)) ++there[one.kind];
  for (const auto& [name, kind] : kinds()) EXPECT_GE(there[name], 1U) << name << " is in no record: see the head of this file";
  EXPECT_GT(examples, 90U);
}

TEST(Releases, WhatEarlierReleasesWroteIsRead) {
  for (const Recorded& one : all_recorded()) {
    SCOPED_TRACE(one.kind);
    ASSERT_TRUE(kinds().contains(one.kind)) << "earlier releases send it";
    const auto description = kinds().at(one.kind).describe(one.message);
    ASSERT_TRUE(description) << description.error().to_string();
    EXPECT_EQ(*description, one.description);
  }
}

TEST(Releases, FieldsOfLaterReleasesAreIgnored) {
  for (const Recorded& one : all_recorded()) {
    SCOPED_TRACE(one.kind);
    rpc::Message message;
    message.header = grown(one.message.header.view());
    message.bulk = Buffer::copy_of(one.message.bulk.view());
    ASSERT_GT(message.header.size(), one.message.header.size());
    const auto description = kinds().at(one.kind).describe(message);
    ASSERT_TRUE(description) << description.error().to_string();
    EXPECT_EQ(*description, one.description);
  }
}

TEST(Releases, FieldsThatAnEarlierReleaseDidNotKnowAreNotThere) {
  for (const auto& [name, kind] : kinds()) {
    if (name == "Events") continue;  // a list of messages
    SCOPED_TRACE(name);
    for (const auto& example : kind.examples) {
      rpc::Message message;
      message.header = with_nothing_in(example->header.view());
      const auto description = kind.describe(message);
      EXPECT_TRUE(description) << description.error().to_string();
    }
  }
}

rpc::Message with_later_kind_of(const std::string& name) {
  for (const Recorded& one : all_recorded())
    if (one.kind == name) {
      rpc::Message message;
      message.header = with_later_kind(one.message.header.view());
      message.bulk = Buffer::copy_of(one.message.bulk.view());
      return message;
    }
  throw std::runtime_error("not recorded: " + name);
}

TEST(Releases, CommandsOfLaterReleasesArePassedOverAndCounted) {
  const auto of = [](const std::string& name, const rpc::Message& message) { return kinds().at(name).describe(message); };
  for (const std::string name : {"Commands", "ChunkCommands"}) {
    SCOPED_TRACE(name);
    const rpc::Message message = with_later_kind_of(name);
    EXPECT_EQ(of(name, message).value(), of(name, *kinds().at(name).examples.front()).value());
  }
  unsigned skipped = 0;
  ASSERT_TRUE(runtime::protocol::decode<runtime::protocol::Commands>(with_later_kind_of("Commands"), &skipped));
  EXPECT_EQ(skipped, 1U);
  ASSERT_TRUE(storage::files::decode<storage::files::ChunkCommands>(with_later_kind_of("ChunkCommands"), &skipped));
  EXPECT_EQ(skipped, 1U);
}

TEST(Releases, WhoeverDoesNotCountThemRefusesCommandsOfLaterReleases) {
  const auto refused = runtime::protocol::decode<runtime::protocol::Commands>(with_later_kind_of("Commands"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::corrupt);
  EXPECT_THAT(refused.error().to_string(), testing::HasSubstr("this version does not know"));
}

TEST(Releases, RequestsOfLaterReleasesAreRefused) {
  for (const std::string name : {"FileRequest", "TableRequest"}) {
    const auto refused = kinds().at(name).describe(with_later_kind_of(name));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().to_string(), testing::HasSubstr("this version does not know"));
  }
}

}  // namespace
}  // namespace weft::releases
