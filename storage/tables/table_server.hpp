// A worker's partitions of tables for everybody else: clients' reads and writes, copies to the partitions' other replicas, what the
// master says.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::storage::tables {

struct TableServerOptions {
  std::vector<std::string> directories;            // partitions lie in `tables` of one of them
  std::uint64_t reserve = std::uint64_t{1} << 30;  // of the directory's file system: nothing is written when less is left
  std::uint32_t threads = 16;                      // that wait for disks: a snapshot syncs all partitions at once
};

/// Reactor thread only, construction and destruction too (which waits for disk calls under way).
class TableServer {
 public:
  /// `address`: of the data port that serves handler(). `give_up`: the worker cannot go on, because its directories are not for it.
  TableServer(rpc::Reactor& reactor, std::string address, TableServerOptions options, std::function<void(const Error&)> give_up);
  ~TableServer();
  TableServer(const TableServer&) = delete;
  TableServer& operator=(const TableServer&) = delete;

  /// For each connection of the data port: serves messages 600 to 609 and leaves the rest to `others`.
  rpc::Handler handler(rpc::Handler others);
  /// A registration with the master begins; then it ends. In between partitions are served as the master says.
  void registered(const rpc::ConnectionPtr& master);
  void lost();
  /// False when the message is not about tables.
  bool on_notify(const rpc::Message& message);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::storage::tables
