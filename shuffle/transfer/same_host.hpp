// Map outputs of other workers of this machine, by descriptor: their readers map them, and no byte is moved.
//
// A worker offers its store under a name that only processes of its machine (of its network namespace) and its user can connect to,
// derived from its data address. A worker that cannot connect is on another host and fetches blocks instead (block_fetcher.hpp).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/rpc/peers.hpp"
#include "base/rpc/rpc.hpp"
#include "shuffle/store/store.hpp"
#include "shuffle/transfer/job_keys.hpp"

namespace weft::shuffle {

inline constexpr rpc::MessageType kOpenOutputs = 301;
/// The most outputs that are requested at a time: each is a descriptor.
inline constexpr std::size_t kOutputsPerRequest = 60;

/// Where workers of the same host reach the worker with that data address.
Result<rpc::Endpoint> same_host_endpoint(const std::string& data_address);
rpc::Limits same_host_limits();
/// Serves a store's segments to workers of the same host that show the keys, for Reactor::listen(). Reactor thread; `store` must
/// outlive the connections.
rpc::Handler same_host_handler(const Store& store, std::shared_ptr<const JobKeys> keys);

/// Requests descriptors from workers of the same host, over cached connections, and is the one place that knows which they are.
/// Reactor thread only; after destruction no callback comes.
class SameHost {
 public:
  /// `enabled`: false where map outputs are not shared; then no worker is on the same host.
  explicit SameHost(rpc::Reactor& reactor, bool enabled = true, std::shared_ptr<const JobKeys> keys = JobKeys::none());
  SameHost(const SameHost&) = delete;
  SameHost& operator=(const SameHost&) = delete;

  /// Whether the worker at that address is on this host and shares its map outputs. `done` is called once: at once when that is
  /// known, later otherwise.
  void find_out(const std::string& address, std::function<void(bool same_host)> done);

  /// A descriptor per map; invalid where the worker has no such output. unavailable: the worker at `address` is on another host, or
  /// gone.
  using Done = std::function<void(Result<std::vector<Fd>>)>;
  /// `maps`: at most kOutputsPerRequest. `done` is called exactly once, later, on the reactor's thread.
  void open(const std::string& address, JobId job, ShuffleId shuffle, std::vector<MapAttempt> maps, Done done);
  /// That worker is gone: requests to it fail at once.
  void forget(const std::string& address);

 private:
  rpc::Reactor& reactor_;
  const std::shared_ptr<const JobKeys> keys_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::optional<rpc::Peers> peers_;  // by data address, when enabled; calls nothing back once it is gone
};

}  // namespace weft::shuffle
