// Job programs by content: fetched from the master once, kept in a directory, checked before they are run.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "runtime/protocol/worker.hpp"

namespace weft::runtime {

/// Reactor thread only.
class BinaryCache {
 public:
  using Done = std::function<void(Result<std::string>)>;  // the path
  /// `directory` exists.
  explicit BinaryCache(std::string directory) : directory_(std::move(directory)) {}

  /// Calls `done` with the path of the program, fetching it over `master` first when it is not here. May call it at once.
  void get(const Hash128& binary, const rpc::ConnectionPtr& master, Done done);

 private:
  struct Download {
    Hash128 binary;
    rpc::ConnectionPtr master;
    Fd file;
    std::string partial_path;
    std::uint64_t written = 0;
    std::vector<Done> waiting;
  };
  void next_chunk(const std::shared_ptr<Download>& download);
  Result<bool> take_chunk(Download& download, const rpc::Message& message);  // true: complete
  Result<std::string> complete(Download& download);
  void finish(const std::shared_ptr<Download>& download, Result<std::string> result);

  std::string directory_;
  std::map<Hash128, std::string> ready_;
  std::map<Hash128, std::shared_ptr<Download>> downloads_;
};

}  // namespace weft::runtime
