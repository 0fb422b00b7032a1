// Job programs by content: fetched from the master once, kept in a directory, checked before they are run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "base/result.hpp"
#include "base/rpc/peers.hpp"
#include "base/rpc/rpc.hpp"
#include "shuffle/transfer/pull_queue.hpp"

namespace weft::runtime {

/// Reactor thread only, construction and destruction too; after destruction no callback comes.
class BinaryCache {
 public:
  using Done = std::function<void(Result<std::string>)>;  // the path
  /// `directory` exists. `master` gives the connection to the master, null while there is none; a fetch waits for it a little, or
  /// as long as master_lost() said.
  /// `background` is where programs are written and checked.
  BinaryCache(rpc::Reactor& reactor, rpc::Reactor& background, std::string directory, std::function<rpc::ConnectionPtr()> master);

  /// Calls `done` with the path of the program, fetching it from the master first when it is not here. May call it at once.
  void get(const Hash128& binary, Done done);

  /// The connection is lost. With `wait`, what is being fetched, and what is requested from now on, waits for master_found().
  /// May be repeated.
  void master_lost(bool wait);
  void master_found();

 private:
  void connect(const rpc::Peers::Done& done);
  void answer_waiting();
  void fetch(const Hash128& binary);
  std::string path_of(const Hash128& binary) const;
  void finish(const Hash128& binary, const Result<std::string>& path);

  const std::string directory_;
  std::map<Hash128, std::string> ready_;
  std::map<Hash128, std::vector<Done>> waiting_;  // for what is being fetched
  const std::function<rpc::ConnectionPtr()> master_;
  bool wait_ = false;                         // fetches wait for the master
  std::uint64_t losses_ = 0;                  // of the connection, for which fetches waited
  std::vector<rpc::Peers::Done> for_master_;  // fetches that wait for it
  shuffle::PullQueue queue_;
};

}  // namespace weft::runtime
