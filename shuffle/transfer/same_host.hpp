// Map outputs of other workers of this machine, by descriptor: their readers map them, and no byte is moved.
//
// A worker offers its store under a name that only processes of its machine (of its network namespace) and its user can connect to,
// derived from its data address. Who cannot connect is no neighbour and fetches blocks instead (transfer.hpp).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "shuffle/store/store.hpp"
#include "shuffle/transfer/transfer.hpp"

namespace weft::shuffle {

inline constexpr rpc::MessageType kOpenOutputs = 301;
/// At most so many outputs are asked for at a time: each is a descriptor.
inline constexpr std::size_t kOutputsPerRequest = 60;

/// Where neighbours reach the worker with that data address.
Result<rpc::Endpoint> same_host_endpoint(const std::string& data_address);
rpc::Limits same_host_limits();
/// Serves a store's segments to same_host, for Reactor::listen(). Reactor thread; `store` must outlive the connections.
rpc::Handler same_host_handler(const Store& store);

/// Asks same_host, over cached connections. Reactor thread only; after destruction no callback comes.
class SameHost {
 public:
  explicit SameHost(rpc::Reactor& reactor);
  ~SameHost();
  SameHost(const SameHost&) = delete;
  SameHost& operator=(const SameHost&) = delete;

  /// A descriptor per map; invalid where the neighbour has no such output. unavailable: the worker at `address` is no neighbour, or
  /// gone.
  using Done = std::function<void(Result<std::vector<Fd>>)>;
  /// `done` is called exactly once, later, on the reactor's thread.
  void open(const std::string& address, JobId job, ShuffleId shuffle, std::vector<MapAttempt> maps, Done done);
  /// Of a neighbour that is gone: whoever waits for it is told at once.
  void forget(const std::string& address);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::shuffle
