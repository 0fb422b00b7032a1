// Peers that break the protocol: spoken to through plain sockets.
#include <cstring>
#include <deque>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/random.hpp"
#include "base/rpc/descriptors.hpp"
#include "base/rpc/frame.hpp"
#include "base/rpc/socket.hpp"
#include "tests/base/rpc_fixture.hpp"

namespace weft::rpc::testing {
namespace {

std::string frame_bytes(FrameHead head, ByteView header, std::string_view bulk = {}) {
  head.header_length = static_cast<std::uint32_t>(header.size());
  head.bulk_length = bulk.size();
  const auto fixed = encode_head(head, header);
  return std::string(as_chars(fixed)) + std::string(as_chars(header)) + std::string(bulk);
}

std::string hello_bytes(std::uint8_t version = kFrameVersion, std::string_view software = "weft 9.9") {
  FrameHead head;
  head.version = version;
  const auto header = encode_hello({std::string(software), {}});
  return frame_bytes(head, header.view());
}

FrameHead head_of(FrameKind kind, std::uint64_t id = 1) {
  FrameHead head;
  head.kind = kind;
  head.request_id = id;
  return head;
}

/// `bytes` with the byte at `at` changed and, unless told otherwise, the checksum made right again.
std::string patched(std::string bytes, std::size_t at, unsigned char value) {
  bytes[at] = static_cast<char>(value);
  return bytes;
}

class HostileTest : public RpcTest {
 protected:
  ~HostileTest() override { reactor_->stop(); }  // before closed_ goes: a socket that the test drops is noticed late

  void serve_and_watch(Limits limits = {}) {
    Handler handler = echo_handler();
    handler.on_close = [this](const ConnectionPtr&, const Error& error) { closed_.set(error); };
    serve(handler, limits);
  }

  /// A blocking plain socket to the server.
  Fd plain_socket() const {
    const auto address = resolve_blocking(split_endpoint(endpoint_.text).value()).value().front();
    Fd fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), address.get(), address.size), 0);
    return fd;
  }

  static void put(const Fd& fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;  // the server has already hung up
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  /// Reads until the server hangs up; fails the test when it does not.
  static std::string read_to_end(const Fd& fd) {
    std::string all;
    char buffer[4096];
    while (true) {
      pollfd ready{fd.get(), POLLIN, 0};
      if (::poll(&ready, 1, 30'000) != 1) {
        ADD_FAILURE() << "the server did not hang up";
        return all;
      }
      const ssize_t got = ::recv(fd.get(), buffer, sizeof buffer, 0);
      if (got <= 0) return all;
      all.append(buffer, static_cast<std::size_t>(got));
    }
  }

  /// The server still serves others.
  void expect_alive() {
    const auto reply = call(connect_client(), text_payload("still there"));
    ASSERT_TRUE(reply.has_value()) << reply.error().to_string();
    EXPECT_EQ(text_of(*reply), "still there");
  }

  Awaited<Error> closed_{};
};

TEST_P(HostileTest, StrangersAreRefused) {
  serve_and_watch();
  for (const std::string& greeting :
       {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string("\x16\x03\x01\x02", 4), std::string("WEFX"), std::string("X"),
        std::string(100'000, '\0'), std::string("WEFT") + std::string(36, '\xff')}) {
    const Fd fd = plain_socket();
    put(fd, greeting);
    read_to_end(fd);
  }
  expect_alive();
}

TEST_P(HostileTest, RandomBytesAreRefused) {
  serve_and_watch();
  Random random(3);
  for (int i = 0; i < 50; ++i) {
    const Fd fd = plain_socket();
    std::string bytes = i % 2 == 0 ? "WEFT" : hello_bytes();
    for (int k = 0; k < 200; ++k) bytes += static_cast<char>(random());
    put(fd, bytes);
    read_to_end(fd);
  }
  expect_alive();
}

TEST_P(HostileTest, AnotherVersionIsToldWhoSpeaksWhat) {
  // The server side of the mismatch is played by a plain socket that answers a real client.
  const auto parts = split_endpoint(any_endpoint().text).value();
  const Fd listening = listen_on(resolve_blocking(parts).value().front()).value();
  const Endpoint endpoint{parts.path.empty() ? local_address(listening.get()).to_string() : any_endpoint().text};
  Awaited<Error> refused;
  reactor_->post([&] {
    reactor_->connect(endpoint, kLong, {}, {}, [&](Result<ConnectionPtr> connection) { refused.set(connection.error()); });
  });
  pollfd ready{listening.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, 30'000), 1);
  const Fd accepted(::accept(listening.get(), nullptr, nullptr));
  put(accepted, hello_bytes(kFrameVersion + 1));
  const Error error = refused.get();
  EXPECT_EQ(error.code(), Code::version_mismatch);
  for (const std::string& part : {std::string("weft 9.9"), fmt::format("version {}", kFrameVersion + 1), software_version()}) {
    EXPECT_NE(error.to_string().find(part), std::string::npos) << error.to_string();
  }
  EXPECT_EQ(error.to_string().find('\n'), std::string::npos);
}

TEST_P(HostileTest, TheHighestProtocolThatBothSpeakIsTheConnections) {
  Limits limits;
  limits.protocols = {3, 5};
  serve(echo_handler(), limits);
  limits.protocols = {2, 4};
  const auto client = connect_client({}, limits);
  EXPECT_EQ(client->protocol().value(), 4);
  EXPECT_EQ(accepted_.get()->protocol().value(), 4);
  EXPECT_EQ(client->peer_software(), software_version());
}

TEST_P(HostileTest, WithoutAProtocolInCommonBothSidesAreNamedAndWhatToUpgrade) {
  Limits limits;
  limits.protocols = {3, 5};
  serve(echo_handler(), limits);
  const auto words_to = [&](ProtocolRange own) {
    limits.protocols = own;
    const auto refused = rpc::connect(*reactor_, endpoint_, kLong, {}, limits);
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::version_mismatch);
    const std::string words = refused.error().to_string();
    EXPECT_EQ(words.find('\n'), std::string::npos);
    EXPECT_NE(words.find("the peer is " + software_version() + " and speaks protocols 3 to 5, this is " + software_version()),
              std::string::npos)
        << words;
    return words;
  };
  EXPECT_NE(words_to({1, 2}).find("speaks protocols 1 to 2: upgrade this side"), std::string::npos);
  EXPECT_NE(words_to({6, 6}).find("speaks protocol 6: upgrade the peer"), std::string::npos);
}

TEST_P(HostileTest, APeerOfBeforeThereWereProtocolsTalksOnlyWhereNoneIsNeeded) {
  serve(echo_handler());
  Limits limits;
  limits.protocols = {};
  const auto client = connect_client({}, limits);
  EXPECT_EQ(text_of(call(client, text_payload("hello")).value()), "hello");
  const auto none = accepted_.get()->protocol();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Code::version_mismatch);
  EXPECT_NE(none.error().to_string().find("speaks none"), std::string::npos);
  limits.common_protocol = true;
  EXPECT_FALSE(rpc::connect(*reactor_, endpoint_, kLong, {}, limits));
}

TEST_P(HostileTest, EveryFieldOfAFrameIsChecked) {
  serve_and_watch();
  const auto good = frame_bytes(head_of(FrameKind::request), {}, {});
  // Any changed byte breaks the checksum, if nothing before it.
  for (std::size_t at = 0; at < kFixedSize; ++at) {
    const Fd fd = plain_socket();
    put(fd, hello_bytes() + patched(good, at, static_cast<unsigned char>(good[at]) ^ 0x41u));
    // A longer header or bulk would be waited for, so the server may be waiting: end the stream.
    ::shutdown(fd.get(), SHUT_WR);
    read_to_end(fd);
  }
  expect_alive();
}

TEST_P(HostileTest, FramesOutOfOrderAreRefused) {
  for (const auto& bytes : {frame_bytes(head_of(FrameKind::request), {}), frame_bytes(head_of(FrameKind::goodbye), {}),
                            hello_bytes() + hello_bytes()}) {
    listener_.reset();
    serve_and_watch();
    const Fd fd = plain_socket();
    put(fd, bytes);
    read_to_end(fd);
    reactor_->run([&] { listener_.reset(); });
  }
}

TEST_P(HostileTest, AnswersToNothingAreIgnored) {
  serve_and_watch();
  const Fd fd = plain_socket();
  put(fd, hello_bytes() + frame_bytes(head_of(FrameKind::reply, 77), {}) + frame_bytes(head_of(FrameKind::error, 78), {}) +
              frame_bytes(head_of(FrameKind::request, 5), as_bytes("question")) + frame_bytes(head_of(FrameKind::goodbye), {}));
  const auto answer = read_to_end(fd);
  EXPECT_EQ(closed_.get().code(), Code::cancelled) << closed_.get().to_string();
  expect_alive();
}

/// Its kernel resets the connection, because something was not read.
TEST_P(HostileTest, AGoodbyeCountsThoughTheNextMessageCannotBeSent) {
  serve_and_watch();
  Fd leaving = plain_socket();
  put(leaving, hello_bytes());
  const ConnectionPtr connection = accepted_.get();
  reactor_->run([&] { connection->notify(1, text_payload("not read")); });
  reactor_->run([&] {
    put(leaving, frame_bytes(head_of(FrameKind::goodbye), {}));
    leaving.reset();
    connection->notify(1, text_payload("to nobody"));
  });
  EXPECT_EQ(closed_.get().code(), Code::cancelled) << closed_.get().to_string();
  expect_alive();
}

TEST_P(HostileTest, AMalformedErrorReplyIsAnErrorAllTheSame) {
  const auto parts = split_endpoint(any_endpoint().text).value();
  const Fd listening = listen_on(resolve_blocking(parts).value().front()).value();
  const Endpoint endpoint{parts.path.empty() ? local_address(listening.get()).to_string() : any_endpoint().text};
  Awaited<Error> failed;
  reactor_->post([&] {
    reactor_->connect(endpoint, kLong, {}, {}, [&](Result<ConnectionPtr> connection) {
      (*connection)->request(1, {}, kLong, [&](Result<Message> reply) { failed.set(reply.error()); });
    });
  });
  pollfd ready{listening.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, 30'000), 1);
  const Fd accepted(::accept(listening.get(), nullptr, nullptr));
  put(accepted, hello_bytes());
  char first = 0;
  std::size_t sent = 0;  // the client's request has left when more than its hello has arrived
  while (sent < kFixedSize * 2 && ::recv(accepted.get(), &first, 1, 0) == 1) ++sent;
  put(accepted, frame_bytes(head_of(FrameKind::error), as_bytes("this is no Cap'n Proto")));
  EXPECT_EQ(failed.get().code(), Code::corrupt);
}

TEST_P(HostileTest, APeerThatDiesWithinAMessageIsReported) {
  serve_and_watch();
  {
    const Fd fd = plain_socket();
    put(fd,
        hello_bytes() + frame_bytes(head_of(FrameKind::request), as_bytes("header"), std::string(100'000, 'x')).substr(0, 50'000));
    accepted_.get();
  }
  const auto error = closed_.get();
  EXPECT_EQ(error.code(), Code::unavailable);
  expect_alive();
}

TEST_P(HostileTest, AHugeAnnouncedLengthIsRefusedWithoutWaiting) {
  for (const bool in_header : {true, false}) {
    Limits limits;
    limits.max_header = 1u << 20;
    serve_and_watch(limits);
    closed_.clear();
    FrameHead head = head_of(FrameKind::request);
    auto fixed = std::string(as_chars(encode_head(head, {})));
    for (std::size_t i = in_header ? 16 : 24; i < (in_header ? 20u : 31u); ++i) fixed[i] = '\x7f';
    const Fd fd = plain_socket();
    put(fd, hello_bytes() + fixed);
    read_to_end(fd);
    EXPECT_EQ(closed_.get().code(), Code::corrupt);
    reactor_->run([&] { listener_.reset(); });
  }
}

TEST_P(HostileTest, BytesThatTrickleInAreAssembled) {
  serve_and_watch();
  const Fd fd = plain_socket();
  const auto bytes = hello_bytes() + frame_bytes(head_of(FrameKind::request, 9), as_bytes("slow header"), "slow bulk");
  for (const char byte : bytes) put(fd, std::string_view(&byte, 1));
  ::shutdown(fd.get(), SHUT_WR);
  EXPECT_EQ(closed_.get().code(), Code::unavailable);
  EXPECT_NE(read_to_end(fd).find("slow headerslow bulk"), std::string::npos);
}

TEST_P(HostileTest, ASilentPeerIsDroppedAfterTheHandshakeTimeout) {
  Limits limits;
  limits.handshake_timeout = std::chrono::milliseconds(20);
  serve_and_watch(limits);
  const Fd fd = plain_socket();
  put(fd, hello_bytes().substr(0, 20));
  read_to_end(fd);
  expect_alive();
}

TEST_P(HostileTest, APeerThatNeverReadsIsDisconnectedNotBuffered) {
  Limits limits;
  limits.max_queued = 1u << 20;
  serve_and_watch(limits);
  const Fd fd = plain_socket();
  const auto question = frame_bytes(head_of(FrameKind::request), as_bytes(std::string(50'000, 'q')));
  put(fd, hello_bytes());
  const timeval patience{1, 0};  // while the server holds back there is nothing to wait for
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  for (int i = 0; i < 200'000; ++i) {
    if (::send(fd.get(), question.data(), question.size(), MSG_NOSIGNAL) < static_cast<ssize_t>(question.size())) break;
  }
  EXPECT_EQ(closed_.get().code(), Code::resource_exhausted);
  expect_alive();
}

TEST_P(HostileTest, AMessageThatIsBegunAndNotGoneOnWithEndsTheConnection) {
  Limits limits;
  limits.frame_timeout = std::chrono::milliseconds(50);
  serve_and_watch(limits);
  const auto message = frame_bytes(head_of(FrameKind::request), as_bytes("header"), std::string(100'000, 'x'));
  for (const std::size_t sent : {std::size_t{1}, kFixedSize, kFixedSize + 3, std::size_t{90'000}}) {
    closed_.clear();
    const Fd fd = plain_socket();
    put(fd, hello_bytes() + message + message.substr(0, sent));
    read_to_end(fd);
    EXPECT_EQ(closed_.get().code(), Code::deadline_exceeded) << closed_.get().to_string();
  }
  expect_alive();
}

TEST_P(HostileTest, AByteNowAndThenDoesNotProlongAMessage) {
  Limits limits;
  limits.frame_timeout = std::chrono::milliseconds(200);
  serve_and_watch(limits);
  const Fd fd = plain_socket();
  put(fd, hello_bytes());
  const auto message = frame_bytes(head_of(FrameKind::request), as_bytes(std::string(10'000, 'h')));
  std::size_t sent = 0;
  pollfd hung_up{fd.get(), POLLRDHUP, 0};
  while (sent < message.size() && ::poll(&hung_up, 1, 5) == 0) put(fd, message.substr(sent++, 1));
  EXPECT_LT(sent, message.size());
  EXPECT_EQ(closed_.get().code(), Code::deadline_exceeded);
  expect_alive();
}

TEST_P(HostileTest, AConnectionWithoutAMessageUnderWayMayBeSilentForLong) {
  Limits limits;
  limits.frame_timeout = std::chrono::milliseconds(10);
  serve_and_watch(limits);
  const auto client = connect_client({}, limits);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(call(client, text_payload("again")));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

TEST_P(HostileTest, AnyNumberOfSilentStrangersKeepsNobodyOut) {
  raise_descriptor_limit();
  serve_and_watch();
  std::vector<Fd> strangers;
  for (int i = 0; i < 600; ++i) strangers.push_back(plain_socket());
  expect_alive();
  read_to_end(strangers.front());  // made place
  for (int i = 0; i < 600; ++i) strangers.push_back(plain_socket());
  expect_alive();
}

TEST_P(HostileTest, WhoSpeaksAtOnceGetsInAmongStrangersHoweverManyComeAfter) {
  raise_descriptor_limit();
  serve_and_watch();
  std::vector<Fd> strangers;
  const Fd honest = plain_socket();
  put(honest, hello_bytes() + frame_bytes(head_of(FrameKind::request, 5), as_bytes("question")));
  for (int i = 0; i < 600; ++i) strangers.push_back(plain_socket());
  ::shutdown(honest.get(), SHUT_WR);
  EXPECT_NE(read_to_end(honest).find("question"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Rpc, HostileTest, ::testing::Values(Transport::tcp, Transport::unix_socket), transport_name);

}  // namespace
}  // namespace weft::rpc::testing
