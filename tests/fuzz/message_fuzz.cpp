// libFuzzer entry: any bytes, as any message between master, workers and clients, must be read or refused, and what is read can be
// written again. The first byte chooses the message, the second how many bytes are bulk.
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "engine/master/protocol/protocol.hpp"
#include "runtime/protocol/executor.hpp"
#include "runtime/protocol/worker.hpp"

namespace {

using namespace weft;

template <class M, class Decode, class Encode>
void feed_one(const rpc::Message& message, Decode decode, Encode encode) {
  if (Result<M> read = decode(message)) static_cast<void>(encode(std::move(*read)));
}

template <class... M>
void feed_worker(unsigned kind, const rpc::Message& message) {
  unsigned at = 0, skipped = 0;
  const auto decode = [&]<class One>(std::type_identity<One>) { return runtime::protocol::decode<One>(message, &skipped); };
  ((at++ == kind ? feed_one<M>(
                       message, [&](const auto&) { return decode(std::type_identity<M>()); }, runtime::protocol::encode<M>)
                 : void()),
   ...);
}
template <class... M>
void feed_client(unsigned kind, const rpc::Message& message) {
  unsigned at = 0;
  ((at++ == kind ? feed_one<M>(message, client::decode<M>, client::encode<M>) : void()), ...);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace protocol = runtime::protocol;
  if (size < 2) return 0;
  const ByteView bytes{reinterpret_cast<const std::byte*>(data) + 2, size - 2};
  const std::size_t bulk = std::min<std::size_t>(data[1], bytes.size());
  rpc::Message message;
  message.header = Buffer::copy_of(bytes.first(bytes.size() - bulk));
  message.bulk = Buffer::copy_of(bytes.last(bulk));
  const unsigned kind = data[0] / 2;
  if (data[0] % 2 == 0) {
    feed_worker<protocol::Launches, protocol::Events, protocol::Register, protocol::Registered, protocol::Heartbeat,
                protocol::Dying, protocol::Commands, protocol::BinaryRequest, protocol::BinaryChunk, protocol::LogRequest,
                protocol::ReplicaEnded, protocol::PrefetchReport, protocol::Commit, protocol::ReadRequest, protocol::ExecutorSetup,
                shuffle::PartContents>(kind % 16, message);
  } else {
    feed_client<client::Submit, client::Submitted, client::Upload, client::JobRequest, client::ValueRecord, client::Poll,
                client::PollReply, client::JobList, client::KillRequest, client::LogsWanted, client::JobLogs, client::NodeList,
                master::JobExplanation, client::GroupList, client::SchedulerInfo>(kind % 15, message);
  }
  return 0;
}
