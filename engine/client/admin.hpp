// Questions and orders to a running master, for the command line.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rpc/rpc.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "storage/acting_user.hpp"
#include "storage/master_connection.hpp"

namespace weft::client {

struct AdminOptions {
  Duration patience{0};               // for a master that is away while it is asked; orders are not given twice
  Duration at_first{0};               // for one that has not answered yet; `patience` at most
  storage::Waiting waiting{};         // called with what is waited for, once, when that takes a while; may be empty
  std::optional<std::string> user{};  // for whom it asks (storage/acting_user.hpp); unset: the process's user; empty: itself
};

/// One connection to a master. Blocking calls with deadlines; any thread.
class Admin {
 public:
  /// `unavailable` names the address when no master answers there in time.
  static Result<std::unique_ptr<Admin>> connect(const std::string& master, AdminOptions options = {});
  ~Admin();

  /// As whom the master sees it.
  Result<storage::ActedFor> who();
  Result<JobList> jobs();
  Result<JobList> job(JobId id);  // of one, with stages
  Result<void> kill(JobId id, const std::string& reason);
  /// Submits a job whose driver is to run in the cluster, uploads its program where the master lacks it, and has the driver
  /// started. Returns when it was sent to a worker, or waits for one. The error is why it will never be started; the job has failed
  /// then. All of it is repeated while the master is away: the master knows the job by a number that is drawn here. When that takes
  /// longer than `patience`, the error has the job's number, if an answer brought it. With a request id, a job that has the id is
  /// the one that is meant.
  Result<JobId> detach(Detach detach, const std::string& program_file);
  Result<std::vector<JobLog>> logs(JobId id, std::uint64_t max_bytes);
  Result<std::vector<NodeStatus>> nodes();
  /// The same, and whether the master takes anybody's orders.
  Result<NodeList> node_list();
  Result<void> set_node(const NodeCapacity& wanted);
  Result<master::JobExplanation> explain(JobId id);
  Result<std::vector<GroupInfo>> groups();
  Result<MasterList> masters();
  /// A part of a file of the master's event log; not_found: it keeps none, or not this file any more.
  Result<Events> events(const EventsWanted& wanted);
  /// What the cluster did over the last "hour", "day" or "week": JSON (/past in docs/rest.md). not_found: the master keeps it not.
  Result<std::string> past(const std::string& span);
  Result<ProfileReply> profiles(ProfileRequest request);
  Result<SchedulerInfo> scheduler();
  /// With an empty text the one in force, its files read again. The error is what is wrong with it; the old one stays then.
  Result<SchedulerInfo> configure_scheduler(const std::string& spec);

 private:
  Admin(rpc::Endpoint endpoint, const std::string& master, AdminOptions options, rpc::Security security);
  /// An order: asked once.
  Result<rpc::Message> call(rpc::MessageType type, rpc::Payload payload);
  /// A question, repeated while the master is away.
  template <class Request>
  Result<rpc::Message> ask(rpc::MessageType type, const Request& request);
  Result<rpc::Message> ask(rpc::MessageType type);
  struct Submission;
  Result<void> submit_once(const Detach& detach, const std::string& program_file, Submission& submission);
  Result<void> start_once(Submission& submission);

  const AdminOptions options_;
  std::unique_ptr<rpc::Reactor> reactor_;
  storage::MasterConnection link_;
};

}  // namespace weft::client
