// Whether the files that a driver names are on this worker, asked before the driver is started here.
#pragma once

#include "runtime/protocol/worker.hpp"
#include "runtime/worker/lookups.hpp"

namespace weft::runtime {

/// Reactor thread only, construction and destruction too. Nobody waits for a search that does not end.
class FileSearch {
 public:
  explicit FileSearch(rpc::Reactor& reactor);

  /// Answers with a FileAnswer. Error: too many searches have not ended (resource_exhausted).
  void find(protocol::FileQuery query, rpc::Responder responder);

 private:
  Lookups<protocol::FileAnswer> lookups_;
};

}  // namespace weft::runtime
