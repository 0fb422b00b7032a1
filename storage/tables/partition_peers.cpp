#include "storage/tables/partition_peers.hpp"

#include <algorithm>
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
constexpr std::size_t kMostLines = 10'000;  // workers whose windows are remembered

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
    std::size_t window = 0;               // requests that may be; 0: the first ones
    TimePoint narrowed{};                 // when that was last halved
  };

  void pump(const std::string& address) {
    Line& line = lines_.at(address);
    if (line.window == 0) line.window = std::min(window_.first, window_.requests);
    while (!line.waiting.empty() && line.requests < line.window &&
           (line.requests == 0 || line.bytes + line.waiting.front().bytes <= window_.bytes)) {
      Question next = std::move(line.waiting.front());
      line.waiting.pop_front();
      ++line.requests;
      line.bytes += next.bytes;
      send_(address, std::move(next.payload), next.deadline,
            [weak = weak_from_this(), address, bytes = next.bytes, sent = clock_.now(), deadline = next.deadline,
             answer = std::move(next.answer)](Result<rpc::Message> reply) {
              const auto self = weak.lock();
              if (!self) return;
              self->adapt(self->lines_.at(address), sent, deadline, reply);
              self->answered(address, bytes, answer, std::move(reply));
            });
    }
  }

  /// One late answer is a sign for all that were sent before it: they halve the window once.
  void adapt(Line& line, TimePoint sent, Duration deadline, const Result<rpc::Message>& reply) {
    const bool late = clock_.now() - sent > deadline / 4 || (!reply && reply.error().code() == Code::deadline_exceeded);
    if (late && sent >= line.narrowed) {
      line.window = std::max<std::size_t>(line.window / 2, 1);
      line.narrowed = clock_.now();
    } else if (!late && line.window < window_.requests) {
      ++line.window;
    }
  }

  void answered(const std::string& address, std::size_t bytes, const Answer& answer, Result<rpc::Message> reply) {
    Line& line = lines_.at(address);
    --line.requests;
    line.bytes -= bytes;
    std::vector<Answer> late;
    if (!reply && reply.error().code() == Code::deadline_exceeded) late = take_late(line);
    if (line.requests > 0 || !line.waiting.empty())
      pump(address);
    else if (lines_.size() > kMostLines)
      lines_.erase(address);  // and how quickly that one answers
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
