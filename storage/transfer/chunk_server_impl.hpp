// The inside of the chunk server. Private to storage/transfer.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/transfer/chunk_copy.hpp"
#include "storage/transfer/chunk_server.hpp"
#include "storage/transfer/incoming_write.hpp"
#include "storage/transfer/io_threads.hpp"
#include "storage/transfer/wire.hpp"

namespace weft::storage {

class ChunkServer::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(rpc::Reactor& reactor, ChunkStore& store, ChunkServerOptions options);

  rpc::Handler handler(rpc::Handler others);
  Result<void> offer_to_neighbours(const std::string& data_address);
  void copy_to(ChunkLocation chunk, std::vector<std::string> targets, CopyDone done);
  void forget(const std::string& address, const Error& why);
  void set_write_secret(const WriteSecret& secret) { write_secret_ = secret; }
  void set_copy_rate(std::uint64_t rate) { pacer_.set_rate(rate); }
  void shut_down();

 private:
  using FilePtr = std::shared_ptr<const ChunkFile>;
  struct Open {
    FilePtr file;
    std::uint32_t readers = 0;
  };
  struct Write {
    std::shared_ptr<IncomingWrite> write;
    std::unique_ptr<rpc::Timer> idle;
  };
  struct Peer {
    std::string rack;
    std::string user;  // of a connection that writes, with a user's certificate
    std::map<ChunkId, Open> open;
    std::map<ChunkId, Write> writes;
  };

  void on_request(const rpc::ConnectionPtr& connection, rpc::Message message, rpc::Responder responder);
  void on_notify(const rpc::ConnectionPtr& connection, const rpc::Message& message);
  void on_close(const rpc::ConnectionPtr& connection);

  // chunk_server_reads.cpp
  void open(const rpc::ConnectionPtr& connection, ByteView header, rpc::Responder responder);
  void opened(const rpc::ConnectionPtr& connection, const FilePtr& file, rpc::Responder& responder);
  void read(const rpc::ConnectionPtr& connection, ByteView header, rpc::Responder responder);
  void send(const FilePtr& file, const ReadRange& range, const std::string& rack, const Result<void>& verified,
            rpc::Responder& responder);
  /// For readers that go from replica to replica, page by page. Answered with the result of `read`, from a disk thread.
  void open_damaged(ByteView header, rpc::Responder responder);
  void read_damaged(ByteView header, rpc::Responder responder);
  void answer(const ChunkWanted& wanted, rpc::Responder responder, std::function<Result<SharedBytes>(const DamagedChunk&)> read);
  /// Reads the whole chunk from its disk; when it is damaged indeed, the store sets it aside. Once at a time, because
  /// anybody who reaches this port may ask for it.
  void check(ChunkId id);

  // chunk_server.cpp
  Result<void> may_begin(const rpc::Connection& peer, const WriteStart& start) const;
  /// resource_exhausted: too much is being written, in all or by that peer.
  Result<void> has_turn(const Peer& peer) const;
  void begin(const rpc::ConnectionPtr& connection, ByteView header, rpc::Responder responder);
  void write(const rpc::ConnectionPtr& connection, rpc::Message message, rpc::Responder responder);
  void seal(const rpc::ConnectionPtr& connection, ByteView header, rpc::Responder responder);
  Write* find_write(const rpc::ConnectionPtr& connection, ChunkId id);
  void drop_write(rpc::Connection* connection, ChunkId id);
  void expect_more(const rpc::ConnectionPtr& connection, ChunkId id, Write& write);
  void next_copy();

  const ChunkServerOptions options_;
  std::unique_ptr<IoThreads> threads_;
  const ServerContext context_;
  std::map<rpc::Connection*, Peer> peers_;
  WriteSecret write_secret_;
  std::size_t writes_ = 0;
  std::vector<std::weak_ptr<IncomingWrite>> sealing_;  // no longer of a peer
  std::set<ChunkId> checking_;
  std::unique_ptr<rpc::Listener> neighbours_;
  rpc::Peers sources_;  // of pages that are damaged here
  Pacer pacer_;
  std::deque<std::shared_ptr<ChunkCopy>> copies_waiting_;
  std::set<std::shared_ptr<ChunkCopy>> copies_;
};

}  // namespace weft::storage
