// A driver's connection to the master of its job. When a master that keeps its jobs goes away, the driver waits for it, attaches to
// the job again, and repeats the request that was under way.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/rpc/rpc.hpp"
#include "engine/client/stop_signal.hpp"
#include "engine/master/protocol/protocol.hpp"

namespace weft::client {

/// How long a driver waits for a master that keeps its job. A machine that starts again, or a pod that is placed on another one and
/// mounts its volume, takes minutes. A job that waits costs nobody more than the memory of what it has.
inline constexpr Duration kMasterAway = std::chrono::minutes(10);

/// Used by the driver's thread. Calls block.
class MasterLink {
 public:
  struct Options {
    rpc::Endpoint master;  // or all that may lead (rpc::Endpoint::parse_list)
    Duration away = kMasterAway;
    std::function<void(const std::string&)> say{};  // a line for people
    bool succeeded = false;                         // by another driver, if this one ends before its job
    rpc::Security security{};
    std::string user{};  // for whom it asks (storage/acting_user.hpp)
  };
  /// `stop` outlives it; a signal ends every wait for a master that is away.
  MasterLink(Options options, const StopSignal& stop);
  ~MasterLink();
  MasterLink(const MasterLink&) = delete;
  MasterLink& operator=(const MasterLink&) = delete;

  /// One try, without a job. The connection that was there is closed.
  Result<void> connect();

  /// From now on the driver of this job is here. `kept`: its master keeps it over a restart.
  void belongs_to(const Attach& job, bool kept);
  bool kept() const { return kept_; }

  /// Makes a request; more than once when it has to be repeated.
  using Request = std::function<rpc::Payload()>;
  /// The answer. A master that is lost and does not keep the job is `unavailable`, or `deadline_exceeded`. One that does is waited
  /// for, and the request is repeated, so it must be safe to repeat. Errors then: `unavailable` when it was away for too long,
  /// `cancelled` after a signal (gave_up() in both cases), what the master says, and the job's error when the job is over.
  Result<rpc::Message> call(rpc::MessageType type, const Request& request, Duration deadline);
  /// One try.
  Result<rpc::Message> call_once(rpc::MessageType type, rpc::Payload payload, Duration deadline);

  /// The time without a master that one request has seen: pauses grow until an answer comes.
  struct Outage {
    TimePoint began{};
    Duration pause{};
    bool said = false;
  };
  /// Connects and attaches, after a pause. Errors as of call(); of a job that is over also ended().
  Result<Submitted> attach_again(Outage& outage, Error why);
  /// Attaches to a job that exists. Waits for its master as attach_again() does.
  Result<Submitted> attach();

  /// A wait for the master was given up, or the job has another driver: it may go on without this one.
  bool gave_up() const { return gave_up_; }
  /// How the job ended, if the master refused to attach to it because it is over.
  const std::optional<master::JobStatus>& ended() const { return ended_; }

  /// Whether the error says that there is no connection, or no answer on it.
  static bool is_lost(const Error& error);

 private:
  void close();
  void leave();
  void introduce();
  Result<Submitted> attach_once();
  Error why_refused(Error refusal);
  bool wait(Duration pause) const;
  tl::unexpected<Error> stopped();

  const Options options_;
  const StopSignal& stop_;
  std::unique_ptr<rpc::Reactor> reactor_;
  rpc::ConnectionPtr connection_;  // null: none was made yet
  bool overdue_ = false;           // the last reply on it was
  /// To masters that hang. When one goes on, it finds what was sent meanwhile: an orderly end would be that of the driver, and of
  /// its job. They are closed when the job has the driver on another connection.
  std::vector<rpc::ConnectionPtr> overdue_connections_;
  Attach job_;
  bool kept_ = false;
  bool gave_up_ = false;
  std::optional<master::JobStatus> ended_;
};

}  // namespace weft::client
