#include "tests/releases/kinds.hpp"

#include "engine/master/plan/plan.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "engine/master/replication/protocol.hpp"
#include "runtime/protocol/executor.hpp"
#include "runtime/protocol/worker.hpp"
#include "shuffle/read/read_part.hpp"
#include "storage/acting_user.hpp"
#include "storage/files/protocol.hpp"
#include "storage/tables/protocol.hpp"
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
      {"PastWanted", of_clients<client::PastWanted>()},
      {"Past", of_clients<client::Past>()},
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

}  // namespace

const std::map<std::string, Kind>& kinds() {
  static const std::map<std::string, Kind> made = make_kinds();
  return made;
}

}  // namespace weft::releases
