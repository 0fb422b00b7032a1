// The cluster's tables behind the master's socket: the catalogue, made durable with the namespace. Part of the file service.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "engine/master/storage/storage_service.hpp"
#include "engine/master/storage/table_coordinator.hpp"
#include "storage/tables/catalogue.hpp"
#include "storage/tables/partition_peers.hpp"

namespace weft::master {

/// On the server's reactor thread.
class TableService {
 public:
  /// `lost_grace`: how long a lost worker may take to come back. `publish` makes durable what take_changes() gives, then calls
  /// back. `full`: why nothing can be made durable now, if so. Then changes are refused and workers get no new orders, but keep
  /// their leases, so that their data can be read.
  TableService(const StorageShell& shell, storage::Time lost_grace, std::function<void(Published)> publish,
               std::function<std::optional<Error>()> full);

  Result<void> restore(std::string_view key, std::string_view value) { return catalogue_.restore(key, value); }
  void begin(std::string cluster, storage::Time now);

  static bool is_for_tables(rpc::MessageType type);
  void on_client_request(const Caller& caller, const rpc::Message& message, rpc::Responder responder);
  void on_worker_request(const WorkerSite& worker, const rpc::Message& message, rpc::Responder responder);
  void worker_lost(NodeId worker, storage::Time now);
  void drain(const std::string& worker, bool on) { catalogue_.drain(worker, on); }
  void worker_leaves(const std::string& worker, bool returns) { catalogue_.node_leaves(worker, returns); }
  void worker_left(const std::string& worker) { catalogue_.node_left(worker); }
  std::size_t to_hand_over(const std::string& worker) const { return catalogue_.to_hand_over(worker); }
  std::size_t replicas_on(const std::string& worker) const { return catalogue_.replicas_on(worker); }
  void tick(storage::Time now);
  std::vector<storage::Change> take_changes() { return catalogue_.take_changes(); }

 private:
  using SharedResponder = std::shared_ptr<rpc::Responder>;
  struct Operations;
  struct MayDo;
  std::optional<Result<storage::tables::TableReply>> question(const Caller& caller,
                                                              const storage::tables::TableRequest& request) const;
  void on_heartbeat(const WorkerSite& worker, const storage::tables::TableHeartbeat& heartbeat, SharedResponder responder);
  void answer(storage::tables::TableReply reply, SharedResponder responder);
  void publish(Published then);
  /// When it cannot be made durable, `responder` fails, and `then` is not called.
  void publish(SharedResponder responder, std::function<void()> then);

  const std::function<void(NodeId, rpc::MessageType, rpc::Payload)> send_;
  const std::function<void(AuditEntry)> audit_;  // null: there is no audit log
  const std::function<void(Published)> publish_;
  const std::function<std::optional<Error>()> full_;
  Log log_{"tables"};
  std::string cluster_;
  storage::tables::TableCatalogue catalogue_;
  storage::tables::PartitionPeers peers_;
  std::map<std::string, NodeId> nodes_;  // by their names
  TableCoordinator coordinator_;
};

}  // namespace weft::master
