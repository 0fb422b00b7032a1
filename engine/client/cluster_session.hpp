// A job on a master behind a socket: a standing cluster, or the private one of this process.
#pragma once

#include <functional>
#include <memory>

#include "base/rpc/rpc.hpp"
#include "engine/client/master_link.hpp"
#include "engine/client/session.hpp"

namespace weft::client {

struct ClusterSessionOptions {
  rpc::Endpoint master;
  bool same_binary = false;             // the workers run this very program: nothing to upload
  std::uint32_t wait_for_slots = 0;     // do not start before the cluster has this many slots (private cluster)
  std::function<Result<void>()> check;  // asked between polls whether the cluster itself is well; may be empty
  Duration away = kMasterAway;          // how long a master that keeps the job is waited for
  rpc::Security security{};             // of the connection to it
};

/// Connects and submits, or, with RunOptions::driver_of, attaches. `unavailable` names the address when no master answers there.
Result<std::unique_ptr<Session>> open_cluster_session(const RunOptions& options, ClusterSessionOptions cluster);

}  // namespace weft::client
