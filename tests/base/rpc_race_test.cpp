// Connecting to one of several addresses: which one it is, when the next one is tried, and what is left of the others.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include "base/rpc/await.hpp"
#include "base/rpc/frame.hpp"
#include "base/rpc/socket.hpp"
#include "base/text.hpp"
#include "tests/base/rpc_fixture.hpp"

namespace weft::rpc::testing {
namespace {

using namespace std::chrono_literals;
constexpr Duration kLater = 1h;  // a deadline that ends nothing while a test waits

std::string address_of(int fd) { return local_address(fd).to_string(); }

/// A port that is bound and refuses connections, as that of a standby does.
class Refusing {
 public:
  Refusing() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const Address any = *Address::numeric("127.0.0.1", "0");
    EXPECT_EQ(::bind(socket_.get(), any.get(), any.size), 0);
  }
  std::string address() const { return address_of(socket_.get()); }

 private:
  Fd socket_;
};

/// A port whose kernel makes connections, as that of a stopped process does.
class Silent {
 public:
  explicit Silent(int backlog = 64) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const Address any = *Address::numeric("127.0.0.1", "0");
    EXPECT_EQ(::bind(socket_.get(), any.get(), any.size), 0);
    EXPECT_EQ(::listen(socket_.get(), backlog), 0);
  }
  std::string address() const { return address_of(socket_.get()); }
  /// The next connection, with what it has sent.
  Fd accept() const {
    pollfd ready{socket_.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&ready, 1, 30'000), 1) << "nobody connects";
    return Fd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  /// True when nobody has connected.
  bool untouched() const {
    pollfd ready{socket_.get(), POLLIN, 0};
    return ::poll(&ready, 1, 0) == 0;
  }

 private:
  Fd socket_;
};

/// Waits for the end of a connection, past what was sent on it.
bool ends(const Fd& connection) {
  std::array<char, 4096> bytes;
  while (true) {
    pollfd ready{connection.get(), POLLIN, 0};
    if (::poll(&ready, 1, 30'000) != 1) return false;
    if (::read(connection.get(), bytes.data(), bytes.size()) <= 0) return true;
  }
}

/// Takes a connection and says that it speaks another protocol.
void answer_with_another_version(const Silent& at) {
  const Fd connection = at.accept();
  const Buffer hello = encode_hello({"weft 99", {}});
  FrameHead head;
  head.version = kFrameVersion + 1;
  head.header_length = static_cast<std::uint32_t>(hello.size());
  const FixedPart fixed = encode_head(head, hello.view());
  EXPECT_EQ(::write(connection.get(), fixed.data(), fixed.size()), static_cast<ssize_t>(fixed.size()));
  EXPECT_EQ(::write(connection.get(), hello.data(), hello.size()), static_cast<ssize_t>(hello.size()));
  EXPECT_TRUE(ends(connection));
}

class RaceTest : public ::testing::Test {
 protected:
  ~RaceTest() override {
    reactor_->stop();
    serving_->run([this] { listeners_.clear(); });
    serving_->stop();
  }

  /// The address of one that answers requests with `name`.
  std::string serve(const std::string& name) {
    std::string address;
    serving_->run([&] {
      Handler handler;
      handler.on_request = [name](const ConnectionPtr&, const Message&, Responder responder) {
        responder.reply(text_payload(name));
      };
      listeners_.push_back(serving_->listen({"127.0.0.1:0"}, {}, [handler](const ConnectionPtr&) { return handler; }).value());
      address = listeners_.back()->endpoint().text;
    });
    return address;
  }
  static Endpoint list(const std::vector<std::string>& addresses) { return Endpoint::parse_list(join(addresses, ",")).value(); }
  Result<ConnectionPtr> connect(const std::vector<std::string>& addresses, Duration deadline = kLong, Handler handler = {}) {
    return rpc::connect(*reactor_, list(addresses), deadline, std::move(handler));
  }
  /// A machine that is busy may need more than a quarter of a second for a handshake, but not each time.
  static void expect_untouched_at_last(const std::function<void(const Silent&)>& connects) {
    for (int round = 0; round < 20; ++round) {
      const Silent other;
      connects(other);
      if (other.untouched()) return;
    }
    ADD_FAILURE() << "it was asked each time";
  }
  /// The name of who answered.
  std::string winner(const Result<ConnectionPtr>& connected) {
    if (!connected) return connected.error().to_string();
    const auto reply = rpc::call(*reactor_, *connected, 7, text_payload("who?"), kLong);
    return reply ? text_of(*reply) : reply.error().to_string();
  }

  std::unique_ptr<Reactor> serving_ = Reactor::start("serving"), reactor_ = Reactor::start("connecting");
  std::vector<std::unique_ptr<Listener>> listeners_;
};

TEST(EndpointLists, HaveUpToSixteenAddressesAndNameTheOneThatIsWrong) {
  std::vector<std::string> many;
  for (int i = 1; i <= 16; ++i) many.push_back("m" + std::to_string(i) + ":7077");
  const auto full = Endpoint::parse_list(join(many, ","));
  ASSERT_TRUE(full) << full.error().to_string();
  EXPECT_EQ(full->alternatives, many);
  EXPECT_EQ(full->text, join(many, ","));
  const auto again = Endpoint::parse_list(join(many, " , ") + ",m3:7077");
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(again->alternatives, many) << "twice is once";
  many.emplace_back("[::1]:17");
  const auto over = Endpoint::parse_list(join(many, ","));
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code(), Code::invalid_argument);
  EXPECT_EQ(over.error().message(), "'[::1]:17' is an address too many: a list has 16 at most");

  const auto one = Endpoint::parse_list("a:1,a:1");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->text, "a:1");
  EXPECT_TRUE(one->alternatives.empty()) << "it may be listened on";
  for (const auto& [text, wrong] : {std::pair("a:1,b,c:3", "'b'"), std::pair("a:1,", "''"), std::pair("", "''"),
                                    std::pair("a:1,::1:7", "'::1:7'"), std::pair("a:1;b:2,c:3", "'a:1;b:2'")}) {
    const auto refused = Endpoint::parse_list(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code(), Code::invalid_argument);
    EXPECT_EQ(refused.error().message().find(std::string(wrong) + " is not an address"), 0u) << refused.error().message();
  }
  EXPECT_FALSE(Endpoint::parse("a:1,b:2")) << "where one address is meant";
}

TEST_F(RaceTest, NobodyListensOnAList) {
  serving_->run([this] {
    const auto refused = serving_->listen(list({"127.0.0.1:0", "localhost:0"}), {}, [](const ConnectionPtr&) { return Handler(); });
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::invalid_argument);
    EXPECT_EQ(refused.error().message(), "'127.0.0.1:0,localhost:0' are several addresses; listen on one");
  });
}

TEST_F(RaceTest, TheFirstIsTakenWhenItAnswersAndTheOthersAreNotAsked) {
  const std::string first = serve("first");
  expect_untouched_at_last([&](const Silent& other) { EXPECT_EQ(winner(connect({first, other.address()})), "first"); });
}

TEST_F(RaceTest, OneThatRefusesIsPassedOverAtOnce) {
  std::vector<Refusing> standbys(14);
  std::vector<std::string> addresses;
  for (const Refusing& standby : standbys) addresses.push_back(standby.address());
  addresses.push_back(serve("leader"));
  expect_untouched_at_last([&](const Silent& last) {
    auto all = addresses;
    all.push_back(last.address());
    EXPECT_EQ(winner(connect(all)), "leader");
  });
}

TEST_F(RaceTest, OneThatAcceptsAndSaysNothingIsOvertakenAndClosed) {
  const Silent stopped;
  const auto connected = connect({stopped.address(), serve("leader")}, kLater);
  EXPECT_EQ(winner(connected), "leader");
  EXPECT_TRUE(ends(stopped.accept()));
  EXPECT_EQ(winner(connected), "leader") << "the end of the other one is none of it";
}

TEST_F(RaceTest, OneThatRefusedIsAskedAgainWhileAnotherSaysNothing) {
  const Silent stopped;
  const std::string standby = serve("standby");
  serving_->run([this] { listeners_.clear(); });
  Awaited<ConnectionPtr> connected;
  reactor_->run([&] {
    reactor_->connect(list({standby, stopped.address()}), kLater, {}, {}, [&](const Result<ConnectionPtr>& result) {
      ASSERT_TRUE(result) << result.error().to_string();
      connected.set(*result);
    });
  });
  const Fd asked = stopped.accept();  // so the other one has refused
  serving_->run([&] {
    Handler handler;
    handler.on_request = [](const ConnectionPtr&, const Message&, Responder responder) { responder.reply(text_payload("leads")); };
    listeners_.push_back(serving_->listen({standby}, {}, [handler](const ConnectionPtr&) { return handler; }).value());
  });
  EXPECT_EQ(winner(connected.get()), "leads");
  EXPECT_TRUE(ends(asked));
}

TEST_F(RaceTest, OneWhoseMachineSaysNothingIsOvertaken) {
  const Silent hole(0);  // its backlog holds one connection, and the kernel drops what more there comes
  std::vector<Fd> full;
  for (int i = 0; i < 4; ++i) {
    full.push_back(std::move(open_socket(AF_INET)).value());
    const std::string address = hole.address();
    const Address to = *Address::numeric("127.0.0.1", address.substr(address.rfind(':') + 1));
    (void)::connect(full.back().get(), to.get(), to.size);
  }
  EXPECT_EQ(winner(connect({hole.address(), serve("leader")})), "leader");
}

TEST_F(RaceTest, NamesThatAreNotKnownArePassedOver) {
  EXPECT_EQ(winner(connect({"nowhere.invalid:7077", serve("leader")})), "leader");
}

TEST_F(RaceTest, WhoeverShakesHandsFirstIsTakenAndHasItsHandlerAlone) {
  const Silent slow;
  const Refusing standby;
  std::atomic<int> closed = 0;
  Awaited<ConnectionPtr> ended;
  Handler handler;
  handler.on_close = [&](const ConnectionPtr& connection, const Error&) {
    ++closed;
    ended.set(connection);
  };
  const auto connected = connect({slow.address(), standby.address(), serve("leader")}, kLater, handler);
  ASSERT_TRUE(connected);
  reactor_->run([&] { (*connected)->close(); });
  EXPECT_EQ(ended.get(), *connected);
  EXPECT_TRUE(ends(slow.accept()));
  reactor_->run([] {});
  EXPECT_EQ(closed, 1);
}

TEST_F(RaceTest, WhenAllFailOneLineHasTheReasonOfEach) {
  const Refusing a, b;
  const auto refused = connect({a.address(), "nowhere.invalid:7077", b.address()});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unavailable);
  const std::string line = refused.error().to_string();
  EXPECT_EQ(
      line.find("cannot connect to " + a.address() + " (Connection refused), nor to nowhere.invalid:7077 (cannot resolve host"), 0u)
      << line;
  EXPECT_NE(line.find("), nor to " + b.address() + " (Connection refused)"), std::string::npos) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos);

  const auto unknown = connect({"nowhere.invalid:1", "nobody.invalid:1"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), Code::not_found) << "which no other try will change";
}

TEST_F(RaceTest, AllHaveOneDeadline) {
  std::vector<Silent> stopped(16);
  std::vector<std::string> addresses;
  for (const Silent& one : stopped) addresses.push_back(one.address());
  const auto began = std::chrono::steady_clock::now();
  const auto late = connect(addresses, 2s);
  EXPECT_GE(std::chrono::steady_clock::now() - began, 2s);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), Code::deadline_exceeded);
  for (const std::string& address : addresses)
    EXPECT_NE(late.error().to_string().find(address + " (the peer says nothing"), std::string::npos) << late.error().to_string();
  for (const Silent& one : stopped) EXPECT_TRUE(ends(one.accept())) << "each was asked in time";
}

TEST_F(RaceTest, AnotherVersionDoesNotEndTheSearch) {
  const Silent old;
  std::thread answering([&] { answer_with_another_version(old); });
  EXPECT_EQ(winner(connect({old.address(), serve("leader")})), "leader");
  answering.join();
}

TEST_F(RaceTest, AnotherVersionIsTheErrorWhenNobodyElseAnswers) {
  const Refusing before, after;
  const Silent old;
  std::thread answering([&] { answer_with_another_version(old); });
  const auto refused = connect({before.address(), old.address(), after.address()});
  answering.join();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::version_mismatch);
  EXPECT_NE(refused.error().to_string().find("weft 99"), std::string::npos) << refused.error().to_string();
}

TEST_F(RaceTest, EndsWithItsReactor) {
  const Silent first, second;
  const auto doomed = Reactor::start("doomed");
  std::thread stopper;
  const auto result = await<ConnectionPtr>(*doomed, "connecting", [&](auto done) {
    doomed->connect(list({"nowhere.invalid:7077", first.address(), second.address()}), 1h, {}, {}, std::move(done));
    stopper = std::thread([&] {
      const Fd shaking_hands = first.accept();
      doomed->stop();
      EXPECT_TRUE(ends(shaking_hands));
    });
  });
  stopper.join();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::unavailable);
}

TEST_F(RaceTest, WhoAskedMayBeGoneWhenItIsDecided) {
  const Silent first;
  const auto doomed = Reactor::start("doomed");
  const std::string leader = serve("leader");
  auto alive = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = alive;
  Awaited<bool> decided;
  doomed->run([&] {
    doomed->connect(list({first.address(), leader}), kLater, {}, {}, [alive, &decided](const Result<ConnectionPtr>& connection) {
      if (connection) (*connection)->close();
      decided.set(connection.has_value());
    });
  });
  alive.reset();
  EXPECT_TRUE(decided.get());
  EXPECT_TRUE(ends(first.accept()));
  doomed->stop();
  EXPECT_TRUE(watched.expired()) << "nothing of it is left";
}

TEST_F(RaceTest, UnixSocketsMayBeInTheList) {
  const TempDir directory = TempDir::create().value();
  const std::string nobody = "unix:" + (directory.path() / "nobody").string();
  EXPECT_EQ(winner(connect({nobody, nobody + "2", serve("leader")})), "leader");
  const auto refused = connect({nobody, nobody + "2"});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().to_string().find("No such file or directory"), std::string::npos) << refused.error().to_string();
}

}  // namespace
}  // namespace weft::rpc::testing
