// The server's side of its workers: who is there, what they say and what they are told. Messages become events of the core, and the
// core's commands become messages, those of one turn of the reactor in one.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/rpc/rpc.hpp"
#include "engine/master/core/core_shell.hpp"
#include "engine/master/journal/job_recorder.hpp"
#include "engine/master/nodes/clock_offset.hpp"
#include "engine/master/nodes/lost_workers.hpp"
#include "engine/master/nodes/node_capacities.hpp"
#include "engine/master/nodes/topology.hpp"
#include "engine/master/server/running_jobs.hpp"
#include "engine/master/server/server.hpp"
#include "runtime/protocol/worker.hpp"

namespace weft::master {

namespace protocol = runtime::protocol;

/// Reactor thread only.
class WorkerConnections {
 public:
  struct Node {
    protocol::Register info;
    rpc::ConnectionPtr connection;
    std::set<JobId> prepared;  // it has the set-up and the values so far
    std::vector<protocol::Command> outbox;
    bool flush_posted = false;
    Time heard{0};
    protocol::Heartbeat heartbeat{};  // the last one
    ClockOffset clock;
    int dying_of = 0;  // a signal, of which it said so
    bool leaving = false, hands_over_chunks = false;
  };
  /// What it works with; all of it outlives the connections.
  struct Parts {
    CoreShell& shell;
    JobRecorder& recorder;
    const RunningJobs& jobs;
    PrefetchReports& prefetched;
    rpc::Reactor& reactor;
    rpc::Reactor& background;  // what may block: asking the topology program
    Topology* topology;        // null: workers say which rack they are in
    const std::unique_ptr<StorageService>& storage;
    const ServerOptions& options;
  };
  explicit WorkerConnections(Parts parts) : parts_(parts) {}

  const std::map<NodeId, Node>& nodes() const { return nodes_; }
  const std::deque<LostWorker>& recently_lost() { return lost_.recent(parts_.shell.now()); }
  /// The worker on the other end, once it has joined.
  std::optional<WorkerSite> site_of(const rpc::ConnectionPtr& connection);
  void close();
  /// An operator's word (NodeCapacities::set), at once.
  Result<void> set_capacity(const std::string& name, std::string_view text, std::string_view reason);
  /// What operators told an earlier master. Before any worker joins.
  void restore(const std::vector<NodeSetting>& settings);

  /// Answers when the worker has joined and its id is safe, or with why it is refused.
  void on_register(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder);
  /// Disconnects who says what makes no sense.
  void on_notify(const rpc::ConnectionPtr& connection, const rpc::Message& message);
  /// False when it was no worker's connection.
  bool on_close(const rpc::ConnectionPtr& connection, const Error& error);

  void notify(NodeId id, rpc::MessageType type, rpc::Payload payload) const;
  /// To all workers that know the job.
  void send_value(JobId job, ActionId action, const SharedBytes& value);

  void carry_out(LaunchTask& launch);
  void carry_out(KillTask& kill);
  void carry_out(ShuffleLocations& table);
  void carry_out(ShuffleExtended& more);
  void carry_out(PrefetchShuffle& prefetch);
  void carry_out(ReplicateOutput& copy);
  void carry_out(ReleaseShuffle& release);
  void carry_out(ReleaseJob& release);
  void carry_out(NodeLost& lost);

 private:
  struct Tag;
  static std::shared_ptr<Tag> tag_of(const rpc::ConnectionPtr& connection);
  std::map<NodeId, Node>::iterator node_of(const rpc::ConnectionPtr& connection);
  /// The worker of that name that is there, unless it is this process itself.
  std::optional<NodeId> rival_of(const protocol::Register& info) const;
  /// Makes sure that nobody else has the name: what is left of the same process goes, who has no name of its own gets another.
  Result<void> settle_name(protocol::Register& info);
  /// It is lost, and its connection ends.
  void expel(NodeId id, const std::string& why);
  void forget(NodeId id, const std::string& why);
  Result<rpc::Payload> join(const rpc::ConnectionPtr& connection, Tag& tag, NodeId id, protocol::Register info,
                            const schedulers::UplinkRate& uplink);
  Result<void> on_dying(const rpc::ConnectionPtr& connection, const rpc::Message& message);
  Result<void> on_message(NodeId id, Node& node, const rpc::Message& message);
  Result<void> on_heartbeat(NodeId id, Node& node, const rpc::Message& message);
  Result<void> on_leaving(NodeId id, Node& node, const rpc::Message& message);
  void tell_remains(NodeId id, const Node& node) const;
  Result<void> on_capacity_texts(NodeId id, const Node& node, const rpc::Message& message);
  /// Tells the core what has changed of the node's capacity.
  void update_capacity(NodeId id);
  void on_task_event(NodeId node, protocol::Event event);
  void on_replica_ended(NodeId node, protocol::ReplicaEnded ended);
  void on_prefetch_report(NodeId node, const std::vector<protocol::JobPrefetch>& jobs);
  void note_loss(const NodeLost& lost, const Node& node);
  Node* prepared(NodeId id, JobId job);
  protocol::NodeAddress address_of(NodeId id, const Node& node) const;
  std::vector<protocol::NodeAddress> holders_of(const std::vector<shuffle::MapOutput>& outputs) const;
  void send(NodeId id, protocol::Command command);
  void flush(NodeId id);

  Parts parts_;
  std::map<NodeId, Node> nodes_;
  LostWorkers lost_;
  NodeCapacities capacities_;
  Log log_{"master"};
};

}  // namespace weft::master
