// Job programs by their content and their user: fetched from the master once, kept in a directory up to a bound, checked before
// they are run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/rpc/peers.hpp"
#include "base/rpc/rpc.hpp"
#include "runtime/protocol/program_id.hpp"
#include "shuffle/transfer/pull_queue.hpp"

namespace weft::runtime {

using protocol::ProgramId;

/// Reactor thread only, construction and destruction too; after destruction no callback comes.
class BinaryCache {
 public:
  using Done = std::function<void(Result<std::string>)>;  // the path
  using InUse = std::function<std::set<ProgramId>()>;
  /// `directory` exists and is this worker's alone: what earlier ones did not finish there is removed, their programs are kept. But
  /// those without a user go: a worker of an earlier release kept one for all users.
  /// `master` gives the connection to the master, null while there is none; a fetch waits for it a little, or as long as
  /// master_lost() said. `background` is where programs are written and checked.
  BinaryCache(rpc::Reactor& reactor, rpc::Reactor& background, std::string directory, std::function<rpc::ConnectionPtr()> master);

  /// From now on, while the programs take more than `most` bytes together when one was added, those go that were needed the longest
  /// ago and are not `in_use`, which is called only then.
  void bound(std::uint64_t most, InUse in_use);

  /// Calls `done` with the path of the program, fetching it from the master first when it is not here, or not here any more. May
  /// call it at once.
  void get(const ProgramId& program, Done done);
  /// Whether the program was checked and its file has been neither removed nor cut off since: then get() calls at once.
  bool has(const ProgramId& program) const;

  /// The connection is lost. With `wait`, what is being fetched, and what is requested from now on, waits for master_found().
  /// May be repeated.
  void master_lost(bool wait);
  void master_found();

 private:
  void connect(const rpc::Peers::Done& done);
  void answer_waiting();
  void check_kept(const ProgramId& program);
  void fetch(const ProgramId& program);
  std::string path_of(const ProgramId& program) const;
  void finish(const ProgramId& program, const Result<std::string>& path);
  void take_in();
  void needed(const ProgramId& program);
  void make_room(const ProgramId& added);
  void drop(const ProgramId& program);

  struct Kept {
    std::uint64_t bytes = 0;
    std::filesystem::file_time_type used;
  };

  rpc::Reactor& reactor_;
  rpc::Reactor& background_;
  const std::string directory_;
  std::map<ProgramId, Kept> kept_;  // what lies in the directory
  std::uint64_t kept_bytes_ = 0;    // of these
  std::uint64_t most_ = std::numeric_limits<std::uint64_t>::max();
  InUse in_use_;
  std::set<ProgramId> ready_;                       // those of them that were checked
  std::map<ProgramId, std::vector<Done>> waiting_;  // for what is being fetched, or checked
  const std::function<rpc::ConnectionPtr()> master_;
  bool wait_ = false;                         // fetches wait for the master
  std::uint64_t losses_ = 0;                  // of the connection, for which fetches waited
  std::vector<rpc::Peers::Done> for_master_;  // fetches that wait for it
  shuffle::PullQueue queue_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace weft::runtime
