// The Reactor: owns the loop and every connection in it.
#include <future>
#include <optional>
#include <unordered_map>

#include <fmt/core.h>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "base/rpc/acceptor.hpp"
#include "base/rpc/channel.hpp"
#include "base/rpc/dialer.hpp"
#include "base/rpc/loop.hpp"
#include "base/text.hpp"

namespace weft::rpc {
namespace {

using Connected = std::function<void(Result<ConnectionPtr>)>;
constexpr std::size_t kMaxHandshakes = 512;  // strangers at once, all listeners together

class LoopReactor final : public Reactor {
 public:
  explicit LoopReactor(std::string name) : loop_(std::move(name)) {}
  ~LoopReactor() override { LoopReactor::stop(); }

  void post(std::function<void()> task) override { loop_.post(std::move(task)); }
  bool in_thread() const override { return loop_.in_thread(); }
  std::unique_ptr<Timer> after(Duration delay, std::function<void()> task) override { return loop_.after(delay, std::move(task)); }

  void stop() override {
    loop_.shut_down([this] {
      const auto channels = std::exchange(channels_, {});
      for (const auto& [key, channel] : channels) channel->abandon();
    });
  }

  void connect(const Endpoint& endpoint, Duration deadline, Handler handler, Limits limits, Connected done) override {
    WEFT_ASSERT(in_thread());
    auto wrapped = [done = std::move(done), text = endpoint.text](Result<ConnectionPtr> result) {
      if (!result) result = fail(std::move(result).error().wrap(fmt::format("cannot connect to {}", escaped(text))));
      done(std::move(result));
    };
    auto on_socket = [this, handler = std::move(handler), limits, wrapped](Result<Fd> socket, Duration left) {
      if (!socket) return wrapped(fail(std::move(socket).error()));
      open(std::move(*socket), left, handler, limits, wrapped);
    };
    std::make_shared<Dialer>(loop_, deadline, std::move(on_socket))->dial(endpoint);
  }

  void adopt(Fd socket, Duration deadline, Handler handler, Limits limits, Connected done) override {
    WEFT_ASSERT(in_thread());
    if (auto ready = make_non_blocking(socket.get()); !ready) {
      return loop_.defer([done = std::move(done), error = std::move(ready).error()] { done(fail(error)); });
    }
    open(std::move(socket), deadline, std::move(handler), limits, std::move(done));
  }

  Result<std::unique_ptr<Listener>> listen(const Endpoint& endpoint, Limits limits,
                                           std::function<Handler(const ConnectionPtr&)> accepted) override {
    WEFT_ASSERT(in_thread());
    auto acceptor = std::make_unique<Acceptor>(
        loop_, [this, limits, accepted = std::move(accepted)](Fd socket) { accept(std::move(socket), limits, accepted); });
    WEFT_TRY(acceptor->open(endpoint));
    return acceptor;
  }

 private:
  void open(Fd socket, Duration deadline, Handler handler, Limits limits, Connected done) {
    Channel::Owner owner;
    owner.opened = [handler = std::move(handler)](const ConnectionPtr&) { return handler; };
    owner.ready = done;
    owner.failed = [done](Error error) { done(fail(std::move(error))); };
    add(std::move(socket), deadline, limits, std::move(owner));
  }

  void accept(Fd socket, Limits limits, const std::function<Handler(const ConnectionPtr&)>& accepted) {
    if (handshakes_ >= kMaxHandshakes) {
      Log("rpc").warn("refused a connection: {} others have not shaken hands yet", handshakes_);
      return;
    }
    ++handshakes_;
    Channel::Owner owner;
    owner.opened = [this, accepted](const ConnectionPtr& connection) {
      --handshakes_;
      return accepted(connection);
    };
    const std::string peer = peer_address(socket.get()).to_string();
    owner.failed = [this, peer](const Error& error) {
      --handshakes_;
      Log("rpc").warn("refused {}: {}", peer, error.to_string());
    };
    add(std::move(socket), limits.handshake_timeout, limits, std::move(owner));
  }

  void add(Fd socket, Duration deadline, Limits limits, Channel::Owner owner) {
    owner.gone = [this](Channel* channel) { channels_.erase(channel); };
    const auto channel = std::make_shared<Channel>(loop_, limits, std::move(owner));
    channels_.emplace(channel.get(), channel);
    channel->start(std::move(socket), deadline);
  }

  std::unordered_map<Channel*, std::shared_ptr<Channel>> channels_;
  std::size_t handshakes_ = 0;
  Loop loop_;
};

template <class T>
T get_or(std::future<T> future, std::string_view what) {
  try {
    return future.get();
  } catch (const std::future_error&) {  // the callback was dropped
    return fail(Code::unavailable, fmt::format("the reactor ended while {}", what));
  }
}

}  // namespace

std::unique_ptr<Reactor> Reactor::start(std::string name) { return std::make_unique<LoopReactor>(std::move(name)); }

void Reactor::run(std::function<void()> task) {
  WEFT_ASSERT(!in_thread());
  auto done = std::make_shared<std::promise<void>>();
  const auto finished = done->get_future();
  post([done = std::move(done), task = std::move(task)] {
    task();
    done->set_value();
  });
  finished.wait();  // also when the task was dropped
}

Result<Endpoint> Endpoint::parse(std::string_view text) {
  WEFT_TRY(split_endpoint(text));
  return Endpoint{std::string(text)};
}

Result<ConnectionPtr> connect(Reactor& reactor, const Endpoint& endpoint, Duration deadline, Handler handler, Limits limits) {
  WEFT_ASSERT(!reactor.in_thread());
  auto done = std::make_shared<std::promise<Result<ConnectionPtr>>>();
  auto result = done->get_future();
  reactor.post([&reactor, endpoint, deadline, handler = std::move(handler), limits, done = std::move(done)] {
    reactor.connect(endpoint, deadline, handler, limits,
                    [done](Result<ConnectionPtr> connection) { done->set_value(std::move(connection)); });
  });
  return get_or(std::move(result), "connecting");
}

Result<Message> call(Reactor& reactor, const ConnectionPtr& connection, MessageType type, Payload payload, Duration deadline) {
  WEFT_ASSERT(!reactor.in_thread());
  auto done = std::make_shared<std::promise<Result<Message>>>();
  auto result = done->get_future();
  auto shared = std::make_shared<Payload>(std::move(payload));
  reactor.post([connection, type, shared = std::move(shared), deadline, done = std::move(done)] {
    connection->request(type, std::move(*shared), deadline, [done](Result<Message> reply) { done->set_value(std::move(reply)); });
  });
  return get_or(std::move(result), "waiting for a reply");
}

}  // namespace weft::rpc
