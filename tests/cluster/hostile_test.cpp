// Peers that speak badly to the master's port and to a worker's data port: they are disconnected, the service goes on.
#include <algorithm>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/fd.hpp"
#include "base/rpc/descriptors.hpp"
#include "base/rpc/frame.hpp"
#include "base/sanitized.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "runtime/protocol/worker.hpp"
#include "tests/cluster/cluster.hpp"

namespace weft::test {
namespace {

/// A plain connection; invalid when there is none.
Fd connected_to(const std::string& address) {
  Fd socket_fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
  return connect(socket_fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0 ? std::move(socket_fd) : Fd();
}

/// Sends the bytes and reads until the peer closes; false when it does not within the socket's timeout.
bool is_disconnected_after(const std::string& address, const std::string& bytes) {
  const Fd socket_fd = connected_to(address);
  if (!socket_fd.valid()) return false;
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
    const std::set<unsigned> without_body = {client::kListJobs,      client::kListNodes,   client::kListGroups,
                                             client::kShowScheduler, client::kListMasters, runtime::protocol::kPresence};
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

std::string hello_bytes() {
  const Buffer header = rpc::encode_hello({"a stranger", {0, 0}});
  rpc::FrameHead head;
  head.header_length = static_cast<std::uint32_t>(header.size());
  const auto fixed = rpc::encode_head(head, header.view());
  return std::string(as_chars(fixed)) + std::string(as_chars(header.view()));
}

/// Connections that send `greeting`, and then nothing.
std::vector<Fd> strangers(const std::string& address, int count, const std::string& greeting) {
  std::vector<Fd> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(connected_to(address));
    if (all.back().valid()) (void)!send(all.back().get(), greeting.data(), greeting.size(), MSG_NOSIGNAL);
  }
  return all;
}

void bound_descriptors(const Process& process, rlim_t most) {
  const rlimit limit{most, 1024};  // the hard one, too: it cannot be raised
  ASSERT_EQ(prlimit(process.pid(), RLIMIT_NOFILE, &limit, nullptr), 0);
}

std::uint64_t resident_bytes(const Process& process) {
  std::istringstream statm(read_file("/proc/" + std::to_string(process.pid()) + "/statm"));
  std::uint64_t pages = 0;
  statm >> pages >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::size_t open_descriptors(const Process& process) { return entries("/proc/" + std::to_string(process.pid()) + "/fd").size(); }

bool hung_up(const Fd& fd) {
  pollfd ended{fd.get(), POLLRDHUP, 0};
  return poll(&ended, 1, 0) == 1;
}

/// A cluster whose master and worker may open 1024 descriptors each, with a job that runs until finish().
class AmongStrangers : public testing::TestWithParam<bool> {
 protected:
  AmongStrangers() {
    rpc::raise_descriptor_limit();
    bound_descriptors(cluster_.master(), 1024);
    bound_descriptors(cluster_.worker(0), 1024);
    running_ = std::make_unique<Process>(cluster_.job({"hold", "--records", "3000", "--marker", marker_}), cluster_.options());
    EXPECT_TRUE(eventually([&] { return access((marker_ + ".held").c_str(), F_OK) == 0; })) << running_->err_so_far();
  }
  void finish() {
    write_file(marker_ + ".go", "");
    const ProcessResult result = running_->wait();
    EXPECT_EQ(result.out, expected_sums(3000)) << result.err;
  }

  Cluster cluster_{1};
  const std::string marker_ = cluster_.scratch() / "marker";
  std::unique_ptr<Process> running_;
};

TEST_P(AmongStrangers, NewcomersGetInAndJobsGoOn) {
  const std::string greeting = GetParam() ? hello_bytes() : "";
  const std::string data = data_address(cluster_);
  std::vector<std::vector<Fd>> crowds;
  for (const int count : {600, 600, 1200}) {
    for (const std::string& address : {cluster_.address(), data}) crowds.push_back(strangers(address, count, greeting));
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(cluster_.has_nodes(1));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
    for (Process* process : {&cluster_.master(), &cluster_.worker(0)})
      EXPECT_LT(open_descriptors(*process), 900u) << "a quarter of 1024 is kept in reserve";
  }
  Process& joining = cluster_.add_worker({"--share", "false"});
  EXPECT_TRUE(cluster_.has_nodes(2)) << joining.err_so_far();
  EXPECT_EQ(run(cluster_.job({"sums", "--records", "3000"})).out, expected_sums(3000));
  finish();
  EXPECT_LT(cluster_.master().err_so_far().size(), 20'000u) << "lines about strangers are counted, not written";
  EXPECT_LT(cluster_.worker(0).err_so_far().size(), 20'000u);
}

INSTANTIATE_TEST_SUITE_P(Silent, AmongStrangers, testing::Bool(),
                         [](const auto& of) { return of.param ? "AfterTheHandshake" : "FromTheFirstByte"; });

TEST(HostilePeers, GiveTheirDescriptorsBackWhenNoneAreLeft) {
  Cluster cluster(1);
  const auto crowd = strangers(cluster.address(), 300, "");
  ASSERT_TRUE(eventually([&] { return open_descriptors(cluster.master()) > crowd.size(); }));
  bound_descriptors(cluster.master(), 64);  // fewer than are open: accept() has none to give
  EXPECT_TRUE(cluster.has_nodes(1));
  EXPECT_TRUE(hung_up(crowd.front())) << "the oldest goes first";
  EXPECT_FALSE(hung_up(crowd.back()));
  bound_descriptors(cluster.master(), 1024);
  EXPECT_EQ(run(cluster.job({"sums", "--records", "3000"})).out, expected_sums(3000));
}

TEST(HostilePeers, SendingAByteASecondAreCutOff) {
  Cluster cluster(1);
  const std::string data = data_address(cluster);
  rpc::FrameHead head;
  head.kind = rpc::FrameKind::request;
  const std::string header(10'000, 'h');
  head.header_length = static_cast<std::uint32_t>(header.size());
  const auto fixed = rpc::encode_head(head, as_bytes(header));
  std::vector<Fd> slow;
  for (const std::string& address : {cluster.address(), data})
    for (Fd& fd : strangers(address, 20, hello_bytes() + std::string(as_chars(fixed)))) slow.push_back(std::move(fd));
  std::string answer(4096, '\0');
  for (const Fd& fd : slow) ASSERT_GT(recv(fd.get(), answer.data(), answer.size(), 0), 0);  // its hello
  EXPECT_TRUE(eventually(
      [&] {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        for (const Fd& fd : slow) (void)!send(fd.get(), "h", 1, MSG_NOSIGNAL);
        return std::all_of(slow.begin(), slow.end(), hung_up);
      },
      std::chrono::seconds(60)));
  EXPECT_NE(cluster.master().err_so_far().find("did not go on with it"), std::string::npos) << cluster.master().err_so_far();
  EXPECT_EQ(run(cluster.job({"sums", "--records", "3000"})).out, expected_sums(3000));
}

TEST(HostilePeers, LeaveNoMemoryBehind) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer keeps what is freed";
  rpc::raise_descriptor_limit();
  Cluster cluster(0);
  const std::size_t descriptors = open_descriptors(cluster.master());
  const std::uint64_t before = resident_bytes(cluster.master());
  for (int round = 0; round < 4; ++round) {
    auto crowd = strangers(cluster.address(), 1500, hello_bytes());
    ASSERT_TRUE(eventually([&] { return open_descriptors(cluster.master()) >= descriptors + crowd.size(); }));
    crowd.clear();
    ASSERT_TRUE(eventually([&] { return open_descriptors(cluster.master()) <= descriptors; }));
  }
  // A part of what was freed stays with the allocator: 5.3 MB on a busy machine.
  EXPECT_TRUE(eventually([&] { return resident_bytes(cluster.master()) < before + (8u << 20); }))
      << resident_bytes(cluster.master()) << " bytes, " << before << " before";
}

}  // namespace
}  // namespace weft::test
