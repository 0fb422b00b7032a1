#include "runtime/executor/worker_link.hpp"

#include <chrono>

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
constexpr auto kCommitDeadline = 60s;
constexpr auto kReadDeadline = 180s;  // a worker that works answers within 30 s, with what has come (PartitionRead::longest_wait)

}  // namespace

Result<void> WorkerLink::commit(const AttemptId& attempt, shuffle::SealedSegment segment) {
  rpc::Payload payload = protocol::encode(protocol::Commit{attempt, segment.size, std::move(segment.partitions)});
  payload.fds.push_back(std::move(segment.fd));
  WEFT_TRY(rpc::call(reactor_, connection_, protocol::kCommit, std::move(payload), kCommitDeadline));
  return {};
}

Result<shuffle::ReadPart> WorkerLink::read(const protocol::ReadRequest& request) {
  WEFT_ASSIGN(rpc::Message answer, rpc::call(reactor_, connection_, protocol::kRead, protocol::encode(request), kReadDeadline));
  return protocol::decode_part(std::move(answer));
}

}  // namespace weft::runtime
