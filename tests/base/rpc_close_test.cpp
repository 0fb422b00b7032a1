// How connections end, what is bounded, and descriptors.
#include <cstring>
#include <deque>
#include <thread>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/rpc/socket.hpp"
#include "tests/base/rpc_fixture.hpp"

namespace weft::rpc::testing {
namespace {

class RpcEndTest : public RpcTest {};

Fd memory_file(std::string_view content) {
  Fd fd(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_TRUE(write_all(fd.get(), as_bytes(content)).has_value());
  return fd;
}

std::string content_of(const Fd& fd) {
  char text[64] = "";
  const ssize_t got = ::pread(fd.get(), text, sizeof text, 0);
  return std::string(text, got < 0 ? 0 : static_cast<std::size_t>(got));
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

TEST_P(RpcEndTest, ClosingFailsWhatIsOutstandingThenCallsOnCloseOnBothSides) {
  std::deque<Responder> held;
  Awaited<Code> server_closed;
  Handler serving;
  serving.on_request = [&](const ConnectionPtr&, const Message&, Responder responder) { held.push_back(std::move(responder)); };
  serving.on_close = [&](const ConnectionPtr&, const Error& error) { server_closed.set(error.code()); };
  serve(serving);
  std::string events;
  Awaited<std::string> client_closed;
  Handler asking;
  asking.on_close = [&](const ConnectionPtr&, const Error& error) {
    client_closed.set(fmt::format("{}closed:{}", events, code_name(error.code())));
  };
  const auto client = connect_client(asking);
  reactor_->post([&] {
    for (int i = 0; i < 3; ++i) {
      client->request(1, {}, kLong, [&, i](const Result<Message>& reply) {
        events += fmt::format("{}:{} ", i, reply ? "reply" : code_name(reply.error().code()));
      });
    }
    client->close();
    client->close();
    client->notify(1, {});
  });
  EXPECT_EQ(client_closed.get(), "0:unavailable 1:unavailable 2:unavailable closed:cancelled");
  EXPECT_EQ(server_closed.get(), Code::cancelled);
  const auto after = call(client, {});
  ASSERT_FALSE(after.has_value());
  EXPECT_EQ(after.error().code(), Code::unavailable);
  reactor_->run([&] { held.clear(); });  // answers to a closed connection are discarded
}

TEST_P(RpcEndTest, WhatWasQueuedBeforeCloseStillArrives) {
  std::size_t received = 0;
  Awaited<std::size_t> closed;
  Handler handler;
  handler.on_notify = [&](const ConnectionPtr&, const Message& message) { received += message.bulk.size(); };
  handler.on_close = [&](const ConnectionPtr&, const Error&) { closed.set(received); };
  serve(handler);
  const auto client = connect_client();
  constexpr std::size_t kPiece = 1u << 20;
  reactor_->post([&] {
    for (int i = 0; i < 20; ++i) {
      Payload payload;
      Buffer piece(kPiece);
      std::memset(piece.data(), i, piece.size());
      payload.bulk.emplace_back(std::move(piece));
      client->notify(1, std::move(payload));
    }
    client->close();
  });
  EXPECT_EQ(closed.get(), 20 * kPiece);
}

TEST_P(RpcEndTest, ACloseIsInOrderEvenWhenItsReactorStopsAtOnce) {
  for (int round = 0; round < 20; ++round) {
    Awaited<Code> closed;
    Handler handler;
    handler.on_close = [&](const ConnectionPtr&, const Error& error) { closed.set(error.code()); };
    serve(handler);
    const auto leaving = Reactor::start("leaving", security_of(GetParam()));
    const auto client = rpc::connect(*leaving, endpoint_, kLong);
    ASSERT_TRUE(client.has_value()) << client.error().to_string();
    std::atomic<bool> stopping{false};
    leaving->post([&] {
      (*client)->close();
      while (!stopping) std::this_thread::yield();
      for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // stop() is on its way before this turn of the loop is over
    });
    stopping = true;
    leaving->stop();
    EXPECT_EQ(closed.get(), Code::cancelled);
    reactor_->run([&] { listener_->close(); });
  }
}

TEST_P(RpcEndTest, AConnectionMayBeClosedFromAnyCallback) {
  Awaited<bool> closed;
  Handler handler;
  handler.on_request = [](const ConnectionPtr& connection, const Message&, Responder responder) {
    responder.reply(text_payload("bye"));
    connection->close();
  };
  handler.on_close = [&](const ConnectionPtr& connection, const Error&) {
    connection->close();
    closed.set(true);
  };
  serve(handler);
  const auto client = connect_client();
  const auto reply = call(client, {});
  ASSERT_TRUE(reply.has_value()) << reply.error().to_string();
  EXPECT_EQ(text_of(*reply), "bye");
  EXPECT_TRUE(closed.get());
}

TEST_P(RpcEndTest, ARequestFromAFailedReplyIsRefusedNotLost) {
  std::deque<Responder> held;
  Handler handler;
  handler.on_request = [&](const ConnectionPtr&, const Message&, Responder responder) { held.push_back(std::move(responder)); };
  serve(handler);
  const auto client = connect_client();
  Awaited<Code> second;
  reactor_->post([&] {
    client->request(1, {}, kLong, [&](const Result<Message>&) {
      client->request(1, {}, kLong, [&](const Result<Message>& reply) { second.set(reply.error().code()); });
    });
    client->close();
  });
  EXPECT_EQ(second.get(), Code::unavailable);
  reactor_->run([&] { held.clear(); });
}

TEST_P(RpcEndTest, StoppingTheReactorEndsABlockedCall) {
  std::deque<Responder> held;
  Awaited<bool> asked;
  Handler handler;
  handler.on_request = [&](const ConnectionPtr&, const Message&, Responder responder) {
    held.push_back(std::move(responder));
    asked.set(true);
  };
  serve(handler);
  const auto client = connect_client();
  std::thread stopper([&] {
    asked.get();
    reactor_->stop();
  });
  const auto reply = call(client, {});
  stopper.join();
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code(), Code::unavailable);
  EXPECT_FALSE(call(client, {}).has_value());
}

TEST_P(RpcEndTest, ARequestTooLargeForTheQueueIsRefused) {
  Limits limits;
  limits.max_queued = 1u << 20;
  serve(echo_handler());
  const auto client = connect_client({}, limits);
  Awaited<Code> refused;
  Awaited<bool> sent;
  reactor_->post([&] {
    const auto large = [] {
      Payload payload;
      payload.bulk.emplace_back(Buffer(900'000));
      std::memset(const_cast<std::byte*>(payload.bulk[0].bytes.data()), 0, 900'000);
      return payload;
    };
    client->request(1, large(), kLong, [&](const Result<Message>& reply) { sent.set(reply.has_value()); });
    client->request(1, large(), kLong, [&](const Result<Message>& reply) { refused.set(reply.error().code()); });
  });
  EXPECT_EQ(refused.get(), Code::resource_exhausted);
  EXPECT_TRUE(sent.get());
}

TEST_P(RpcEndTest, AMessageAboveTheLimitsIsRefusedBeforeItIsSent) {
  Limits limits;
  limits.max_bulk = 1000;
  serve(echo_handler());
  const auto client = connect_client({}, limits);
  Payload payload;
  payload.bulk.emplace_back(Buffer::copy_of(as_bytes(std::string(1001, 'x'))));
  const auto reply = call(client, std::move(payload));
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code(), Code::resource_exhausted);
  EXPECT_TRUE(call(client, text_payload("fits")).has_value());
}

TEST_P(RpcEndTest, APeerThatExceedsTheLimitsIsDisconnected) {
  Limits limits;
  limits.max_bulk = 1000;
  Awaited<Code> closed;
  Handler handler = echo_handler();
  handler.on_close = [&](const ConnectionPtr&, const Error& error) { closed.set(error.code()); };
  serve(handler, limits);
  Payload payload;
  payload.bulk.emplace_back(Buffer::copy_of(as_bytes(std::string(1001, 'x'))));
  const auto reply = call(connect_client(), std::move(payload));
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code(), Code::unavailable);
  EXPECT_EQ(closed.get(), Code::corrupt);
}

TEST_P(RpcEndTest, RequestsBeyondTheBoundAreAnsweredWithAnError) {
  Limits limits;
  limits.max_requests = 2;
  std::deque<Responder> held;
  Handler handler;
  handler.on_request = [&](const ConnectionPtr&, const Message&, Responder responder) { held.push_back(std::move(responder)); };
  serve(handler, limits);
  const auto client = connect_client();
  Awaited<Code> third;
  Awaited<bool> first;
  reactor_->post([&] {
    client->request(1, {}, kLong, [&](const Result<Message>& reply) { first.set(reply.has_value()); });
    client->request(1, {}, kLong, [](const Result<Message>&) {});
    client->request(1, {}, kLong, [&](const Result<Message>& reply) { third.set(reply.error().code()); });
  });
  EXPECT_EQ(third.get(), Code::resource_exhausted);
  reactor_->run([&] {
    while (!held.empty()) {
      held.front().reply({});
      held.pop_front();
    }
  });
  EXPECT_TRUE(first.get());
}

TEST_P(RpcEndTest, DescriptorsTravelOnUnixSocketsOnly) {
  serve(echo_handler());
  const auto client = connect_client();
  Payload payload = text_payload("with a file");
  payload.fds.push_back(memory_file("first"));
  payload.fds.push_back(memory_file("second"));
  const auto reply = call(client, std::move(payload));
  if (GetParam() != Transport::unix_socket) {
    ASSERT_FALSE(reply.has_value());
    EXPECT_EQ(reply.error().code(), Code::invalid_argument);
    return;
  }
  ASSERT_TRUE(reply.has_value()) << reply.error().to_string();
  ASSERT_EQ(reply->fds.size(), 2u);
  EXPECT_EQ(content_of(reply->fds[0]), "first");
  EXPECT_EQ(content_of(reply->fds[1]), "second");
  EXPECT_NE(::fcntl(reply->fds[0].get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_P(RpcEndTest, DescriptorsStayWithTheirMessagesAmongManyOthers) {
  if (GetParam() != Transport::unix_socket) GTEST_SKIP() << "descriptors travel on Unix sockets only";
  constexpr int kCount = 300;
  int wrong = 0, seen = 0;
  Awaited<int> all;
  Handler handler;
  handler.on_notify = [&](const ConnectionPtr&, const Message& message) {
    const auto text = text_of(message);
    const int index = std::stoi(text);
    const std::size_t expected = index % 3 == 0 ? static_cast<std::size_t>(index % 5) : 0;
    if (message.fds.size() != expected) ++wrong;
    for (const auto& fd : message.fds) {
      if (content_of(fd) != text) ++wrong;
    }
    if (++seen == kCount) all.set(wrong);
  };
  serve(handler);
  const auto client = connect_client();
  const std::size_t before = open_descriptors();
  reactor_->post([&] {
    for (int i = 0; i < kCount; ++i) {
      Payload payload = text_payload(std::to_string(i));
      if (i % 7 == 0) payload.bulk.emplace_back(Buffer::copy_of(as_bytes(std::string(static_cast<std::size_t>(i) * 1000, 'b'))));
      for (int k = 0; i % 3 == 0 && k < i % 5; ++k) payload.fds.push_back(memory_file(std::to_string(i)));
      client->notify(1, std::move(payload));
    }
  });
  EXPECT_EQ(all.get(), 0);
  reactor_->run([] {});  // the last message has been destroyed
  EXPECT_LE(open_descriptors(), before);
}

TEST_P(RpcEndTest, AnAdoptedSocketPairWorksLikeAConnection) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  Awaited<ConnectionPtr> first, second;
  reactor_->post([&] {
    reactor_->adopt(Fd(pair[0]), kLong, {}, {}, [&](const Result<ConnectionPtr>& connection) { first.set(connection.value()); });
    reactor_->adopt(Fd(pair[1]), kLong, echo_handler(), {},
                    [&](const Result<ConnectionPtr>& connection) { second.set(connection.value()); });
  });
  second.get();
  const auto reply = call(first.get(), text_payload("through the pair"));
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(text_of(*reply), "through the pair");
}

TEST_P(RpcEndTest, ConnectingToNobodyFailsWithTheAddress) {
  const Endpoint nobody = GetParam() != Transport::unix_socket ? Endpoint{"127.0.0.1:1"} : Endpoint{"unix:/nonexistent/socket"};
  const auto connection = rpc::connect(*reactor_, nobody, kLong);
  ASSERT_FALSE(connection.has_value());
  EXPECT_EQ(connection.error().code(), Code::unavailable);
  EXPECT_EQ(connection.error().to_string().find("cannot connect to " + nobody.text + ": "), 0u) << connection.error().to_string();
}

TEST_P(RpcEndTest, ConnectingToASilentPeerFailsAtTheDeadline) {
  const auto parts = split_endpoint(any_endpoint().text).value();
  const Fd silent = listen_on(resolve_blocking(parts).value().front()).value();
  const Endpoint endpoint{parts.path.empty() ? local_address(silent.get()).to_string() : any_endpoint().text};
  const auto connection = rpc::connect(*reactor_, endpoint, std::chrono::milliseconds(30));
  ASSERT_FALSE(connection.has_value());
  EXPECT_EQ(connection.error().code(), Code::deadline_exceeded);
}

TEST_P(RpcEndTest, AListenerTakesOverTheSocketFileOfADeadProcessButNotOfALiveOne) {
  if (GetParam() != Transport::unix_socket) GTEST_SKIP() << "Unix sockets only";
  const auto parts = split_endpoint(any_endpoint().text).value();
  { const Fd dead = listen_on(Address::unix_path(parts.path)).value(); }
  serve(echo_handler());
  EXPECT_TRUE(call(connect_client(), {}).has_value());
  reactor_->run([&] {
    const auto second = reactor_->listen(any_endpoint(), {}, [](const ConnectionPtr&) { return Handler{}; });
    ASSERT_FALSE(second.has_value());
    EXPECT_NE(second.error().message().find("in use"), std::string::npos) << second.error().message();
  });
}

TEST_P(RpcEndTest, TimersRunInOrderAndCanBeCancelled) {
  std::string order;
  Awaited<std::string> done;
  std::unique_ptr<Timer> a, b, c, cancelled;
  reactor_->run([&] {
    a = reactor_->after(std::chrono::milliseconds(20), [&] { done.set(order + "a"); });
    b = reactor_->after(std::chrono::milliseconds(1), [&] { order += "b"; });
    c = reactor_->after(std::chrono::milliseconds(5), [&] {
      order += "c";
      c.reset();  // from its own callback
    });
    cancelled = reactor_->after(std::chrono::milliseconds(2), [&] { order += "x"; });
    cancelled.reset();
  });
  EXPECT_EQ(done.get(), "bca");
  reactor_->run([&] {
    a.reset();
    b.reset();
  });
}

TEST_P(RpcEndTest, WhatIsHeldMayOutliveTheReactor) {
  serve(echo_handler());
  const auto client = connect_client();
  const auto server = accepted_.get();
  std::unique_ptr<Timer> timer;
  bool fired = false, replied = false;
  reactor_->run([&] {
    timer = reactor_->after(std::chrono::hours(1), [&] { fired = true; });
    client->request(1, {}, kLong, [&](const Result<Message>&) { replied = true; });
  });
  reactor_->stop();
  reactor_->stop();
  reactor_->post([&] { fired = true; });
  const bool replied_before = replied;  // the answer may have come before the end
  client->close();
  client->request(1, {}, kLong, [&](const Result<Message>&) { fired = true; });
  timer.reset();
  listener_.reset();
  EXPECT_FALSE(fired);
  EXPECT_EQ(replied, replied_before);
}

TEST_P(RpcEndTest, ManyThreadsMayCallAtOnce) {
  serve(echo_handler());
  const auto client = connect_client();
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const auto text = fmt::format("{}/{}", t, i);
        const auto reply = call(client, text_payload(text));
        if (reply && text_of(*reply) == text) ++right;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right.load(), 800);
}

INSTANTIATE_TEST_SUITE_P(Rpc, RpcEndTest, ::testing::Values(Transport::tcp, Transport::tls, Transport::unix_socket),
                         transport_name);

TEST(Handshake, WithAProcessThatIsStoppedNamesTheCause) {
  const Fd listening = listen_on(Address::numeric("127.0.0.1", "0").value()).value();  // the kernel takes connections for it
  const auto reactor = Reactor::start("test");
  const auto made = connect(*reactor, Endpoint{local_address(listening.get()).to_string()}, std::chrono::milliseconds(100));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), Code::deadline_exceeded);
  EXPECT_NE(made.error().to_string().find("the peer says nothing, for 0.1 s: its process is stopped or hangs"), std::string::npos)
      << made.error().to_string();
}

TEST(Endpoint, IsAHostAndPortOrAUnixPath) {
  for (const auto* good : {"localhost:80", "127.0.0.1:0", "[::1]:7070", "[fe80::1%lo]:0", "unix:/tmp/x", "a.b.c:65535"}) {
    EXPECT_TRUE(Endpoint::parse(good).has_value()) << good;
  }
  for (const auto* bad :
       {"", "localhost", ":80", "host:", "host:65536", "host:-1", "host:http", "::1:80", "unix:", "[]:1", "a b:1"}) {
    const auto parsed = Endpoint::parse(bad);
    ASSERT_FALSE(parsed.has_value()) << bad;
    EXPECT_EQ(parsed.error().code(), Code::invalid_argument);
    EXPECT_NE(parsed.error().message().find("HOST:PORT"), std::string::npos);
  }
  EXPECT_FALSE(Endpoint::parse("unix:/" + std::string(200, 'x')).has_value());
  const std::pair<const char*, const char*> said[] = {{"[::1]", "no port (write"},
                                                      {"[::1]:", "the port is not a number"},
                                                      {"[::1]7077", "no port behind the bracket"},
                                                      {"[::1:7077", "the bracket does not end"},
                                                      {"[]:1", "no host"},
                                                      {"[localhost]:1", "brackets are for IPv6 addresses"},
                                                      {"::1", "needs brackets, as in [::1]:7077"},
                                                      {"127.0.0.1", "no port (write"}};
  for (const auto& [address, why] : said) {
    const auto parsed = Endpoint::parse(address);
    ASSERT_FALSE(parsed.has_value()) << address;
    EXPECT_NE(parsed.error().message().find(why), std::string::npos) << parsed.error().message();
  }
}

}  // namespace
}  // namespace weft::rpc::testing
