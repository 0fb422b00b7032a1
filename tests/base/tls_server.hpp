// A server with a certificate, and one client of it, for tests of encrypted connections.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "tests/base/rpc_fixture.hpp"

namespace weft::rpc::testing {

class TlsServer : public ::testing::Test {
 protected:
  ~TlsServer() override {
    if (server_) server_->stop();
    if (client_) client_->stop();
  }

  /// Answers each request with its own bytes, on another port than before.
  void serve(Security security, Limits limits = {}, const std::string& address = "127.0.0.1:0") {
    if (server_) server_->stop();
    listener_.reset();
    server_ = Reactor::start("server", std::move(security));
    server_->run([&] {
      listener_ = server_
                      ->listen({address}, limits,
                               [this](const ConnectionPtr& connection) {
                                 if (connection->identity() != nullptr) accepted_.set(*connection->identity());
                                 return echo_handler();
                               })
                      .value();
      endpoint_ = listener_->endpoint();
    });
  }

  /// What a process with these credentials gets when it connects and asks.
  Result<std::string> ask_at(const Endpoint& to, Security security, Handler handler = {}) {
    if (client_) client_->stop();
    client_ = Reactor::start("client", std::move(security));
    WEFT_ASSIGN(connection_, connect(*client_, to, kLong, std::move(handler)));
    WEFT_ASSIGN(const Message answer, call(*client_, connection_, 7, text_payload("hello"), kLong));
    return text_of(answer);
  }

  Endpoint endpoint_;
  std::unique_ptr<Reactor> server_, client_;
  std::unique_ptr<Listener> listener_;
  ConnectionPtr connection_;
  Awaited<Identity> accepted_;
};

}  // namespace weft::rpc::testing
