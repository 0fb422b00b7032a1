// A worker's registration with its master, on a connection that carries its reports and the master's commands. When the master was
// away it connects and registers again, with growing pauses. Where the master keeps its jobs over a restart
// (protocol::Registered::keeps_jobs), the worker goes on meanwhile, and resumes the registration with what it runs and holds.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/rpc/rpc.hpp"
#include "runtime/protocol/worker.hpp"
#include "runtime/worker/event_queue.hpp"

namespace weft::runtime {

/// Callbacks and calls on the reactor's thread only. Destroying it ends the callbacks.
class Registration {
 public:
  struct Callbacks {
    std::function<void(const protocol::Registered&)> on_registered;
    std::function<void(std::vector<protocol::Command>)> on_commands;
    std::function<void(protocol::LogRequest, rpc::Responder)> on_read_log;
    std::function<void(protocol::FileQuery, rpc::Responder)> on_find_files;
    std::function<protocol::Heartbeat()> heartbeat;  // also the moment to look after things
    /// A notification that is not Commands; false: it is unknown. An error ends the connection.
    std::function<Result<bool>(const rpc::Message&)> on_other;
    /// The master cannot be reached, but the registration may be resumed: what it commanded goes on. Called at the loss of the
    /// connection and after each try that failed.
    std::function<void()> on_away;
    /// What the worker runs and holds, to resume the registration; its node and unacknowledged ends of attempts are added to it.
    std::function<protocol::Held()> held;
    /// The registration is void, and everything that the master commanded ends. Also called after each try that failed while there
    /// is none to resume. With `final`, no other one will come: another version, or a private cluster's end.
    std::function<void(const Error&, bool final)> on_lost;
  };

  /// `persistent`: it registers again after the connection was lost. `patience`: for how long what the master commanded goes on
  /// without it; 0: not at all.
  /// `master`: or all that may lead (rpc::Endpoint::parse_list).
  Registration(rpc::Reactor& reactor, rpc::Endpoint master, protocol::Register registration, bool persistent, Duration patience,
               Callbacks callbacks)
      : reactor_(reactor),
        master_(std::move(master)),
        registration_(std::move(registration)),
        persistent_(persistent),
        patience_(patience),
        callbacks_(std::move(callbacks)) {}

  void connect();
  /// Sends the events soon, together with those of this turn of the loop. A master that keeps its jobs gets them in any case: now
  /// or when the registration is resumed, and again until it acknowledges them. For another one they are dropped when there is no
  /// registration.
  void report(std::vector<protocol::Event> events);
  /// Sent at once. Dropped when there is no registration: what a master must know of these it gets again when it comes back.
  void report(const protocol::ReplicaEnded& ended);
  void report(const std::vector<protocol::JobPrefetch>& jobs);
  void report(const protocol::CapacityTexts& texts);
  void report(const protocol::Leaving& leaving);
  /// False: there is no registration, and it was not sent.
  bool report(const protocol::DriverEnded& ended);
  bool registered() const { return registered_; }
  const rpc::ConnectionPtr& connection() const { return connection_; }
  void close();

 private:
  void register_worker(rpc::ConnectionPtr connection);
  /// What is to be sent with it: what the worker has, when there is a registration to resume.
  protocol::Register to_register();
  void on_registered(const protocol::Registered& answer);
  /// False when the master believes that the worker has what it has not.
  bool settle(const protocol::Registered& answer);
  /// The master that is connected, of those that may lead.
  std::string leader() const;
  Result<void> on_notify(const rpc::Message& message);
  Result<void> on_kept(const rpc::Message& message);
  void note_unknown(const std::string& what);
  void lost(const Error& error);
  void wait_for_master();
  /// What the master commanded ends.
  void end_registration(const Error& why, bool final);
  void try_again(const Error& error);
  void send_heartbeat();
  void ask_whether_it_is_there();
  void flush();
  rpc::Handler handler();

  rpc::Reactor& reactor_;
  rpc::Endpoint master_;
  protocol::Register registration_;
  bool persistent_;
  Duration patience_;
  Callbacks callbacks_;
  rpc::ConnectionPtr connection_;
  rpc::ConnectionPtr asking_;  // on which the master is asked whether it is there
  bool registered_ = false, closed_ = false, flush_posted_ = false;
  bool unknown_noted_ = false;  // on this registration
  bool keeps_jobs_ = false;     // the last registration is kept by its master: it can be resumed
  NodeId node_{};               // of that
  std::uint64_t epoch_ = 0;     // the highest that was seen
  std::uint32_t failures_ = 0;  // in a row
  Duration heartbeat_{0};
  std::vector<protocol::Event> events_;  // of this turn of the loop
  EventQueue unkept_;
  std::unique_ptr<rpc::Timer> timer_;
  std::unique_ptr<rpc::Timer> patience_timer_;  // null: there is a registration, or none to resume
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Log log_{"worker"};
};

}  // namespace weft::runtime
