// How map outputs come to a worker and go from it: its data port, what it shares with workers of the same host, and what it pulls
// from the others.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/log.hpp"
#include "base/rpc/rpc.hpp"
#include "runtime/worker/options.hpp"
#include "shuffle/prefetch/prefetch.hpp"
#include "shuffle/store/store.hpp"
#include "shuffle/transfer/block_fetcher.hpp"
#include "shuffle/transfer/block_server.hpp"
#include "shuffle/transfer/job_keys.hpp"
#include "shuffle/transfer/links.hpp"
#include "shuffle/transfer/same_host.hpp"
#include "shuffle/transfer/segment_replicator.hpp"

namespace weft::runtime {

/// Reactor thread only, construction and destruction too.
class DataPlane {
 public:
  /// Makes the handler of a connection to the data port from that for map outputs: it may serve other requests, too.
  using Extend = std::function<rpc::Handler(rpc::Handler)>;

  /// Opens the data port and begins to serve. The error says why the port cannot be opened. `background` runs what waits for the
  /// disk; it outlives this object, and the store outlives both.
  static Result<std::unique_ptr<DataPlane>> open(rpc::Reactor& reactor, rpc::Reactor& background, shuffle::Store& store,
                                                 const WorkerOptions& options, Extend extend);
  ~DataPlane();
  DataPlane(const DataPlane&) = delete;
  DataPlane& operator=(const DataPlane&) = delete;

  /// Of the data port, as other workers reach it.
  const std::string& address() const { return address_; }
  shuffle::BlockFetcher& fetcher() { return *fetcher_; }
  shuffle::Prefetcher& prefetcher() { return *prefetcher_; }
  shuffle::SegmentReplicator& replicator() { return *replicator_; }
  shuffle::SameHost& same_host() { return *same_host_; }
  /// Most bytes of prefetched blocks that are held in memory.
  std::uint64_t prefetch_bytes() const { return prefetch_bytes_; }
  /// What came from each other worker and went there. Its racks are set with the addresses of nodes.
  shuffle::Links& links() { return *links_; }

  /// From here to end_job() there may be map outputs of the job. Memory that was received into for one user's jobs is not used
  /// again for another's.
  void begin_job(JobId job, const std::string& user);
  void end_job(JobId job);
  /// A job that has begun has no key until it is set there.
  shuffle::JobKeys& keys() { return *keys_; }

  /// The worker at that address is gone: what is pulled from it ends at once.
  void forget(const std::string& address, const Error& why);
  /// Takes no more connections.
  void close();

 private:
  explicit DataPlane(rpc::Reactor& reactor);
  /// May fail: then everything goes through the data port.
  void share_with_same_host(rpc::Reactor& reactor, const shuffle::Store& store);

  std::string address_;
  std::map<JobId, std::uint64_t> owners_;  // hashes of their users
  std::shared_ptr<shuffle::JobKeys> keys_;
  std::uint64_t prefetch_bytes_ = 0;
  Extend extend_;
  Log log_{"worker"};
  std::shared_ptr<shuffle::Links> links_;
  std::unique_ptr<shuffle::BlockServer> server_;
  std::unique_ptr<shuffle::BlockFetcher> fetcher_;
  std::unique_ptr<shuffle::SegmentReplicator> replicator_;
  std::unique_ptr<shuffle::SameHost> same_host_;
  std::unique_ptr<shuffle::Prefetcher> prefetcher_;
  std::unique_ptr<rpc::Listener> listener_, same_host_listener_;
};

}  // namespace weft::runtime
