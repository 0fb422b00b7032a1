// Connections to peers that are asked again and again: one per address, made when first needed and kept until it ends.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rpc/rpc.hpp"

namespace weft::rpc {

struct PeersOptions {
  Limits limits;
  Duration connect_deadline = std::chrono::seconds(3);
  std::size_t most = 4096;                  // addresses remembered
  bool remember_failures = false;           // a peer that could not be connected to is not tried again (until forgotten)
  std::optional<Role> role = Role::worker;  // as Endpoint::role
};

/// Reactor thread only, construction and destruction too; after destruction no callback comes.
class Peers {
 public:
  /// Where the peer with that address listens.
  using Locate = std::function<Result<Endpoint>(const std::string& address)>;
  using Done = std::function<void(Result<ConnectionPtr>)>;

  /// The default takes addresses for endpoints.
  explicit Peers(Reactor& reactor, PeersOptions options, Locate locate = {});
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// `done` is called exactly once: at once when the connection is there, later otherwise.
  void get(const std::string& address, Done done);
  /// Closes the connection; failures are forgotten too. Requests that wait for the connection fail at once (unavailable).
  void forget(const std::string& address);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::rpc
