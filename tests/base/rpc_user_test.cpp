// Who may connect over loopback where nothing is encrypted: processes of the same user, and root.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rpc/peer_user.hpp"
#include "base/rpc/socket.hpp"
#include "tests/base/rpc_fixture.hpp"

namespace weft::rpc::testing {
namespace {

constexpr uid_t kOther = 65534;

/// Runs `what` as another user, in a process of its own; its exit code.
template <class What>
int as_other_user(What what) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::setresuid(kOther, kOther, kOther) == 0 ? what() : 99);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class UserTest : public ::testing::TestWithParam<const char*> {
 protected:
  UserTest() : listening_(listen_on(Address::numeric(GetParam(), "0").value()).value()), at_(local_address(listening_.get())) {}

  Fd dial() const {
    Fd socket(::socket(at_.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.get(), at_.get(), at_.size), 0);
    return socket;
  }
  Fd accept() const {
    timeval longest{30, 0};
    while (true) {
      Fd socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (socket.valid()) return socket;
      fd_set ready;
      FD_ZERO(&ready);
      FD_SET(listening_.get(), &ready);
      if (::select(listening_.get() + 1, &ready, nullptr, nullptr, &longest) != 1) return Fd();
    }
  }

  const Fd listening_;
  const Address at_;
};

TEST_P(UserTest, TheKernelSaysWhoseTheOtherEndIs) {
  const Fd mine = dial(), theirs = accept();
  EXPECT_TRUE(is_over_loopback(mine.get()));
  EXPECT_EQ(user_of_peer(theirs.get()), std::optional(::geteuid()));
  EXPECT_EQ(user_of_peer(mine.get()), std::optional(::geteuid()));
}

TEST_P(UserTest, ASocketThatWasClosedIsNobodys) {
  { const Fd gone = dial(); }
  EXPECT_EQ(user_of_peer(accept().get()), std::nullopt);  // the kernel would call it root's
  EXPECT_FALSE(may_talk(std::nullopt, Side::accepted));
}

TEST_P(UserTest, AnotherUsersSocketIsKnownAsHis) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  int wait[2];
  ASSERT_EQ(::pipe(wait), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresuid(kOther, kOther, kOther) != 0) ::_exit(1);
    const Fd socket(::socket(at_.family(), SOCK_STREAM, 0));
    if (::connect(socket.get(), at_.get(), at_.size) != 0) ::_exit(1);
    char byte = 0;
    ::close(wait[1]);
    ::_exit(::read(wait[0], &byte, 1) == 0 ? 0 : 1);
  }
  ::close(wait[0]);
  EXPECT_EQ(user_of_peer(accept().get()), std::optional(kOther));
  ::close(wait[1]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

INSTANTIATE_TEST_SUITE_P(Loopback, UserTest, ::testing::Values("127.0.0.1", "::1"),
                         [](const auto& each) { return std::string(each.param[0] == ':' ? "v6" : "v4"); });

/// "": it was let in.
std::string refusal_of(const Endpoint& endpoint, const Security& security) {
  const auto reactor = Reactor::start("other", security);
  const auto connected = connect(*reactor, endpoint, kLong);
  std::string why = connected ? "" : connected.error().to_string();
  reactor->stop();
  return why;
}

class OtherUserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  }
};

/// A server in a process of its own, as the user; what connecting to it as `client` gives.
int serve_as(uid_t server, Security security, const std::function<int(const Endpoint&)>& client,
             const std::string& where = "127.0.0.1:0") {
  int address[2], end[2];
  EXPECT_EQ(::pipe(address), 0);
  EXPECT_EQ(::pipe(end), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(end[1]);
    if (::setresuid(server, server, server) != 0) ::_exit(1);
    const auto reactor = Reactor::start("server", std::move(security));
    std::unique_ptr<Listener> listener;
    reactor->run([&] { listener = reactor->listen({where}, {}, [](const auto&) { return echo_handler(); }).value(); });
    const std::string text = listener->endpoint().text;
    if (::write(address[1], text.data(), text.size()) < 0) ::_exit(1);
    char byte = 0;
    (void)!::read(end[0], &byte, 1);
    ::_exit(0);
  }
  ::close(end[0]);
  char text[64];
  const ssize_t size = ::read(address[0], text, sizeof text);
  const int result = client(Endpoint{std::string(text, static_cast<std::size_t>(std::max<ssize_t>(size, 0)))});
  ::close(end[1]);
  ::close(address[0]);
  ::close(address[1]);
  ::waitpid(child, nullptr, 0);
  return result;
}

/// A name as workers have it for those of their machine.
std::string name_without_file() { return "unix:@weft-test-" + std::to_string(::getpid()); }

TEST_F(OtherUserTest, IsRefusedAtANameWithoutAFile) {
  const auto client = [](const Endpoint& to) { return as_other_user([&] { return refusal_of(to, {}).empty() ? 1 : 7; }); };
  EXPECT_EQ(serve_as(0, {}, client, name_without_file()), 7);
}

TEST_F(OtherUserTest, IsNotTakenForTheOneWhoseNameWithoutAFileHeHasTaken) {
  const auto client = [](const Endpoint& to) {
    const std::string why = refusal_of(to, {.credentials = {}, .insecure = true});
    return why.find("another user of this machine listens there") != std::string::npos ? 7 : 1;
  };
  EXPECT_EQ(serve_as(kOther, {}, client, name_without_file()), 7);
}

TEST_F(OtherUserTest, IsRefusedInALine) {
  const int refused = serve_as(0, {}, [](const Endpoint& to) {
    return as_other_user([&] {
      const std::string why = refusal_of(to, {});
      return why.find("this process serves the user who runs it only") != std::string::npos ? 7 : 1;
    });
  });
  EXPECT_EQ(refused, 7);
}

TEST_F(OtherUserTest, IsNotTakenForTheMasterThatWasMeant) {
  const int refused = serve_as(kOther, {}, [](const Endpoint& to) {
    return [&] {
      const pid_t child = ::fork();
      if (child == 0) {
        if (::setresuid(kOther - 1, kOther - 1, kOther - 1) != 0) ::_exit(99);
        const std::string why = refusal_of(to, {});
        // Both sides refuse; which one is quicker is not decided.
        ::_exit(why.find("another user of this machine") != std::string::npos || why.find("serves the user") != std::string::npos
                    ? 7
                    : 1);
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      return WEXITSTATUS(status);
    }();
  });
  EXPECT_EQ(refused, 7);
}

TEST_F(OtherUserTest, OfAnInsecureServerIsLetIn) {
  const int in =
      serve_as(0, {{}, true}, [](const Endpoint& to) { return as_other_user([&] { return refusal_of(to, {}).empty() ? 7 : 1; }); });
  EXPECT_EQ(in, 7);
}

/// A worker of root would run programs for whoever has taken its master's port.
TEST_F(OtherUserTest, IsNotTakenForTheMasterOfRoot) {
  const auto refusal = [](const Endpoint& to) {
    return refusal_of(to, {}).find("another user of this machine runs the process there") != std::string::npos ? 7 : 1;
  };
  EXPECT_EQ(serve_as(kOther, {}, refusal), 7);
}

TEST_F(OtherUserTest, RootIsLetInWhereItSaysThatItTrustsAnybody) {
  EXPECT_EQ(serve_as(kOther, {}, [](const Endpoint& to) { return refusal_of(to, {{}, true}).empty() ? 7 : 1; }), 7);
}

TEST(Listening, BeyondLoopbackNeedsAnIdentityOrInsecureByName) {
  const auto listen = [](Security security) -> Result<void> {
    const auto reactor = Reactor::start("server", std::move(security));
    Result<void> done;
    reactor->run([&] {
      auto listener = reactor->listen({"0.0.0.0:0"}, {}, [](const auto&) { return Handler{}; });
      if (!listener) done = fail(std::move(listener).error());
    });
    reactor->stop();
    return done;
  };
  const auto refused = listen({});
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().to_string().find("weft security init"), std::string::npos);
  EXPECT_NE(refused.error().to_string().find("--insecure"), std::string::npos);
  EXPECT_TRUE(listen({{}, true}).has_value());
}

}  // namespace
}  // namespace weft::rpc::testing
