#include "base/rpc/watched_call.hpp"

#include <utility>

#include <fmt/core.h>

#include "base/rpc/await.hpp"
#include "base/text.hpp"

namespace weft::rpc {

namespace {

constexpr Duration kPause = std::chrono::seconds(1);  // between an answer and the next question

/// Lives in the callbacks of its request, its questions and its pauses. Reactor thread only.
class WatchedCall : public std::enable_shared_from_this<WatchedCall> {
 public:
  WatchedCall(Reactor& reactor, ConnectionPtr connection, Duration presence_deadline, Reply done)
      : reactor_(reactor), connection_(std::move(connection)), presence_deadline_(presence_deadline), done_(std::move(done)) {}

  void begin(MessageType type, Payload payload, Duration deadline) {
    connection_->request(type, std::move(payload), deadline,
                         [self = shared_from_this()](Result<Message> answer) { self->end(std::move(answer)); });
    pause();
  }

 private:
  void pause() {
    pause_ = reactor_.after(kPause, [self = shared_from_this()] { self->ask(); });
  }
  void ask() {
    if (!done_) return;
    connection_->request(kPresence, {}, presence_deadline_, [self = shared_from_this()](const Result<Message>& answer) {
      if (!self->done_) return;
      if (answer || answer.error().code() != Code::deadline_exceeded) return self->pause();
      self->end(fail(Code::deadline_exceeded, fmt::format("it says nothing for {}", format_duration(self->presence_deadline_))));
    });
  }
  void end(Result<Message> answer) {
    const auto pause = std::move(pause_);  // holds this object
    if (const auto done = std::exchange(done_, nullptr)) done(std::move(answer));
  }

  Reactor& reactor_;
  const ConnectionPtr connection_;
  const Duration presence_deadline_;
  Reply done_;  // empty: it is over
  std::unique_ptr<Timer> pause_;
};

}  // namespace

Result<Message> watched_call(Reactor& reactor, const ConnectionPtr& connection, MessageType type, Payload payload,
                             Duration deadline, Duration presence_deadline) {
  auto shared = std::make_shared<Payload>(std::move(payload));  // callbacks are copied
  return await<Message>(reactor, "waiting for a reply",
                        [&reactor, connection, type, shared, deadline, presence_deadline](Reply done) {
                          std::make_shared<WatchedCall>(reactor, connection, presence_deadline, std::move(done))
                              ->begin(type, std::move(*shared), deadline);
                        });
}

}  // namespace weft::rpc
