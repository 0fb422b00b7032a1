// Peers that speak badly to the master's port and to a worker's data port: they are disconnected, the service goes on.
#include <random>
#include <set>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/fd.hpp"
#include "engine/client/protocol.hpp"
#include "runtime/protocol/worker.hpp"
#include "tests/cluster/cluster.hpp"

namespace weft::test {
namespace {

/// Sends the bytes and reads until the peer closes; false when it does not within the socket's timeout.
bool is_disconnected_after(const std::string& address, const std::string& bytes) {
  const Fd socket_fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
  if (connect(socket_fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) return false;
  const timeval patience{30, 0};
  setsockopt(socket_fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  (void)!send(socket_fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  char buffer[4096];
  ssize_t got;
  while ((got = recv(socket_fd.get(), buffer, sizeof buffer, 0)) > 0) {
  }
  return got == 0 || errno == ECONNRESET;
}

std::string noise(unsigned seed, std::size_t size) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

std::string data_address(Cluster& cluster) {
  const std::string nodes = cluster.admin({"node", "list", "--json"}).out;
  const auto at = nodes.find("127.0.0.1:");
  return at == std::string::npos ? "" : nodes.substr(at, nodes.find('"', at) - at);
}

TEST(HostilePeers, SendingNoiseAreDisconnectedFromMasterAndWorker) {
  Cluster cluster(1);
  const std::string data = data_address(cluster);
  ASSERT_FALSE(data.empty());
  for (unsigned seed = 1; seed <= 20; ++seed) {
    EXPECT_TRUE(is_disconnected_after(cluster.address(), noise(seed, 300))) << "seed " << seed;
    EXPECT_TRUE(is_disconnected_after(data, noise(seed, 300))) << "seed " << seed;
  }
  EXPECT_TRUE(
      is_disconnected_after(cluster.address(), "GET / HTTP/1.1\r\nHost: a\r\nAccept: text/html,application/xhtml+xml\r\n\r\n"));
  EXPECT_EQ(run(cluster.job({"sums", "--records", "3000"})).out, expected_sums(3000));
}

/// A peer that shakes hands well and then sends bodies that are none.
TEST(HostilePeers, SendingMalformedMessagesGetErrorsAndTheMasterGoesOn) {
  Cluster cluster(1);
  auto reactor = rpc::Reactor::start("hostile");
  auto endpoint = rpc::Endpoint::parse(cluster.address());
  ASSERT_TRUE(endpoint.has_value());
  for (unsigned type = 0; type < 330; ++type) {
    auto connection = rpc::connect(*reactor, *endpoint, std::chrono::seconds(10));
    ASSERT_TRUE(connection.has_value()) << connection.error().to_string();
    const std::string body = noise(type, 64);
    rpc::Payload request{Buffer::copy_of(as_bytes(body)), {}, {}};
    auto answer =
        rpc::call(*reactor, *connection, static_cast<rpc::MessageType>(type), std::move(request), std::chrono::seconds(10));
    const std::set<unsigned> without_body = {client::kListJobs, client::kListNodes, client::kListGroups, client::kShowScheduler};
    EXPECT_EQ(answer.has_value(), without_body.contains(type)) << "type " << type;
    reactor->run([&] {
      (*connection)->notify(static_cast<rpc::MessageType>(type == 0 ? 1 : type), {Buffer::copy_of(as_bytes(body)), {}, {}});
      (*connection)->close();
    });
  }
  reactor->stop();
  EXPECT_EQ(run(cluster.job({"sums", "--records", "3000"})).out, expected_sums(3000));
  EXPECT_TRUE(cluster.has_nodes(1));
}

}  // namespace
}  // namespace weft::test
