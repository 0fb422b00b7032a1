#include "engine/master/server/access.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "base/rpc/watched_call.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "engine/master/replication/protocol.hpp"
#include "runtime/protocol/worker.hpp"
#include "storage/acting_user.hpp"
#include "storage/files/protocol.hpp"
#include "storage/tables/protocol.hpp"

namespace weft::master {
namespace {

using rpc::Role;
namespace protocol = runtime::protocol;
namespace files = storage::files;
namespace tables = storage::tables;

constexpr std::array kOfWorkers{Role::worker};
constexpr std::array kOfMasters{Role::master};
constexpr std::array kOfCluster{Role::worker, Role::master};
constexpr std::array kOfClients{Role::user, Role::master};
constexpr std::array kOfAll{Role::user, Role::worker, Role::master};

/// Drivers in the cluster and executors have the certificates of their workers: they attach to jobs, whose keys they know, and
/// read and write files, but begin no jobs and change no settings.
constexpr std::array kRules{
    Rule{protocol::kRegister, kOfWorkers, Needs::nothing, "register as a worker"},
    Rule{protocol::kHeartbeat, kOfWorkers},
    Rule{protocol::kTaskEvents, kOfWorkers},
    Rule{protocol::kFetchBinary, kOfCluster},
    Rule{protocol::kReplicaEnded, kOfWorkers},
    Rule{protocol::kPrefetchReport, kOfWorkers},
    Rule{protocol::kDying, kOfWorkers},
    Rule{protocol::kCapacityTexts, kOfWorkers},
    Rule{protocol::kLeaving, kOfWorkers},
    Rule{rpc::kPresence, kOfAll},
    Rule{protocol::kDriverEnded, kOfWorkers},

    Rule{client::kSubmitJob, kOfClients, Needs::nothing, "submit a job", "submit"},
    Rule{client::kUploadBinary, kOfAll},
    Rule{client::kRunPart, kOfAll, Needs::own_job, "add to it"},
    Rule{client::kPoll, kOfAll, Needs::own_job, "read its results"},
    Rule{client::kRecordValue, kOfAll, Needs::own_job, "record values in it"},
    Rule{client::kCloseJob, kOfAll, Needs::own_job, "end it"},
    Rule{client::kAttachJob, kOfAll, Needs::own_job, "attach to it", "attach"},
    Rule{client::kRecorded, kOfAll, Needs::own_job, "read its values", "read values"},
    Rule{client::kDetachJob, kOfClients, Needs::nothing, "submit a job", "submit"},
    Rule{client::kStartDriver, kOfClients, Needs::own_job, "start its driver"},
    Rule{client::kListJobs, kOfClients},
    Rule{client::kJobStatus, kOfAll, Needs::job_of_pool, "read its status"},
    Rule{client::kKillJob, kOfClients, Needs::job_of_pool, "kill it", "kill"},
    Rule{client::kJobLogs, kOfClients, Needs::job_of_pool, "read its logs", "read logs"},
    Rule{client::kListNodes, kOfAll},
    Rule{client::kExplainJob, kOfClients, Needs::job_of_pool, "have it explained"},
    Rule{client::kListGroups, kOfClients},
    Rule{client::kShowScheduler, kOfClients},
    Rule{client::kConfigureScheduler, kOfClients, Needs::administrator, "change the scheduler", "change scheduler"},
    Rule{client::kProfiles, kOfClients, Needs::operation, "change profiles", "change profiles"},
    Rule{client::kSetNode, kOfClients, Needs::administrator, "change the capacity of workers", "change capacity"},
    Rule{client::kListMasters, kOfClients},
    Rule{client::kReadEvents, kOfClients, Needs::events, "read its events", "read events"},
    Rule{client::kReadPast, kOfClients},

    Rule{kFollow, kOfMasters, Needs::nothing, "follow as a master"},
    Rule{kPull, kOfMasters, Needs::nothing, "copy what the master keeps"},
    Rule{kAlive, kOfMasters},

    Rule{files::kFileRequest, kOfAll, Needs::operation},
    Rule{tables::kTableRequest, kOfAll, Needs::operation},
    Rule{storage::kActFor, kOfAll},
    Rule{files::kStorageHello, kOfWorkers},
    Rule{files::kStorageJoin, kOfWorkers},
    Rule{files::kBlockReport, kOfWorkers},
    Rule{files::kChunkUpdate, kOfWorkers},
    Rule{files::kStorageSpace, kOfWorkers},
    Rule{tables::kTableHeartbeat, kOfWorkers},
    Rule{tables::kInSyncChange, kOfWorkers},
};
static_assert(std::is_sorted(kRules.begin(), kRules.end(), [](const Rule& a, const Rule& b) { return a.type < b.type; }));

}  // namespace

const Rule* rule_of(rpc::MessageType type) {
  const auto found =
      std::lower_bound(kRules.begin(), kRules.end(), type, [](const Rule& rule, rpc::MessageType of) { return rule.type < of; });
  return found == kRules.end() || found->type != type ? nullptr : &*found;
}

std::span<const Rule> rules() { return kRules; }

Result<void> may_send(const rpc::Connection& peer, rpc::MessageType type) {
  const rpc::Identity* const who = peer.identity();
  if (who == nullptr) return {};
  const Rule* const rule = rule_of(type);
  if (rule == nullptr)
    return fail(Code::invalid_argument, fmt::format("the master does not know message {} of {}", type, peer.peer_software()));
  if (std::find(rule->senders.begin(), rule->senders.end(), who->role) != rule->senders.end()) return {};
  return fail(Code::invalid_argument, fmt::format("{} {} may not do this: it needs the certificate of a {}", name_of(who->role),
                                                  who->name, name_of(rule->senders.front())));
}

/// All these messages begin with the job's number.
Result<JobId> job_named_in(const rpc::Message& message) {
  return client::decode<client::JobRequest>(message).map([](const client::JobRequest& request) { return request.job; });
}

}  // namespace weft::master
