#include "base/rpc/peers.hpp"

#include <optional>
#include <utility>

namespace weft::rpc {

class Peers::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(Reactor& reactor, PeersOptions options, Locate locate) : reactor_(reactor), options_(options), locate_(std::move(locate)) {}

  void get(const std::string& address, Done done) {
    if (peers_.size() >= options_.most) std::erase_if(peers_, [](const auto& entry) { return entry.second.failure.has_value(); });
    const auto [place, fresh] = peers_.try_emplace(address);
    Peer& peer = place->second;
    if (fresh) peer.attempt = ++attempts_;
    if (peer.connection) return done(peer.connection);
    if (peer.failure) return done(fail(*peer.failure));
    peer.waiting.push_back(std::move(done));
    if (fresh) connect(address, peer.attempt);
  }

  void forget(const std::string& address) {
    const auto peer = peers_.find(address);
    if (peer == peers_.end()) return;
    if (peer->second.connection) return peer->second.connection->close();  // on_close drops it
    const auto waiting = std::move(peer->second.waiting);
    peers_.erase(peer);
    for (const Done& done : waiting) done(fail(Code::unavailable, address + " is given up"));
  }

  void shut_down() {
    for (const auto& [address, peer] : std::exchange(peers_, {}))
      if (peer.connection) peer.connection->close();
  }

 private:
  struct Peer {
    ConnectionPtr connection;
    std::optional<Error> failure;
    std::uint64_t attempt = 0;  // distinguishes it from a connect to a peer that was forgotten meanwhile
    std::vector<Done> waiting;  // while it is being connected to
  };

  void connect(const std::string& address, std::uint64_t attempt) {
    auto endpoint = locate_ ? locate_(address) : Endpoint::parse(address);
    if (!endpoint) {  // as late as every other failure
      return reactor_.post([weak = weak_from_this(), address, attempt, error = std::move(endpoint).error()] {
        if (const auto self = weak.lock()) self->connected(address, attempt, fail(error));
      });
    }
    Handler handler;
    handler.on_close = [weak = weak_from_this(), address](const ConnectionPtr& connection, const Error&) {
      const auto self = weak.lock();
      if (!self) return;
      const auto peer = self->peers_.find(address);
      if (peer != self->peers_.end() && peer->second.connection == connection) self->peers_.erase(peer);
    };
    reactor_.connect({endpoint->text, endpoint->alternatives, options_.role}, options_.connect_deadline, std::move(handler),
                     options_.limits, [weak = weak_from_this(), address, attempt](Result<ConnectionPtr> connection) {
                       if (const auto self = weak.lock()) self->connected(address, attempt, std::move(connection));
                     });
  }

  void connected(const std::string& address, std::uint64_t attempt, Result<ConnectionPtr> connection) {
    const auto place = peers_.find(address);
    if (place == peers_.end() || place->second.attempt != attempt) {
      if (connection) (*connection)->close();
      return;
    }
    const auto waiting = std::exchange(place->second.waiting, {});
    if (connection) {
      place->second.connection = *connection;
    } else if (options_.remember_failures) {
      place->second.failure = connection.error();
    } else {
      peers_.erase(place);
    }
    for (const Done& done : waiting) done(connection);
  }

  Reactor& reactor_;
  const PeersOptions options_;
  const Locate locate_;
  std::map<std::string, Peer> peers_;  // by address
  std::uint64_t attempts_ = 0;
};

Peers::Peers(Reactor& reactor, PeersOptions options, Locate locate)
    : impl_(std::make_shared<Impl>(reactor, options, std::move(locate))) {}
Peers::~Peers() { impl_->shut_down(); }
void Peers::get(const std::string& address, Done done) { impl_->get(address, std::move(done)); }
void Peers::forget(const std::string& address) { impl_->forget(address); }

}  // namespace weft::rpc
