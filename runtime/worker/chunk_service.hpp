// The chunks a worker keeps for the cluster's files. An interface, so that workers inside of job programs link no database; that of
// `weft worker --chunk-dir` is in worker_chunks.hpp.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "storage/transfer/rack_traffic.hpp"

namespace weft::runtime {

/// On the worker's reactor thread, construction and destruction too.
class ChunkService {
 public:
  virtual ~ChunkService() = default;
  /// For a connection of the data port; `others` gets what is not about chunks.
  virtual rpc::Handler handler(rpc::Handler others) = 0;
  /// A registration with the master begins; the connection carries reports and commands about chunks.
  virtual void registered(const rpc::ConnectionPtr& master) = 0;
  virtual void lost() = 0;
  /// False when the message is not about chunks.
  virtual bool on_notify(const rpc::Message& message) = 0;
  virtual void heartbeat() = 0;
  /// The worker that serves chunks at that address is lost: writes that are being passed on to it end.
  virtual void node_lost(const std::string& address, const Error& why) = 0;
};

struct ChunkShell {
  rpc::Reactor& reactor;
  /// What may wait for the chunk directories. Nothing else of the worker is done there, because one of them may hang. Outlives the
  /// service, which posts nothing after its end.
  rpc::Reactor& chores;
  std::string data_address;                                                            // of the port that serves the handlers
  std::function<void(const Error&)> give_up;                                           // the worker cannot go on
  std::shared_ptr<storage::RackTally> racks = std::make_shared<storage::RackTally>();  // knows the rack, once registered
};
using ChunkServiceFactory = std::function<std::unique_ptr<ChunkService>(ChunkShell)>;

}  // namespace weft::runtime
