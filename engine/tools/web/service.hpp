// What a master serves over HTTP: its page, the REST interface, live events, metrics (docs/rest.md, docs/monitoring.md).
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "engine/master/log/event_log.hpp"
#include "engine/tools/history/past_jobs.hpp"

namespace weft::web {

struct ServiceOptions {
  std::string listen;            // "host:port"; port 0 takes any
  std::string master;            // "host:port"
  std::string event_log{};       // that the master writes; empty: none
  master::LogPlace log_began{};  // where this master began to write there
  std::string submit_dir{};      // whose programs may be started over HTTP; empty: none
};

class Service {
 public:
  /// Serves until destroyed, as a client of the master, on threads of its own: the master's thread has no more to do than for any
  /// other client. Errors: port in use, address not ours.
  static Result<std::unique_ptr<Service>> start(const ServiceOptions& options);
  /// The same for what event logs tell, of a cluster that is gone or a job that runs by itself.
  static Result<std::unique_ptr<Service>> start(const std::string& listen, std::unique_ptr<history::LoggedJobs> past);
  virtual ~Service() = default;
  /// "host:port" as bound.
  virtual const std::string& address() const = 0;
};

}  // namespace weft::web
