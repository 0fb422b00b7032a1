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
#include "base/rpc/credentials_impl.hpp"
#include "base/rpc/descriptors.hpp"
#include "base/rpc/dialer.hpp"
#include "base/rpc/loop.hpp"
#include "base/rpc/newcomers.hpp"
#include "base/rpc/peer_log.hpp"
#include "base/rpc/peer_user.hpp"
#include "base/rpc/race.hpp"
#include "base/text.hpp"

namespace weft::rpc {
namespace {

using Connected = std::function<void(Result<ConnectionPtr>)>;
constexpr std::size_t kMaxHandshakes = 512;  // unfinished at once, all listeners together
constexpr std::size_t kBurst = 1000;         // connections ended, after which their memory goes back to the system
constexpr Duration kAfterBurst = std::chrono::seconds(2);
constexpr Duration kCheckRevoked = std::chrono::seconds(1);

class LoopReactor final : public Reactor {
 public:
  LoopReactor(std::string name, Security security) : security_(std::move(security)), loop_(std::move(name)) {
    if (security_.encrypted()) loop_.post([this] { watch_revoked(security_.credentials->impl().trust()); });
  }
  ~LoopReactor() override { LoopReactor::stop(); }

  void post(std::function<void()> task) override { loop_.post(std::move(task)); }
  bool in_thread() const override { return loop_.in_thread(); }
  std::unique_ptr<Timer> after(Duration delay, std::function<void()> task) override { return loop_.after(delay, std::move(task)); }

  void stop() override {
    loop_.shut_down([this] {
      peer_log_.reset();
      trim_.reset();
      revoked_timer_.reset();
      const auto channels = std::exchange(channels_, {});
      for (const auto& [key, channel] : channels) channel->abandon();
    });
  }

  void connect(const Endpoint& endpoint, Duration deadline, Handler handler, Limits limits, Connected done) override {
    WEFT_ASSERT(in_thread());
    if (!endpoint.alternatives.empty()) {
      auto one = [this, handler = std::move(handler), limits, role = endpoint.role](const std::string& address, Duration left,
                                                                                    Connected result) {
        return connect_to({address, role}, left, handler, limits, std::move(result));
      };
      return std::make_shared<Race>(loop_, endpoint.alternatives, deadline, std::move(one), std::move(done))->start();
    }
    auto wrapped = [done = std::move(done), text = endpoint.text](Result<ConnectionPtr> result) {
      if (!result) result = fail(std::move(result).error().wrap(fmt::format("cannot connect to {}", escaped(text))));
      done(std::move(result));
    };
    (void)connect_to({endpoint.text, endpoint.role}, deadline, std::move(handler), limits, std::move(wrapped));
  }

  void adopt(Fd socket, Duration deadline, Handler handler, Limits limits, Connected done) override {
    WEFT_ASSERT(in_thread());
    if (auto ready = make_non_blocking(socket.get()); !ready) {
      return loop_.defer([done = std::move(done), error = std::move(ready).error()] { done(fail(error)); });
    }
    (void)open(std::move(socket), {deadline}, std::move(handler), limits, std::move(done));
  }

  Result<std::unique_ptr<Listener>> listen(const Endpoint& endpoint, Limits limits,
                                           std::function<Handler(const ConnectionPtr&)> accepted) override {
    WEFT_ASSERT(in_thread());
    Acceptor::Owner owner;
    owner.accepted = [this, limits, accepted = std::move(accepted)](Fd socket) { accept(std::move(socket), limits, accepted); };
    owner.make_room = [this] { return close_most_dispensable(); };
    owner.warn = [this](std::string line) { warn(std::move(line)); };
    const auto reach = security_.beyond_loopback() ? Acceptor::Reach::all : Acceptor::Reach::loopback;
    auto acceptor = std::make_unique<Acceptor>(loop_, reach, std::move(owner));
    WEFT_TRY(acceptor->open(endpoint));
    return acceptor;
  }

 private:
  /// An address, and what the process there must be.
  struct Target {
    std::string address;
    std::optional<Role> role;
  };

  /// Returns how to give it up: then `done` is not called, or with a failure.
  Race::Abandon connect_to(const Target& target, Duration deadline, Handler handler, Limits limits, Connected done) {
    const auto channel = std::make_shared<std::weak_ptr<Channel>>();
    auto on_socket = [this, target, handler = std::move(handler), limits, done = std::move(done), channel](Result<Fd> socket,
                                                                                                           Duration left) {
      if (!socket) return done(fail(std::move(socket).error()));
      Channel::Start start = start_of(*socket, left, demand_of(target, *socket));
      *channel = open(std::move(*socket), std::move(start), handler, limits, done);
    };
    const auto dialer = std::make_shared<Dialer>(loop_, deadline, std::move(on_socket));
    dialer->dial(target.address);
    return [dialing = std::weak_ptr(dialer), channel] {
      if (const auto still = dialing.lock()) still->cancel();
      if (const auto shaking_hands = channel->lock()) shaking_hands->close();
    };
  }

  /// A host that is this machine itself is no name of the process there.
  static PeerDemand demand_of(const Target& target, const Fd& socket) {
    PeerDemand demand{true, target.role, {}};
    if (const auto parts = split_endpoint(target.address); parts && !is_over_loopback(socket.get())) demand.host = parts->host;
    return demand;
  }

  /// How a TCP connection begins; Unix sockets have their own check (Acceptor).
  Channel::Start start_of(const Fd& socket, Duration deadline, PeerDemand demand) const {
    Channel::Start start{deadline};
    if (local_address(socket.get()).family() == AF_UNIX) return start;
    start.checks_user = demand.dialled && checks_users() && is_over_loopback(socket.get());
    if (security_.encrypted()) start.tls = std::make_unique<Tls>(*security_.credentials, socket.get(), std::move(demand));
    return start;
  }
  bool checks_users() const { return !security_.encrypted() && !security_.insecure; }

  std::shared_ptr<Channel> open(Fd socket, Channel::Start start, Handler handler, Limits limits, Connected done) {
    Channel::Owner owner;
    owner.opened = [handler = std::move(handler)](const ConnectionPtr&) { return handler; };
    owner.ready = done;
    owner.failed = [done](Error error) { done(fail(std::move(error))); };
    return add(++last_number_, std::move(socket), std::move(start), limits, std::move(owner));
  }

  /// Why the peer is refused, when it is of another user of this machine; it gets a line, too. Nothing: it is welcome.
  std::optional<std::string> refusal_of(const Fd& socket) const {
    if (!checks_users() || local_address(socket.get()).family() == AF_UNIX) return std::nullopt;
    const auto user = user_of_peer(socket.get());
    if (may_talk(user, Side::accepted)) return std::nullopt;
    if (!user) return "it has closed the connection, so that nobody knows whose it was";
    const Buffer why =
        encode_error(Error(Code::invalid_argument, "this process serves the user who runs it only, and another one asks"));
    FrameHead head;
    head.kind = FrameKind::error;
    head.header_length = static_cast<std::uint32_t>(why.size());
    FixedPart fixed = encode_head(head, why.view());
    const iovec pieces[2] = {{fixed.data(), fixed.size()}, {const_cast<std::byte*>(why.data()), why.size()}};
    (void)send(socket.get(), pieces, {});
    return fmt::format("it is of user {} of this machine", *user);
  }

  void accept(Fd socket, Limits limits, const std::function<Handler(const ConnectionPtr&)>& accepted) {
    const std::string peer = peer_address(socket.get()).to_string();
    if (!move_below_reserve(socket)) {
      return warn(fmt::format(
          "refused {}: the process has {} descriptors open and keeps the others for what runs already (raise the limit, ulimit -n)",
          peer, socket.get()));
    }
    if (const auto why = refusal_of(socket)) return warn(fmt::format("refused {}: {}", peer, *why));
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
    Channel::Start start = start_of(socket, limits.handshake_timeout, {});
    (void)add(number, std::move(socket), std::move(start), limits, std::move(owner));
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

  std::shared_ptr<Channel> add(Newcomers::Number number, Fd socket, Channel::Start start, Limits limits, Channel::Owner owner) {
    owner.gone = [this, number] {
      newcomers_.left(number);
      channels_.erase(number);
      give_back_memory_of_bursts();
    };
    const auto channel = std::make_shared<Channel>(loop_, receive_buffer_, limits, std::move(owner));
    channels_.emplace(number, channel);
    channel->start(std::move(socket), std::move(start));
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

  /// Ends connections whose peers' certificates were revoked since.
  void watch_revoked(const std::shared_ptr<const Trust>& seen) {
    auto trust = security_.credentials->impl().trust();
    if (trust != seen) {
      std::vector<std::shared_ptr<Channel>> all;  // those that end leave channels_
      for (const auto& [number, channel] : channels_) all.push_back(channel);
      for (const auto& channel : all) channel->check_peer();
    }
    revoked_timer_ = loop_.after(kCheckRevoked, [this, trust = std::move(trust)] { watch_revoked(trust); });
  }

  const Security security_;
  ReceiveBuffer receive_buffer_;
  std::unordered_map<Newcomers::Number, std::shared_ptr<Channel>> channels_;
  Newcomers::Number last_number_ = 0;
  Newcomers newcomers_{kMaxHandshakes};
  std::size_t ended_ = 0;  // connections, since memory was given back
  Loop loop_;
  std::unique_ptr<Timer> trim_, revoked_timer_;
  std::optional<PeerLog> peer_log_{
      [this](Duration delay, std::function<void()> task) { return loop_.after(delay, std::move(task)); }};
};

}  // namespace

std::unique_ptr<Reactor> Reactor::start(std::string name, Security security) {
  return std::make_unique<LoopReactor>(std::move(name), std::move(security));
}

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
  return Endpoint{join(addresses, ","), std::move(addresses), {}};
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
