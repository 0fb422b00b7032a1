// The server's parts: what it knows of workers and jobs beyond the core. Everything runs on its reactor's thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "base/rpc/rpc.hpp"
#include "base/run_directory.hpp"
#include "engine/client/protocol.hpp"
#include "engine/master/binary_store.hpp"
#include "engine/master/clock_offset.hpp"
#include "engine/master/event_log.hpp"
#include "engine/master/heartbeat_filter.hpp"
#include "engine/master/journal.hpp"
#include "engine/master/lost_workers.hpp"
#include "engine/master/server.hpp"
#include "engine/master/topology.hpp"
#include "engine/scheduling/catalogue.hpp"
#include "engine/scheduling/guarded_core.hpp"
#include "runtime/protocol/worker.hpp"

namespace weft::master {

namespace protocol = runtime::protocol;

class ServerImpl final : public Server {
 public:
  explicit ServerImpl(ServerOptions options) : options_(std::move(options)) {}
  ~ServerImpl() override;
  Result<void> begin();
  const std::string& address() const override { return address_; }
  void reload() override;

 private:
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

    protocol::NodeAddress address(NodeId id) const { return {id, info.name, info.data_address, info.rack}; }
  };
  /// A client's poll that waits for something to tell.
  struct Waiting {
    std::uint64_t id = 0;
    client::Poll poll;
    std::shared_ptr<rpc::Responder> responder;
    std::unique_ptr<rpc::Timer> timer;
  };
  struct Job {
    client::Submit submit;
    rpc::ConnectionPtr driver;
    std::map<ActionId, SharedBytes> values;
    std::uint64_t value_bytes = 0;
    std::map<ActionId, std::vector<std::vector<Buffer>>> finished;  // until the driver has asked
    std::vector<Waiting> waiting;
  };

  // server.cpp: events in, commands out.
  Result<void> open_core();
  Result<void> open_storage();
  Time now() const { return SystemClock().now() - started_; }
  Result<void> apply(Event event);
  Result<void> apply_to_core(Time at, Event event, std::vector<Command>& commands);
  void give_up(const Error& why);
  void log_scheduler_faults();
  void log_event(Time at, const std::string& line, const std::vector<Command>& commands);
  void carry_out(LaunchTask& launch);
  void carry_out(KillTask& kill);
  void carry_out(ShuffleLocations& table);
  void carry_out(const ShuffleExtended&) { WEFT_ASSERT(false); }  // slow start is not for real workers
  void carry_out(PrefetchShuffle& prefetch);
  void carry_out(const ReplicateOutput& copy);
  void carry_out(const OutputMoved& moved);
  void carry_out(ReleaseShuffle& release);
  void carry_out(ReleaseJob& release);
  void carry_out(NodeLost& lost);
  void note_loss(const NodeLost& lost, const Node& node);
  void carry_out(ActionFinished& action);
  void carry_out(JobFailed& failure);
  void carry_out(JobFinished& finished);
  void carry_out(SetTimer& timer);
  void end_job(JobId id);
  rpc::Handler handler();
  void on_request(const rpc::ConnectionPtr& connection, rpc::Message message, rpc::Responder responder);

  // server_journal.cpp
  Result<void> recover(Core& core);
  JournalMarks marks() const;
  void record_status(const JobStatus& status, bool promised);
  void record_job(JobId id);
  void record_progress_of(JobId id);
  void record_progress();
  void end_journal();
  void record_outcome(std::optional<JobId> changed, const std::vector<Command>& commands);
  static std::optional<JobId> changed_job(const Event& event);
  NodeId new_node();
  void when_durable(std::function<void(const Result<void>&)> then);
  void answer(std::shared_ptr<rpc::Responder> to, Result<rpc::Payload> what);

  // server_workers.cpp
  void on_notify(const rpc::ConnectionPtr& connection, rpc::Message message);
  void on_close(const rpc::ConnectionPtr& connection, const Error& error);
  struct WorkerTag;
  void on_register(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder);
  Result<rpc::Payload> join(const rpc::ConnectionPtr& connection, WorkerTag& tag, NodeId id, protocol::Register info,
                            const schedulers::UplinkRate& uplink);
  Result<rpc::Payload> on_fetch_binary(const rpc::ConnectionPtr& connection, const rpc::Message& message);
  Result<void> on_dying(const rpc::ConnectionPtr& connection, const rpc::Message& message);
  Result<void> on_worker_message(NodeId id, Node& node, const rpc::Message& message);
  void on_storage_request(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder);
  void on_task_event(NodeId node, protocol::Event event);
  void on_copy_ended(NodeId node, protocol::ReplicaEnded ended);
  void on_prefetch_report(NodeId node, const std::vector<protocol::JobPrefetch>& jobs);
  Node* prepared(NodeId id, JobId job);
  std::vector<protocol::NodeAddress> holders_of(const std::vector<shuffle::MapOutput>& outputs) const;
  void send(Node& node, NodeId id, protocol::Command command);
  void flush(NodeId id);

  // server_clients.cpp
  Result<rpc::Payload> on_client_request(const rpc::ConnectionPtr& connection, const rpc::Message& message);
  Result<rpc::Payload> on_submit(const rpc::ConnectionPtr& connection, const rpc::Message& message);
  Result<rpc::Payload> on_upload(const rpc::Message& message);
  Result<rpc::Payload> on_run_part(const rpc::Message& message);
  Result<rpc::Payload> on_record_value(const rpc::Message& message);
  Result<rpc::Payload> on_list_nodes();
  Result<JobStatus> status_of(JobId id, bool predict) const;

  // server_scheduling.cpp
  Result<void> configure(const std::string& spec);
  Result<rpc::Payload> on_list_groups();
  Result<rpc::Payload> on_configure(const rpc::Message& message);
  Result<rpc::Payload> on_show_scheduler();
  void place_splits(plan::PlanPart& part) const;
  void on_poll(const rpc::Message& message, rpc::Responder responder);
  void on_job_logs(const rpc::Message& message, rpc::Responder responder);
  std::optional<Result<rpc::Payload>> poll_answer(const client::Poll& poll, bool final);
  void answer_polls(JobId id, bool final);
  Result<Job*> running_job(JobId id);

  ServerOptions options_;
  TimePoint started_{};
  std::optional<RunDirectory> temporary_;
  std::unique_ptr<BinaryStore> binaries_;
  std::unique_ptr<Topology> topology_;
  std::shared_ptr<const scheduling::Catalogue> catalogue_;
  std::optional<scheduling::GuardedCore> core_;
  std::uint64_t faults_logged_ = 0;             // of the scheduler, in the log
  std::unique_ptr<Journal> journal_;            // null: none is kept
  std::set<JobId> unrecorded_;                  // jobs that went on since the journal heard of them
  std::unique_ptr<rpc::Timer> progress_timer_;  // until it hears of those
  Duration progress_wait_ = Duration(0);        // of the next such timer
  std::uint64_t progress_bytes_ = 0;            // of statuses recorded since it fired last
  std::optional<EventLog> event_log_;
  HeartbeatFilter logged_heartbeats_;
  std::unique_ptr<StorageService> storage_;  // null: no files
  std::optional<Error> failed_;              // the master cannot go on
  std::map<NodeId, Node> nodes_;
  LostWorkers lost_;
  std::map<JobId, Job> jobs_;                                             // running ones
  std::map<JobId, std::map<NodeId, shuffle::PrefetchStats>> prefetched_;  // of those the core knows, and of none before a restart
  std::map<std::uint64_t, std::unique_ptr<rpc::Timer>> timers_;
  std::uint32_t next_node_ = 1;
  std::uint64_t next_job_ = 1;
  std::uint64_t next_poll_ = 1;
  std::string address_;
  std::unique_ptr<rpc::Listener> listener_;
  Log log_{"master"};
  std::unique_ptr<rpc::Reactor> reactor_;
  std::unique_ptr<rpc::Reactor> background_;  // what may block: asking the topology program
};

}  // namespace weft::master
