#include "engine/master/server/access.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/core.h>

#include "base/rpc/watched_call.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "engine/master/replication/protocol.hpp"
#include "engine/master/storage/storage_service.hpp"
#include "runtime/protocol/worker.hpp"

namespace weft::master {
namespace {

using rpc::Role;
namespace protocol = runtime::protocol;

constexpr std::array kOfWorkers{Role::worker};
constexpr std::array kOfMasters{Role::master};
constexpr std::array kOfCluster{Role::worker, Role::master};
constexpr std::array kOfClients{Role::user, Role::master};
constexpr std::array kOfAll{Role::user, Role::worker, Role::master};

/// Drivers in the cluster and executors have the certificates of their workers: they attach to jobs, whose keys they know, and
/// read and write files, but begin no jobs and change no settings.
std::span<const Role> senders_of(rpc::MessageType type) {
  switch (type) {
    case rpc::kPresence:
    case client::kUploadBinary:
    case client::kRunPart:
    case client::kPoll:
    case client::kRecordValue:
    case client::kCloseJob:
    case client::kAttachJob:
    case client::kRecorded:
    case client::kListNodes:
    case client::kJobStatus:
      return kOfAll;
    case protocol::kFetchBinary:
      return kOfCluster;
    case kFollow:
    case kPull:
    case kAlive:
      return kOfMasters;
    default:
      break;
  }
  if (type >= kFirstStorageMessage && type <= kLastStorageMessage)
    return type < kFirstWorkerStorageMessage ? std::span<const Role>(kOfAll) : kOfWorkers;
  return type < client::kSubmitJob ? std::span<const Role>(kOfWorkers) : kOfClients;
}

}  // namespace

Result<void> may_send(const rpc::Connection& peer, rpc::MessageType type) {
  const rpc::Identity* const who = peer.identity();
  if (who == nullptr) return {};
  const auto senders = senders_of(type);
  if (std::find(senders.begin(), senders.end(), who->role) != senders.end()) return {};
  return fail(Code::invalid_argument, fmt::format("{} {} may not do this: it needs the certificate of a {}", name_of(who->role),
                                                  who->name, name_of(senders.front())));
}

std::string user_of(const rpc::Connection& peer) {
  const rpc::Identity* const who = peer.identity();
  return who != nullptr && who->role == Role::user ? who->name : std::string();
}

}  // namespace weft::master
