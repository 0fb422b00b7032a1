// Whether the files that a driver names are on this worker, asked before the driver is started here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "base/rpc/late_posts.hpp"
#include "base/rpc/rpc.hpp"
#include "runtime/protocol/worker.hpp"

namespace weft::runtime {

/// Looks in threads of its own, since a file system that does not answer keeps a thread for ever. Reactor thread only, construction
/// and destruction too. Nobody waits for a search that does not end.
class FileSearch {
 public:
  explicit FileSearch(rpc::Reactor& reactor);
  ~FileSearch();
  FileSearch(const FileSearch&) = delete;
  FileSearch& operator=(const FileSearch&) = delete;

  /// Answers with a FileAnswer. Error: too many searches have not ended (resource_exhausted).
  void find(protocol::FileQuery query, rpc::Responder responder);

 private:
  void found(std::uint64_t number, const protocol::FileAnswer& answer);

  const rpc::LatePosts from_threads_;
  std::map<std::uint64_t, rpc::Responder> waiting_;
  std::uint64_t next_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace weft::runtime
