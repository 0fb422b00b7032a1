#include "storage/tables/partition_peers.hpp"

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/rpc/peers.hpp"

namespace weft::storage::tables {
namespace {

PartitionPeers::Send send_over(rpc::Reactor& reactor) {
  const auto peers = std::make_shared<rpc::Peers>(reactor, rpc::PeersOptions{});
  return [peers, &reactor](const std::string& address, rpc::Payload payload, Duration deadline, rpc::Reply reply) {
    peers->get(address, [&reactor, deadline, payload = std::make_shared<rpc::Payload>(std::move(payload)),
                         reply = std::move(reply)](Result<rpc::ConnectionPtr> to) {
      if (to) return (*to)->request(kPartitionRequest, std::move(*payload), deadline, reply);
      reactor.post([reply, why = to.error()] { reply(fail(why)); });
    });
  };
}

const SystemClock kSystemClock;

}  // namespace

class PartitionPeers::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(Send send, PartitionWindow window, const Clock& clock) : send_(std::move(send)), window_(window), clock_(clock) {}

  void ask(const std::string& address, const PartitionRequest& request, Duration deadline, Answer answer) {
    Line& line = lines_[address];
    Question question{encode(request), 0, clock_.now(), deadline, std::move(answer)};
    question.bytes = question.payload.header.view().size();
    line.waiting.push_back(std::move(question));
    pump(address);
  }
  void end() { ended_ = true; }

 private:
  struct Question {
    rpc::Payload payload;
    std::size_t bytes = 0;
    TimePoint asked;
    Duration deadline{};
    Answer answer;
  };
  struct Line {
    std::deque<Question> waiting;
    std::size_t requests = 0, bytes = 0;  // under way
  };

  void pump(const std::string& address) {
    Line& line = lines_.at(address);
    while (!line.waiting.empty() && line.requests < window_.requests &&
           (line.requests == 0 || line.bytes + line.waiting.front().bytes <= window_.bytes)) {
      Question next = std::move(line.waiting.front());
      line.waiting.pop_front();
      ++line.requests;
      line.bytes += next.bytes;
      send_(address, std::move(next.payload), next.deadline,
            [weak = weak_from_this(), address, bytes = next.bytes, answer = std::move(next.answer)](Result<rpc::Message> reply) {
              if (const auto self = weak.lock()) self->answered(address, bytes, answer, std::move(reply));
            });
    }
  }

  void answered(const std::string& address, std::size_t bytes, const Answer& answer, Result<rpc::Message> reply) {
    Line& line = lines_.at(address);
    --line.requests;
    line.bytes -= bytes;
    std::vector<Answer> late;
    if (!reply && reply.error().code() == Code::deadline_exceeded) late = take_late(line);
    if (line.requests == 0 && line.waiting.empty())
      lines_.erase(address);
    else
      pump(address);
    answer(reply ? decode_partition_reply(*reply) : fail(std::move(reply).error()));
    for (const Answer& next : late) {
      if (ended_) return;
      next(fail(Code::deadline_exceeded, fmt::format("{} did not answer in time", address)));
    }
  }

  std::vector<Answer> take_late(Line& line) {
    std::vector<Answer> late;
    const TimePoint now = clock_.now();
    std::erase_if(line.waiting, [&](Question& question) {
      const bool too_long = now - question.asked >= question.deadline;
      if (too_long) late.push_back(std::move(question.answer));
      return too_long;
    });
    return late;
  }

  const Send send_;
  const PartitionWindow window_;
  const Clock& clock_;
  bool ended_ = false;
  std::map<std::string, Line> lines_;
};

PartitionPeers::PartitionPeers(rpc::Reactor& reactor, PartitionWindow window)
    : PartitionPeers(send_over(reactor), window, kSystemClock) {}
PartitionPeers::PartitionPeers(Send send, PartitionWindow window, const Clock& clock)
    : impl_(std::make_shared<Impl>(std::move(send), window, clock)) {}
PartitionPeers::~PartitionPeers() { impl_->end(); }
void PartitionPeers::ask(const std::string& address, const PartitionRequest& request, Duration deadline, Answer answer) {
  impl_->ask(address, request, deadline, std::move(answer));
}

}  // namespace weft::storage::tables
