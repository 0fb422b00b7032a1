// The server's scheduler: configuring it while it runs, and what it says of pools and queues.
#pragma once

#include <memory>
#include <string>

#include "base/log.hpp"
#include "base/rpc/rpc.hpp"
#include "engine/master/core/core_shell.hpp"
#include "engine/master/scheduling/catalogue.hpp"
#include "engine/master/server/callers.hpp"
#include "engine/master/server/request_table.hpp"
#include "engine/master/server/server.hpp"

namespace weft::master {

/// Reactor thread only. What it is made of outlives it.
class SchedulerRequests {
 public:
  SchedulerRequests(CoreShell& shell, std::shared_ptr<const scheduling::Catalogue> catalogue, const ServerOptions& options,
                    Callers& callers)
      : shell_(shell), catalogue_(std::move(catalogue)), options_(options), callers_(callers) {}

  /// Reads the files it names, and tells the core, and who has rights in which pool. On an error everything stays as it was.
  Result<void> configure(const std::string& spec);
  /// Adds the requests that it answers.
  void add_to(RequestTable& table);

 private:
  Result<rpc::Payload> on_configure(const rpc::Message& message);
  Result<rpc::Payload> on_show() const;
  Result<rpc::Payload> on_list_groups() const;

  CoreShell& shell_;
  std::shared_ptr<const scheduling::Catalogue> catalogue_;
  const ServerOptions& options_;
  Callers& callers_;
  Log log_{"master"};
};

}  // namespace weft::master
