// The inside of the client. Private to storage/tables.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "storage/master_connection.hpp"
#include "storage/tables/partition_peers.hpp"
#include "storage/tables/table_client.hpp"

namespace weft::storage::tables {

class Answers;

class TableClientImpl final : public TableClient, public std::enable_shared_from_this<TableClientImpl> {
 public:
  TableClientImpl(std::string master, rpc::Endpoint endpoint, TableClientOptions options, rpc::Security security);
  ~TableClientImpl() override;
  /// Sees whether the master is there.
  Result<void> begin_client() {
    return master_.await(Retry::at_first(options_, {std::chrono::milliseconds(20), std::chrono::seconds(1)}));
  }

  Result<void> create(const std::string& table, const CreateTable& options) override;
  Result<void> drop(const std::string& table) override;
  Result<std::vector<TableStatus>> list() override;
  Result<TableStatus> describe(const std::string& table) override;
  Result<void> set_mode(const std::string& table, std::uint32_t mode) override;
  Result<void> set_owner(const std::string& table, const std::string& user) override;
  Result<std::vector<RemainingReplica>> promote_remaining(const std::string& table, bool accept_loss) override;
  Result<void> put(const std::string& table, std::vector<TableWrite> writes) override;
  Result<std::vector<std::optional<std::string>>> get(const std::string& table, const std::vector<std::string>& keys,
                                                      SnapshotId snapshot) override;
  Result<std::unique_ptr<TableScan>> scan(const std::string& table, const KeyRange& range, SnapshotId snapshot) override;
  Result<std::unique_ptr<TableScan>> scan_partition(const std::string& table, std::uint32_t partition,
                                                    SnapshotId snapshot) override;
  Result<SnapshotId> snapshot(const std::string& table, const std::string& name) override;
  Result<std::unique_ptr<TemporarySnapshot>> temporary_snapshot(const std::string& table) override;
  Result<SnapshotId> find_snapshot(const std::string& table, const std::string& name) override;
  Result<void> drop_snapshot(const std::string& table, const std::string& name) override;
  Result<TransactionId> begin(const std::string& table) override;
  void resume(const std::string& table, std::uint64_t id) override;
  Result<void> stage(const std::string& table, TransactionId id, std::uint64_t token, std::vector<TableWrite> writes) override;
  Result<void> commit(const std::string& table, TransactionId id, std::vector<std::uint64_t> tokens) override;
  Result<void> abort(const std::string& table, TransactionId id) override;

  struct Part {
    std::uint32_t partition = 0;
    PartitionOperation operation;
  };
  /// A table's partitions, as the master reported them.
  using Route = std::shared_ptr<const TableStatus>;
  /// Sends all at once, and those that fail again, for as long as the options allow. Replies are in the order of the parts.
  /// `where`: the route by which the parts were made; it becomes the newest one. not_found when that has another id: the table was
  /// dropped, and another one made under its name, which may have another number of partitions.
  Result<std::vector<PartitionReply>> ask_partitions(const std::string& table, std::vector<Part> parts, Route& where);
  /// Where the table's partitions are, as the master reported last.
  Result<Route> route(const std::string& table, bool refresh);
  void forget(const std::string& table, std::uint64_t lease);

 private:
  /// `repeated`: an earlier request may have been carried out though its answer was lost.
  template <class Operation>
  Result<typename Operation::Reply> ask(const Operation& operation, bool* repeated = nullptr) {
    return reply_to<Operation>(ask_for(TableRequest(operation), repeated));
  }
  Result<TableReply> ask_for(const TableRequest& request, bool* repeated);
  /// Reports no failure: later calls show it.
  void tell(const TableRequest& request);
  /// Sends the requests that are still open; `requests` outlives the answers.
  std::shared_ptr<Answers> send(const TableStatus& where, const std::vector<PartitionRequest>& requests,
                                const std::vector<std::size_t>& open, std::uint32_t tries);
  std::string address_for(const PartitionStatus& partition, bool snapshot, std::uint32_t tries) const;
  /// What is split by the partitions of one table, and again by those of another one that is made under its name meanwhile.
  template <class T>
  Result<T> with_route(const std::string& table, const std::function<Result<T>(Route& where)>& carry_out);
  /// `make` makes the operation of the writes of one message.
  using MakeOperation = std::function<PartitionOperation(std::vector<TableWrite>)>;
  Result<void> write(const std::string& table, const std::vector<TableWrite>& writes, const MakeOperation& make);
  Result<void> write_by(Route& where, const std::string& table, const std::vector<TableWrite>& writes, const MakeOperation& make);
  using Found = std::vector<std::optional<std::string>>;
  Result<Found> get_by(Route& where, const std::string& table, const std::vector<std::string>& keys, SnapshotId snapshot);
  void keep(const std::string& table, std::uint64_t lease);
  void renew_all();

  TableClientOptions options_;
  std::unique_ptr<rpc::Reactor> reactor_;
  MasterConnection master_;
  std::unique_ptr<PartitionPeers> peers_;  // on the reactor's thread

  std::mutex mutex_;  // guards what follows
  std::map<std::string, Route> routes_;
  std::set<std::pair<std::string, std::uint64_t>> kept_;  // tables, and what is to be renewed
  std::condition_variable ending_;
  bool ended_ = false;
  std::thread renewals_;  // started when something is kept first
};

/// Rows of several partitions at a snapshot, in order. `where` is the route by which they were chosen. `held` lives as long as the
/// scan.
Result<std::unique_ptr<TableScan>> make_scan(std::shared_ptr<TableClientImpl> client, std::string table,
                                             TableClientImpl::Route where, std::vector<std::uint32_t> partitions, KeyRange range,
                                             SnapshotId snapshot, std::unique_ptr<TemporarySnapshot> held);

}  // namespace weft::storage::tables
