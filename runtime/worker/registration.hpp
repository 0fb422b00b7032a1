// A worker's registration with its master, on a connection that carries its reports and the master's commands. When the master was
// away it connects and registers again, with growing pauses.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/rpc/rpc.hpp"
#include "runtime/protocol/worker.hpp"

namespace weft::runtime {

/// Callbacks and calls on the reactor's thread only. Destroying it ends the callbacks.
class Registration {
 public:
  struct Callbacks {
    std::function<void(const protocol::Registered&)> on_registered;
    std::function<void(std::vector<protocol::Command>)> on_commands;
    std::function<void(protocol::LogRequest, rpc::Responder)> on_read_log;
    std::function<void(protocol::FileQuery, rpc::Responder)> on_find_files;
    std::function<protocol::Heartbeat()> heartbeat;     // also the moment to look after things
    std::function<bool(const rpc::Message&)> on_other;  // a notification that is not Commands; false: it is unknown
    /// The registration is void. With `final`, it will not come back: another version, or a private cluster's end.
    std::function<void(const Error&, bool final)> on_lost;
  };

  Registration(rpc::Reactor& reactor, rpc::Endpoint master, protocol::Register registration, bool persistent, Callbacks callbacks)
      : reactor_(reactor),
        master_(std::move(master)),
        registration_(std::move(registration)),
        persistent_(persistent),
        callbacks_(std::move(callbacks)) {}

  void connect();
  /// Sends the events soon, together with those of this turn of the loop. Dropped when there is no registration.
  void report(std::vector<protocol::Event> events);
  /// Sent at once. Dropped when there is no registration.
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
  void on_registered(const protocol::Registered& answer);
  void lost(const Error& error);
  void send_heartbeat();
  void flush();
  rpc::Handler handler();

  rpc::Reactor& reactor_;
  rpc::Endpoint master_;
  protocol::Register registration_;
  bool persistent_;
  Callbacks callbacks_;
  rpc::ConnectionPtr connection_;
  bool registered_ = false, closed_ = false, flush_posted_ = false;
  std::uint32_t failures_ = 0;  // in a row
  Duration heartbeat_{0};
  std::vector<protocol::Event> events_;
  std::unique_ptr<rpc::Timer> timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Log log_{"worker"};
};

}  // namespace weft::runtime
