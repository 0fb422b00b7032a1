// Whether the files that a driver names are on this worker, asked before the driver is started here.
#pragma once

#include <optional>

#include "base/account.hpp"
#include "runtime/protocol/worker.hpp"
#include "runtime/worker/lookups.hpp"

namespace weft::runtime {

/// Reactor thread only, construction and destruction too. Nobody waits for a search that does not end.
class FileSearch {
 public:
  explicit FileSearch(rpc::Reactor& reactor);

  /// Answers with a FileAnswer: which of them that account, or the worker's user where there is none, cannot find. Error: too many
  /// searches have not ended (resource_exhausted), or the worker may not act for the account (permission_denied).
  void find(protocol::FileQuery query, std::optional<Account> account, rpc::Responder responder);

 private:
  Lookups<Result<protocol::FileAnswer>> lookups_;
};

}  // namespace weft::runtime
