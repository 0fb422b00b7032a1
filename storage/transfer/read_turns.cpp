#include "storage/transfer/read_turns.hpp"

#include <utility>

namespace weft::storage {

void ReadTurns::request(const rpc::ConnectionPtr& connection, const ReadRange& range, rpc::Duration deadline, rpc::Reply reply) {
  Line& line = lines_[connection.get()];
  Waiting turn{connection, range, deadline, std::move(reply)};
  if (line.under_way >= kMostReads) return line.waiting.push_back(std::move(turn));
  ++line.under_way;
  send(std::move(turn));
}

void ReadTurns::send(Waiting turn) {
  turn.connection->request(
      kReadPages, {encode_read(turn.range), {}, {}}, turn.deadline,
      [self = weak_from_this(), on = turn.connection.get(), reply = std::move(turn.reply)](Result<rpc::Message> answer) {
        reply(std::move(answer));
        if (const auto turns = self.lock()) turns->ended(on);
      });
}

void ReadTurns::ended(const rpc::Connection* connection) {
  const auto line = lines_.find(connection);
  if (line->second.waiting.empty()) {
    if (--line->second.under_way == 0) lines_.erase(line);
    return;
  }
  Waiting next = std::move(line->second.waiting.front());
  line->second.waiting.pop_front();
  send(std::move(next));
}

}  // namespace weft::storage
