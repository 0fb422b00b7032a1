// An election in a Lease object of Kubernetes (coordination.k8s.io/v1).
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "engine/master/election/election.hpp"

namespace weft::master {

struct KubernetesOptions {
  std::string name_space{};  // empty: that of the pod
  std::string lease_name = "weft-master";
  std::string member;                           // id of this master
  Duration lease = std::chrono::seconds(3);     // from kShortestLease to kLongestLease
  Duration patience = std::chrono::seconds(1);  // of a call
  std::string server{};  // URL of the API server; empty: that of the pod, by KUBERNETES_SERVICE_HOST and _PORT
  /// Where a pod has its token, its CA file and its namespace.
  std::string pod_directory = "/var/run/secrets/kubernetes.io/serviceaccount";
  std::string token_file{};    // read for each call, because tokens are replaced; empty: the pod's, if `server` is
  std::string certificates{};  // file of the authorities that are trusted; empty: the pod's, if `server` is
  /// What tells how long a lease was seen unchanged; null: the machine's clock. It outlives the election.
  const Clock* clock = nullptr;

  // For errors: what sets it.
  std::string server_setting = "--kubernetes-server";
};

/// Asks nothing yet. invalid_argument: not in a pod and no server named, or a value cannot be; not_found: libcurl is not installed.
Result<std::unique_ptr<Election>> kubernetes_election(KubernetesOptions options);

}  // namespace weft::master
