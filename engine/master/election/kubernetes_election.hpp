// An election in a Lease object of Kubernetes (coordination.k8s.io/v1).
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "engine/master/election/api_server.hpp"
#include "engine/master/election/election.hpp"

namespace weft::master {

struct KubernetesOptions : ApiServerOptions {
  std::string lease_name = "weft-master";
  std::string member;                        // id of this master
  Duration lease = std::chrono::seconds(3);  // from kShortestLease to kLongestLease
  /// What tells how long a lease was seen unchanged; null: the machine's clock. It outlives the election.
  const Clock* clock = nullptr;
};

/// Asks nothing yet. invalid_argument: not in a pod and no server named, or a value cannot be; not_found: libcurl is not installed.
Result<std::unique_ptr<Election>> kubernetes_election(KubernetesOptions options);

}  // namespace weft::master
