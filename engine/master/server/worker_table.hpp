// The workers that are registered, and their connections.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/rpc/rpc.hpp"
#include "engine/master/core/events.hpp"
#include "engine/master/nodes/clock_offset.hpp"
#include "engine/master/storage/storage_service.hpp"
#include "runtime/protocol/worker.hpp"

namespace weft::master {

namespace protocol = runtime::protocol;

struct RegisteredWorker {
  protocol::Register info{};
  rpc::ConnectionPtr connection{};
  rpc::Protocol protocol = 0;  // of the connection
  std::set<JobId> prepared{};  // jobs whose set-up and values it has
  std::vector<protocol::Command> outbox{};
  bool flush_posted = false;  // or the rest of the outbox waits until the worker has what was sent of it
  Time heard{0};
  protocol::Heartbeat heartbeat{};  // the last one
  ClockOffset clock{};
  int dying_of = 0;                           // a fatal signal that it reported
  std::uint64_t events = 0, events_kept = 0;  // ends of attempts that it reported, and those that it knows to be on the disk
  bool keeping = false;                       // it will be notified of more
  bool leaving = false, hands_over_chunks = false;
  bool unknown_noted = false;  // that it sends what this release does not know

  protocol::NodeAddress address(NodeId id) const { return {id, info.name, info.data_address, info.rack}; }
  WorkerSite site(NodeId id) const { return {id, info.name, info.host, info.rack}; }
};

/// What the connection of a worker is, in its context; connections of clients have none.
struct WorkerTag {
  std::optional<NodeId> node;  // once it has joined
  static std::shared_ptr<WorkerTag> of(const rpc::ConnectionPtr& connection) {
    return std::static_pointer_cast<WorkerTag>(connection->context);
  }
};

/// Reactor thread only.
class WorkerTable {
 public:
  /// Commands that are longer together, in bytes of a message, travel in several. A worker takes messages of up to twice that
  /// header (rpc::Limits), and while one of that bulk waits to be sent, others may join it.
  struct Most {
    std::size_t header = 32u << 20, bulk = 128u << 20;
  };
  explicit WorkerTable(rpc::Reactor& reactor, Most most) : reactor_(reactor), most_(most) {}
  explicit WorkerTable(rpc::Reactor& reactor) : WorkerTable(reactor, Most{}) {}

  using Workers = std::map<NodeId, RegisteredWorker>;
  const Workers& all() const { return workers_; }
  RegisteredWorker& add(NodeId id, const rpc::ConnectionPtr& connection);
  void erase(NodeId id);
  bool contains(NodeId id) const { return workers_.contains(id); }
  RegisteredWorker& at(NodeId id) { return workers_.at(id); }
  /// Null: it is gone.
  RegisteredWorker* find(NodeId id);
  /// The worker on the other end, once it has joined.
  std::optional<NodeId> on(const rpc::ConnectionPtr& connection) const;

  // To a worker, unless it is gone.
  void notify(NodeId id, rpc::MessageType type, rpc::Payload payload) const;
  /// Commands of one turn of the reactor travel in one message; when they are too long for that, in several, one at a time.
  void send(NodeId id, protocol::Command command);
  /// The key of a job whose set-up the worker has; nothing to one that knows no keys.
  void send_key(NodeId id, JobId job, std::uint64_t key);
  /// Workers of the master before may come back, and nobody knows which protocol they speak: until that is over, workers hear
  /// nothing of the lowest one.
  void wait_for_others(bool waits);

 private:
  void flush(NodeId id);
  /// The first commands of those, as many as fit into a message; at least one.
  std::vector<protocol::Command> take_some(std::vector<protocol::Command>& outbox) const;
  void send_lowest(NodeId id, const RegisteredWorker& worker);
  void send_lowest();
  /// True when it is another one now; then all workers hear of it, unless others are waited for.
  bool settle_lowest();

  rpc::Reactor& reactor_;
  const Most most_;
  Workers workers_;
  std::map<rpc::Protocol, std::size_t> protocols_;  // how many workers speak each
  rpc::Protocol lowest_ = rpc::kProtocols.highest;  // of these
  bool waits_ = false;
};

}  // namespace weft::master
