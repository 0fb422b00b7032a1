// The Reactor: owns the loop and every connection in it.
#include <algorithm>
#include <future>
#include <optional>
#include <unordered_map>

#include <fmt/core.h>
#include <malloc.h>

#include "base/assert.hpp"
#include "base/rpc/acceptor.hpp"
#include "base/rpc/await.hpp"
#include "base/rpc/channel.hpp"
#include "base/rpc/descriptors.hpp"
#include "base/rpc/dialer.hpp"
#include "base/rpc/loop.hpp"
#include "base/rpc/newcomers.hpp"
#include "base/rpc/peer_log.hpp"
#include "base/rpc/race.hpp"
#include "base/text.hpp"

namespace weft::rpc {
namespace {

using Connected = std::function<void(Result<ConnectionPtr>)>;
constexpr std::size_t kMaxHandshakes = 512;  // unfinished at once, all listeners together
constexpr std::size_t kBurst = 1000;         // connections ended, after which their memory goes back to the system
constexpr Duration kAfterBurst = std::chrono::seconds(2);

class LoopReactor final : public Reactor {
 public:
  explicit LoopReactor(std::string name) : loop_(std::move(name)) {}
  ~LoopReactor() override { LoopReactor::stop(); }

  void post(std::function<void()> task) override { loop_.post(std::move(task)); }
  bool in_thread() const override { return loop_.in_thread(); }
  std::unique_ptr<Timer> after(Duration delay, std::function<void()> task) override { return loop_.after(delay, std::move(task)); }

  void stop() override {
    loop_.shut_down([this] {
      peer_log_.reset();
      trim_.reset();
      const auto channels = std::exchange(channels_, {});
      for (const auto& [key, channel] : channels) channel->abandon();
    });
  }

  void connect(const Endpoint& endpoint, Duration deadline, Handler handler, Limits limits, Connected done) override {
    WEFT_ASSERT(in_thread());
    if (!endpoint.alternatives.empty()) {
      auto one = [this, handler = std::move(handler), limits](const std::string& address, Duration left, Connected result) {
        return connect_to(address, left, handler, limits, std::move(result));
      };
      return std::make_shared<Race>(loop_, endpoint.alternatives, deadline, std::move(one), std::move(done))->start();
    }
    auto wrapped = [done = std::move(done), text = endpoint.text](Result<ConnectionPtr> result) {
      if (!result) result = fail(std::move(result).error().wrap(fmt::format("cannot connect to {}", escaped(text))));
      done(std::move(result));
    };
    (void)connect_to(endpoint.text, deadline, std::move(handler), limits, std::move(wrapped));
  }

  void adopt(Fd socket, Duration deadline, Handler handler, Limits limits, Connected done) override {
    WEFT_ASSERT(in_thread());
    if (auto ready = make_non_blocking(socket.get()); !ready) {
      return loop_.defer([done = std::move(done), error = std::move(ready).error()] { done(fail(error)); });
    }
    (void)open(std::move(socket), deadline, std::move(handler), limits, std::move(done));
  }

  Result<std::unique_ptr<Listener>> listen(const Endpoint& endpoint, Limits limits,
                                           std::function<Handler(const ConnectionPtr&)> accepted) override {
    WEFT_ASSERT(in_thread());
    Acceptor::Owner owner;
    owner.accepted = [this, limits, accepted = std::move(accepted)](Fd socket) { accept(std::move(socket), limits, accepted); };
    owner.make_room = [this] { return close_most_dispensable(); };
    owner.warn = [this](std::string line) { warn(std::move(line)); };
    auto acceptor = std::make_unique<Acceptor>(loop_, std::move(owner));
    WEFT_TRY(acceptor->open(endpoint));
    return acceptor;
  }

 private:
  /// Returns how to give it up: then `done` is not called, or with a failure.
  Race::Abandon connect_to(const std::string& address, Duration deadline, Handler handler, Limits limits, Connected done) {
    const auto channel = std::make_shared<std::weak_ptr<Channel>>();
    auto on_socket = [this, handler = std::move(handler), limits, done = std::move(done), channel](Result<Fd> socket,
                                                                                                   Duration left) {
      if (!socket) return done(fail(std::move(socket).error()));
      *channel = open(std::move(*socket), left, handler, limits, done);
    };
    const auto dialer = std::make_shared<Dialer>(loop_, deadline, std::move(on_socket));
    dialer->dial(address);
    return [dialing = std::weak_ptr(dialer), channel] {
      if (const auto still = dialing.lock()) still->cancel();
      if (const auto shaking_hands = channel->lock()) shaking_hands->close();
    };
  }

  std::shared_ptr<Channel> open(Fd socket, Duration deadline, Handler handler, Limits limits, Connected done) {
    Channel::Owner owner;
    owner.opened = [handler = std::move(handler)](const ConnectionPtr&) { return handler; };
    owner.ready = done;
    owner.failed = [done](Error error) { done(fail(std::move(error))); };
    return add(++last_number_, std::move(socket), deadline, limits, std::move(owner));
  }

  void accept(Fd socket, Limits limits, const std::function<Handler(const ConnectionPtr&)>& accepted) {
    const std::string peer = peer_address(socket.get()).to_string();
    if (!move_below_reserve(socket)) {
      return warn(fmt::format(
          "refused {}: the process has {} descriptors open and keeps the others for what runs already (raise the limit, ulimit -n)",
          peer, socket.get()));
    }
    while (const auto oldest = newcomers_.in_the_way()) close(*oldest, "a newer connection needs its place");
    const Newcomers::Number number = ++last_number_;
    newcomers_.accepted(number);
    Channel::Owner owner;
    owner.opened = [this, number, accepted](const ConnectionPtr& connection) {
      newcomers_.shook_hands(number);
      return accepted(connection);
    };
    owner.failed = [this, peer](const Error& error) { warn(fmt::format("refused {}: {}", peer, error.to_string())); };
    owner.spoke = [this, number] { newcomers_.left(number); };
    owner.misbehaved = [this, peer](const Error& error) { warn(fmt::format("disconnected {}: {}", peer, error.to_string())); };
    (void)add(number, std::move(socket), limits.handshake_timeout, limits, std::move(owner));
  }

  /// Closes connections until the socket has a descriptor below the reserved ones, and takes the place of one of them: a place left
  /// to the next connection would let every second one into the reserve. False when there is none to close.
  bool move_below_reserve(Fd& socket) {
    const int reserved = first_reserved_descriptor();
    while (socket.get() >= reserved) {
      if (!close_most_dispensable()) return false;
      if (Fd lowest = socket.duplicate(); lowest.valid() && lowest.get() < socket.get()) socket = std::move(lowest);
    }
    return true;
  }

  /// True when it is closed, false when it turns out to have gone a step further.
  bool close(Newcomers::Number number, const char* why) {
    const auto channel = channels_.at(number);
    return channel->make_way(Error(Code::resource_exhausted, fmt::format("silent for too long: {}", why)));
  }

  /// False when all connections have sent messages, and stay.
  bool close_most_dispensable() {
    while (const auto number = newcomers_.most_dispensable()) {
      if (close(*number, "the process runs out of descriptors (raise the limit, ulimit -n)")) return true;
    }
    return false;
  }

  void warn(std::string line) {
    if (peer_log_) peer_log_->warn(std::move(line));
  }

  std::shared_ptr<Channel> add(Newcomers::Number number, Fd socket, Duration deadline, Limits limits, Channel::Owner owner) {
    owner.gone = [this, number] {
      newcomers_.left(number);
      channels_.erase(number);
      give_back_memory_of_bursts();
    };
    const auto channel = std::make_shared<Channel>(loop_, receive_buffer_, limits, std::move(owner));
    channels_.emplace(number, channel);
    channel->start(std::move(socket), deadline);
    return channel;
  }

  /// The allocator would keep what thousands of connections took, between pieces that others hold. Rarely: it costs milliseconds.
  void give_back_memory_of_bursts() {
    if (++ended_ < kBurst || trim_ != nullptr) return;
    trim_ = loop_.after(kAfterBurst, [this] {
      trim_.reset();
      ended_ = 0;
      ::malloc_trim(0);
    });
  }

  ReceiveBuffer receive_buffer_;
  std::unordered_map<Newcomers::Number, std::shared_ptr<Channel>> channels_;
  Newcomers::Number last_number_ = 0;
  Newcomers newcomers_{kMaxHandshakes};
  std::size_t ended_ = 0;  // connections, since memory was given back
  Loop loop_;
  std::unique_ptr<Timer> trim_;
  std::optional<PeerLog> peer_log_{
      [this](Duration delay, std::function<void()> task) { return loop_.after(delay, std::move(task)); }};
};

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

Result<Endpoint> Endpoint::parse_list(std::string_view text) {
  std::vector<std::string> addresses;
  for (const std::string_view part : split(text, ',')) {
    WEFT_ASSIGN(Endpoint one, parse(trim(part)));
    if (std::find(addresses.begin(), addresses.end(), one.text) != addresses.end()) continue;
    if (addresses.size() == kMostAlternatives)
      return fail(Code::invalid_argument,
                  fmt::format("'{}' is an address too many: a list has {} at most", escaped(one.text), kMostAlternatives));
    addresses.push_back(std::move(one.text));
  }
  if (addresses.size() == 1) return Endpoint{std::move(addresses.front())};
  return Endpoint{join(addresses, ","), std::move(addresses)};
}

Result<ConnectionPtr> connect(Reactor& reactor, const Endpoint& endpoint, Duration deadline, Handler handler, Limits limits) {
  return await<ConnectionPtr>(reactor, "connecting",
                              [&reactor, endpoint, deadline, handler = std::move(handler), limits](Connected done) {
                                reactor.connect(endpoint, deadline, handler, limits, std::move(done));
                              });
}

Result<Message> call(Reactor& reactor, const ConnectionPtr& connection, MessageType type, Payload payload, Duration deadline) {
  auto shared = std::make_shared<Payload>(std::move(payload));  // callbacks are copied
  return await<Message>(reactor, "waiting for a reply", [connection, type, shared, deadline](Reply done) {
    connection->request(type, std::move(*shared), deadline, std::move(done));
  });
}

}  // namespace weft::rpc
