// A worker's chunks for everybody else: reads, descriptors for readers of this machine, chains of writers, copies to other workers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "storage/chunks/chunk_store.hpp"
#include "storage/chunks/write_key.hpp"
#include "storage/transfer/chunk_client.hpp"

namespace weft::storage {

struct ChunkServerOptions {
  std::uint32_t threads = 4;            // that wait for disks
  std::uint32_t writes = 256;           // chunks being written at once; more are refused. A connection has a quarter
                                        // of these at most, a user with a certificate half
  std::uint64_t copy_rate = 64u << 20;  // bytes a second of all copy_to() together; 0: no bound
  std::chrono::nanoseconds idle_deadline = std::chrono::hours(1);  // a writer that lives and is silent for so long is given up
  ChunkClientOptions chain;                                        // towards the next member of a chain
};

/// Reactor thread only, construction and destruction too (which waits for disk calls under way; no callback comes after it).
/// `store` outlives it. Disks are waited for on threads of its own, so the reactor never is.
class ChunkServer {
 public:
  ChunkServer(rpc::Reactor& reactor, ChunkStore& store, ChunkServerOptions options = {});
  ~ChunkServer();
  ChunkServer(const ChunkServer&) = delete;
  ChunkServer& operator=(const ChunkServer&) = delete;

  /// For each connection of the worker's data port: serves messages 400 to 499 and leaves the rest to `others`. A connection that
  /// ends abandons the chunks it was writing.
  rpc::Handler handler(rpc::Handler others = {});
  /// Gives descriptors to processes of this machine and user, under a name made from the worker's data address.
  Result<void> offer_to_neighbours(const std::string& data_address);

  /// Copies a chunk to other workers (in a chain), not faster than copy_rate. Pages that are damaged here come from
  /// `chunk.replicas`, workers that have it whole or damaged, this one among them. `done` is called exactly once, later.
  using CopyDone = std::function<void(Result<ChunkWritten>)>;
  void copy_to(ChunkLocation chunk, std::vector<std::string> targets, CopyDone done);
  /// Of a worker that is gone: chunks are no longer passed on to it, and their writers learn that it lacks them.
  void forget(const std::string& address, const Error& why);
  /// Of the master that this worker is registered with, from now on. Programs of users write only chunks to which they show the key
  /// that is made of it (storage/chunks/write_key.hpp). Until one is given, and after zeros, none is asked for: masters of earlier
  /// releases give none.
  void set_write_secret(const WriteSecret& secret);
  /// For the rate of copies from now on; 0: no bound.
  void set_copy_rate(std::uint64_t bytes_per_second);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::storage
