// What a master serves over HTTP: its page, the REST interface, live events, metrics (docs/rest.md, docs/monitoring.md).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/http/server.hpp"
#include "base/result.hpp"
#include "engine/master/log/event_log.hpp"
#include "engine/tools/history/past_jobs.hpp"
#include "engine/tools/web/cluster.hpp"
#include "engine/tools/web/sampler.hpp"

namespace weft::web {

struct ServiceOptions {
  std::string listen;            // "host:port"; port 0 takes any
  std::string master;            // "host:port"
  std::string event_log{};       // that the master writes; empty: none
  master::LogPlace log_began{};  // where this master began to write there
  std::string submit_dir{};      // of programs that may be started over HTTP; empty: none may
  std::string samples{};         // file of what the cluster did, for the time after a restart; empty: it is not kept
  /// Writes a line into the master's audit log; any thread, never blocks, outlives the service. Empty: there is none.
  std::function<void(master::AuditEntry)> audit{};
};

class Service {
 public:
  ~Service();
  /// Serves until destroyed, as a client of the master and on other threads: the master's thread does no more for it than for any
  /// other client. Errors: port in use, address not ours.
  static Result<std::unique_ptr<Service>> start(const ServiceOptions& options);
  /// The same for jobs of event logs, of a cluster that is gone or of a job that runs by itself.
  static Result<std::unique_ptr<Service>> start(const std::string& listen, std::unique_ptr<history::LoggedJobs> past);
  /// "host:port" as bound.
  const std::string& address() const { return server_->address(); }
  /// What the cluster did over a span, as /past answers; unavailable when this is gone. Any thread.
  std::function<Result<std::string>(const std::string& span)> past() { return cluster_.past_of_samples(); }
  /// "http://host:port", or https.
  std::string url() const { return server_->url(); }

 private:
  template <class... Of>
  explicit Service(Of&&... cluster);
  Result<void> begin(const std::string& listen);
  http::Response reply(const http::Request& request);
  http::Response health();
  http::Response metrics();
  void restore_samples();
  void keep_samples();
  struct View;
  std::shared_ptr<View> view_for(const http::Request& request);

  bool insecure_ = false;                               // its page says so
  std::string samples_;                                 // their file; empty: none
  Cluster cluster_;                                     // as the process itself sees it
  std::mutex mutex_;                                    // of what follows
  std::map<std::string, std::shared_ptr<View>> views_;  // by user
  std::optional<Sampler> sampler_;                      // of a master's pools and cluster
  std::optional<Sampler> refusals_;                     // writes those that were repeated
  std::unique_ptr<http::Server> server_;                // last: nothing is asked any more when the others end
};

}  // namespace weft::web
