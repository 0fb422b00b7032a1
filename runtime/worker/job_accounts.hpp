// As whom the processes of jobs run.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/account.hpp"
#include "runtime/worker/lookups.hpp"
#include "runtime/worker/options.hpp"

namespace weft::runtime {

/// Reactor thread only, construction and destruction too. The server that keeps the machine's users may not answer: nobody waits
/// for it but the jobs of these users.
class JobAccounts {
 public:
  /// Nothing: as the worker.
  using Found = Result<std::optional<Account>>;

  JobAccounts(rpc::Reactor& reactor, const WorkerOptions& options);

  /// Of a job of that user. Calls `then` at once where nobody is looked up, otherwise later. Error: the user that worker.run_as
  /// names is not there; the system cannot say; it does not answer.
  void find(const std::string& user, std::function<void(Found)> then);

 private:
  const std::string run_as_;
  const bool vouched_;  // by the kernel, for users of the master's machine
  Lookups<Found> lookups_;
};

}  // namespace weft::runtime
