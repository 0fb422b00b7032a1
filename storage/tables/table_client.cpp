// What clients ask the master for, and how the client keeps what it holds there.
#include "storage/tables/table_client.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/rpc/credentials.hpp"
#include "base/text.hpp"
#include "base/unguessable.hpp"
#include "storage/tables/client_impl.hpp"

namespace weft::storage::tables {
namespace {

using namespace std::chrono_literals;
constexpr Duration kAskDeadline = kSnapshotDeadline;
constexpr Retry::Pauses kPauses{10ms, 500ms};
constexpr Duration kReplicasPause = 10ms;
constexpr Duration kRenewal = 10s;
constexpr Duration kReplicasWait = 5s;

class Temporary final : public TemporarySnapshot {
 public:
  Temporary(std::shared_ptr<TableClientImpl> client, std::string table, SnapshotId id)
      : client_(std::move(client)), table_(std::move(table)), id_(id) {}
  ~Temporary() override { client_->forget(table_, id_.value()); }
  SnapshotId id() const override { return id_; }

 private:
  const std::shared_ptr<TableClientImpl> client_;
  const std::string table_;
  const SnapshotId id_;
};

}  // namespace

KeyRange KeyRange::prefix(const std::string& prefix) {
  KeyRange range{prefix, prefix};
  while (!range.to.empty() && range.to.back() == '\xff') range.to.pop_back();
  if (!range.to.empty()) range.to.back() = static_cast<char>(static_cast<unsigned char>(range.to.back()) + 1);
  return range;
}

Result<std::shared_ptr<TableClient>> TableClient::connect(const std::string& master, TableClientOptions options) {
  WEFT_ASSIGN(auto endpoint, rpc::Endpoint::parse_list(master));
  WEFT_ASSIGN(auto security, rpc::security_of_environment());
  auto client = std::make_shared<TableClientImpl>(master, std::move(endpoint), std::move(options), std::move(security));
  WEFT_TRY(client->begin_client());
  return std::shared_ptr<TableClient>(std::move(client));
}

TableClientImpl::TableClientImpl(std::string master, rpc::Endpoint endpoint, TableClientOptions options, rpc::Security security)
    : options_(std::move(options)),
      reactor_(rpc::Reactor::start("weft-tables", std::move(security))),
      master_(*reactor_, std::move(endpoint), std::move(master), options_.user.empty() ? user_name() : options_.user) {
  if (options_.host.empty()) options_.host = machine_name();
  if (!options_.waiting) options_.waiting = [](const std::string& what) { Log("tables").warn("{}", what); };
  reactor_->run([this] { peers_ = std::make_unique<PartitionPeers>(*reactor_); });
}

TableClientImpl::~TableClientImpl() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ending_.notify_all();
  if (renewals_.joinable()) renewals_.join();
  reactor_->run([this] { peers_.reset(); });
  master_.close();
  reactor_->stop();
}

Result<TableReply> TableClientImpl::ask_for(const TableRequest& request, bool* repeated) {
  const Duration deadline = std::holds_alternative<CommitTransaction>(request) ? kCommitDeadline : kAskDeadline;
  WEFT_ASSIGN(const rpc::Message answer,
              master_.call(
                  kTableRequest, [&] { return encode(request); }, deadline, Retry(options_, kPauses), repeated));
  return decode_table_reply(answer);
}

void TableClientImpl::tell(const TableRequest& request) { (void)master_.call(kTableRequest, encode(request), kAskDeadline); }

Result<void> TableClientImpl::create(const std::string& table, const CreateTable& options) {
  WEFT_TRY(ask(MakeTable{table, options.partitions, options.replication, unguessable_number()}));
  const TimePoint end = SystemClock().now() + kReplicasWait;
  while (SystemClock().now() < end) {
    WEFT_ASSIGN(const TableStatus status, describe(table));
    const bool complete = std::all_of(status.partitions.begin(), status.partitions.end(), [](const PartitionStatus& partition) {
      return std::all_of(partition.members.begin(), partition.members.end(),
                         [](const MemberStatus& member) { return member.in_sync; });
    });
    if (complete) break;
    std::this_thread::sleep_for(kReplicasPause);
  }
  return {};
}

Result<void> TableClientImpl::drop(const std::string& table) {
  WEFT_ASSIGN(const TableStatus there, describe(table));
  return done_or(Code::not_found, [&](bool* repeated) { return ask(DropTable{table, there.id}, repeated); });
}

Result<std::vector<TableStatus>> TableClientImpl::list() {
  return ask(ListTables{}).map([](TableList&& list) { return std::move(list.tables); });
}

Result<TableStatus> TableClientImpl::describe(const std::string& table) { return ask(DescribeTable{table}); }

Result<void> TableClientImpl::set_mode(const std::string& table, std::uint32_t mode) {
  return ask(SetTableMode{table, mode}).map([](Done) {});
}

Result<void> TableClientImpl::set_owner(const std::string& table, const std::string& user) {
  return ask(SetTableOwner{table, user}).map([](Done) {});
}

Result<std::vector<RemainingReplica>> TableClientImpl::promote_remaining(const std::string& table, bool accept_loss) {
  return ask(PromoteRemaining{table, accept_loss}).map([](RemainingReplicas&& all) { return std::move(all.replicas); });
}

Result<TableClientImpl::Route> TableClientImpl::route(const std::string& table, bool refresh) {
  if (!refresh) {
    const std::lock_guard lock(mutex_);
    if (const auto known = routes_.find(table); known != routes_.end()) return known->second;
  }
  WEFT_ASSIGN(TableStatus status, describe(table));
  if (status.partitions.empty()) return fail(Code::corrupt, "the master answered with a table of no partitions");
  auto fresh = std::make_shared<const TableStatus>(std::move(status));
  const std::lock_guard lock(mutex_);
  routes_[table] = fresh;
  return fresh;
}

Result<SnapshotId> TableClientImpl::snapshot(const std::string& table, const std::string& name) {
  return ask(TakeSnapshot{table, name, unguessable_number()}).map([](const TakenSnapshot& taken) { return taken.id; });
}

Result<std::unique_ptr<TemporarySnapshot>> TableClientImpl::temporary_snapshot(const std::string& table) {
  WEFT_ASSIGN(const SnapshotId id, snapshot(table, ""));
  keep(table, id.value());
  return std::unique_ptr<TemporarySnapshot>(std::make_unique<Temporary>(shared_from_this(), table, id));
}

Result<SnapshotId> TableClientImpl::find_snapshot(const std::string& table, const std::string& name) {
  WEFT_ASSIGN(const TableStatus status, describe(table));
  for (const SnapshotStatus& snapshot : status.snapshots)
    if (!name.empty() && snapshot.name == name) return snapshot.id;
  return fail(Code::not_found, fmt::format("the table '{}' has no snapshot '{}'; `weft table snapshot list {}` shows those it has",
                                           table, escaped(name), table));
}

Result<void> TableClientImpl::drop_snapshot(const std::string& table, const std::string& name) {
  WEFT_ASSIGN(const SnapshotId id, find_snapshot(table, name));
  return done_or(Code::not_found, [&](bool* repeated) { return ask(DropSnapshot{table, id}, repeated); });
}

Result<TransactionId> TableClientImpl::begin(const std::string& table) {
  WEFT_ASSIGN(const BegunTransaction begun, ask(BeginTransaction{table}));
  keep(table, begun.id.value());
  return begun.id;
}

void TableClientImpl::resume(const std::string& table, std::uint64_t id) {
  keep(table, id);
  tell(RenewLease{table, id});  // its time may be nearly over
}

Result<void> TableClientImpl::commit(const std::string& table, TransactionId id, std::vector<std::uint64_t> tokens) {
  WEFT_TRY(ask(CommitTransaction{table, {id, std::move(tokens)}}));
  const std::lock_guard lock(mutex_);
  kept_.erase({table, id.value()});
  return {};
}

Result<void> TableClientImpl::abort(const std::string& table, TransactionId id) {
  {
    const std::lock_guard lock(mutex_);
    kept_.erase({table, id.value()});
  }
  return ask(AbortTransaction{table, id}).map([](Done) {});
}

void TableClientImpl::keep(const std::string& table, std::uint64_t lease) {
  const std::lock_guard lock(mutex_);
  kept_.emplace(table, lease);
  if (!renewals_.joinable()) renewals_ = std::thread([this] { renew_all(); });
}

/// Nobody needs the snapshot any more. If the request does not reach the master, the snapshot ends with its lease.
void TableClientImpl::forget(const std::string& table, std::uint64_t lease) {
  {
    const std::lock_guard lock(mutex_);
    kept_.erase({table, lease});
  }
  tell(DropSnapshot{table, SnapshotId(lease)});
}

void TableClientImpl::renew_all() {
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, kRenewal, [this] { return ended_; })) {
    const auto kept = kept_;
    lock.unlock();
    for (const auto& [table, lease] : kept) tell(RenewLease{table, lease});  // with the next round again
    lock.lock();
  }
}

}  // namespace weft::storage::tables
