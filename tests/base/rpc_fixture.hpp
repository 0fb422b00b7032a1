// A reactor with a server and a client on it, over TCP, TLS, a Unix socket or a socketpair.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/certificates/authority.hpp"
#include "base/file.hpp"
#include "base/rpc/credentials.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::rpc::testing {

inline constexpr Duration kLong = std::chrono::seconds(30);

inline Payload text_payload(std::string_view text) { return {Buffer::copy_of(as_bytes(text)), {}, {}}; }
inline std::string text_of(const Message& message) { return std::string(as_chars(message.header.view())); }

/// A value other threads wait for.
template <class T>
class Awaited {
 public:
  void set(T value) {
    const std::lock_guard lock(mutex_);
    value_ = std::move(value);
    changed_.notify_all();
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    value_.reset();
  }
  /// Waits; ends the test program when it never comes.
  T get() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kLong, [this] { return value_.has_value(); })) {
      ADD_FAILURE() << "nothing came";
      std::abort();
    }
    return *value_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<T> value_;
};

/// Answers requests with their own header and bulk.
inline Handler echo_handler() {
  Handler handler;
  handler.on_request = [](const ConnectionPtr&, Message message, Responder responder) {
    Payload payload;
    payload.header = std::move(message.header);
    payload.bulk.emplace_back(std::move(message.bulk));
    payload.fds = std::move(message.fds);
    responder.reply(std::move(payload));
  };
  return handler;
}

enum class Transport { tcp, tls, unix_socket };

inline std::string transport_name(const ::testing::TestParamInfo<Transport>& info) {
  return info.param == Transport::tcp ? "tcp" : info.param == Transport::tls ? "tls" : "unix";
}

/// What reactors are started with: for TLS, a master's certificate, of an authority that all tests of the program share.
inline Security security_of(Transport transport) {
  if (transport != Transport::tls) return {};
  static const TempDir directory = std::move(TempDir::create()).value();
  static const auto credentials = [] {
    auto authority = certificates::Authority::create(directory.path() / "ca").value();
    return Credentials::open(authority.issue({Role::master, "master", {}}).value()).value();
  }();
  return {credentials, false};
}

class RpcTest : public ::testing::TestWithParam<Transport> {
 protected:
  RpcTest() : directory_(std::move(TempDir::create()).value()), reactor_(Reactor::start("test", security_of(GetParam()))) {}
  ~RpcTest() override { reactor_->stop(); }

  Endpoint any_endpoint() const {
    return GetParam() != Transport::unix_socket ? Endpoint{"127.0.0.1:0"}
                                                : Endpoint{"unix:" + (directory_.path() / "socket").string()};
  }

  /// Starts a server whose connections get `handler`; accepted_ has the first one.
  void serve(Handler handler, Limits limits = {}) {
    reactor_->run([&] {
      auto listener = reactor_->listen(any_endpoint(), limits, [this, handler](const ConnectionPtr& connection) {
        accepted_.set(connection);
        return handler;
      });
      ASSERT_TRUE(listener.has_value()) << listener.error().to_string();
      listener_ = std::move(*listener);
      endpoint_ = listener_->endpoint();
    });
  }

  ConnectionPtr connect_client(Handler handler = {}, Limits limits = {}) {
    auto connection = rpc::connect(*reactor_, endpoint_, kLong, std::move(handler), limits);
    EXPECT_TRUE(connection.has_value()) << connection.error().to_string();
    return connection ? *connection : nullptr;
  }

  Result<Message> call(const ConnectionPtr& connection, Payload payload, Duration deadline = kLong) {
    return rpc::call(*reactor_, connection, 7, std::move(payload), deadline);
  }

  TempDir directory_;
  Endpoint endpoint_;
  std::unique_ptr<Reactor> reactor_;
  std::unique_ptr<Listener> listener_;
  Awaited<ConnectionPtr> accepted_;
};

}  // namespace weft::rpc::testing
