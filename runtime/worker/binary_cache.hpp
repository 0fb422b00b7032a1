// Job programs by content: fetched from the master once, kept in a directory, checked before they are run.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "shuffle/transfer/pull_queue.hpp"

namespace weft::runtime {

/// Reactor thread only, construction and destruction too; after destruction no callback comes.
class BinaryCache {
 public:
  using Done = std::function<void(Result<std::string>)>;  // the path
  /// `directory` exists. `master` gives the connection to the master, null while there is none; a fetch waits for it a little.
  /// `background` is where programs are written and checked.
  BinaryCache(rpc::Reactor& reactor, rpc::Reactor& background, std::string directory, std::function<rpc::ConnectionPtr()> master);

  /// Calls `done` with the path of the program, fetching it from the master first when it is not here. May call it at once.
  void get(const Hash128& binary, Done done);

 private:
  void finish(const Hash128& binary, const Result<std::string>& path);

  const std::string directory_;
  std::map<Hash128, std::string> ready_;
  std::map<Hash128, std::vector<Done>> waiting_;  // for what is being fetched
  shuffle::PullQueue queue_;
};

}  // namespace weft::runtime
