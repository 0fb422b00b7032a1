// Bounds what a process asks of one worker at a time. Private to storage/transfer.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>

#include "base/rpc/rpc.hpp"
#include "storage/transfer/wire.hpp"

namespace weft::storage {

/// Requests for pages, of which at most kMostReads are under way on a connection, however many readers share it: a worker refuses
/// what is more than it answers at a time. The others wait for their turns, in order. Reactor thread.
class ReadTurns : public std::enable_shared_from_this<ReadTurns> {
 public:
  static constexpr std::uint32_t kMostReads = 48;  // of the 64 that a worker answers; opening and writing take the others

  /// As Connection::request(); the deadline begins with the turn. `reply` is not called when this object ends before the turn.
  void request(const rpc::ConnectionPtr& connection, const ReadRange& range, rpc::Duration deadline, rpc::Reply reply);

 private:
  struct Waiting {
    rpc::ConnectionPtr connection;
    ReadRange range;
    rpc::Duration deadline;
    rpc::Reply reply;
  };
  struct Line {
    std::uint32_t under_way = 0;
    std::deque<Waiting> waiting;
  };

  void send(Waiting turn);
  void ended(const rpc::Connection* connection);

  std::map<const rpc::Connection*, Line> lines_;  // of connections with requests under way
};

}  // namespace weft::storage
