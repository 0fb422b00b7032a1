// What the tests of moving chunks share: workers in this process, a proxy that damages what passes, and the fixture.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "storage/transfer/chunk_client.hpp"
#include "storage/transfer/chunk_server.hpp"
#include "storage/transfer/wire.hpp"
#include "tests/storage/chunk_fixture.hpp"

namespace weft::storage {

/// A store behind a server with a thread of its own.
class Worker {
 public:
  explicit Worker(ChunkStoreOptions store, ChunkServerOptions options = {}, bool share = true)
      : reactor_(rpc::Reactor::start("worker")), store_(open_store(std::move(store))) {
    reactor_->run([&] {
      server_ = std::make_unique<ChunkServer>(*reactor_, *store_, options);
      auto listener =
          reactor_->listen({"127.0.0.1:0"}, chunk_limits(), [this](const rpc::ConnectionPtr&) { return server_->handler(); });
      ASSERT_TRUE(listener) << listener.error().to_string();
      listener_ = std::move(*listener);
      address_ = listener_->endpoint().text;
      if (share) {
        ASSERT_TRUE(server_->offer_to_neighbours(address_));
      }
    });
  }
  ~Worker() {
    reactor_->run([&] {
      listener_.reset();
      server_.reset();
    });
    reactor_->stop();
  }

  const std::string& address() const { return address_; }
  ChunkStore& store() { return *store_; }
  void forget(const std::string& address) {
    reactor_->run([&] { server_->forget(address, Error(Code::unavailable, "it was lost")); });
  }

  Result<ChunkWritten> copy(ChunkId id, const std::vector<std::string>& targets) {
    return copy({store_->find(id).value_or(ChunkInfo{id, 0, 0}), {}}, targets);
  }
  Result<ChunkWritten> copy(const ChunkLocation& chunk, const std::vector<std::string>& targets) {
    std::promise<Result<ChunkWritten>> done;
    reactor_->run(
        [&] { server_->copy_to(chunk, targets, [&](Result<ChunkWritten> written) { done.set_value(std::move(written)); }); });
    return done.get_future().get();
  }

 private:
  std::unique_ptr<rpc::Reactor> reactor_;
  std::unique_ptr<ChunkStore> store_;
  std::unique_ptr<ChunkServer> server_;
  std::unique_ptr<rpc::Listener> listener_;
  std::string address_;
};

/// Passes one connection after the other on to a worker and flips one bit of what comes from one side.
class DamagingProxy {
 public:
  DamagingProxy(const std::string& target, bool from_server, std::uint64_t bit) : from_server_(from_server), bit_(bit) {
    const auto port = static_cast<std::uint16_t>(std::stoi(target.substr(target.rfind(':') + 1)));
    target_.sin_family = AF_INET;
    target_.sin_port = htons(port);
    target_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&any), sizeof any), 0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
    socklen_t size = sizeof any;
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&any), &size);
    address_ = "127.0.0.1:" + std::to_string(ntohs(any.sin_port));
    thread_ = std::thread([this] { run(); });
  }
  ~DamagingProxy() {
    stop_ = true;
    thread_.join();
  }
  const std::string& address() const { return address_; }

 private:
  void run() {
    while (!stop_) {
      pollfd ready{listener_.get(), POLLIN, 0};
      if (::poll(&ready, 1, 20) <= 0) continue;
      const Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      const Fd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (::connect(server.get(), reinterpret_cast<sockaddr*>(&target_), sizeof target_) == 0) pass(client.get(), server.get());
    }
  }
  void pass(int client, int server) {
    std::vector<char> bytes(1u << 16);
    std::uint64_t passed = 0;
    while (!stop_) {
      pollfd both[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
      if (::poll(both, 2, 20) <= 0) continue;
      for (int side = 0; side < 2; ++side) {
        if (both[side].revents == 0) continue;
        const ssize_t got = ::read(both[side].fd, bytes.data(), bytes.size());
        if (got <= 0) return;
        if ((side == 1) == from_server_) {
          const std::uint64_t byte = bit_ / 8;
          if (byte >= passed && byte < passed + static_cast<std::uint64_t>(got))
            bytes[byte - passed] = static_cast<char>(bytes[byte - passed] ^ (1 << (bit_ % 8)));
          passed += static_cast<std::uint64_t>(got);
        }
        for (ssize_t put = 0; put < got;) {
          const ssize_t step = ::send(both[1 - side].fd, bytes.data() + put, static_cast<std::size_t>(got - put), MSG_NOSIGNAL);
          if (step <= 0) return;
          put += step;
        }
      }
    }
  }

  const bool from_server_;
  const std::uint64_t bit_;
  sockaddr_in target_{};
  Fd listener_;
  std::string address_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

/// Writes the chunk's content in pieces; stops at the first error.
inline Result<ChunkWritten> write_chunk(ChunkClient& client, ChunkId id, std::size_t length,
                                        const std::vector<std::string>& targets, Random& random) {
  const std::string content = content_of(id.value(), length);
  WEFT_ASSIGN(auto writer, client.create(id, targets, length));
  for (std::size_t at = 0; at < length;) {
    const std::size_t step = std::min<std::size_t>(1 + random.below(length / 2 + 10), length - at);
    WEFT_TRY(writer->append(as_bytes(std::string_view(content).substr(at, step))));
    at += step;
  }
  return writer->seal();
}

inline Result<std::string> read_all(ChunkReader& reader) {
  std::string content(reader.info().length, '\0');
  WEFT_ASSIGN(const std::size_t got, reader.read(0, {reinterpret_cast<std::byte*>(content.data()), content.size()}));
  content.resize(got);
  return content;
}

inline ChunkClientOptions quick_options(bool share = true) {
  ChunkClientOptions options;
  options.share = share;
  options.read_deadline = std::chrono::seconds(5);
  return options;
}

class ChunkTransferTest : public testing::Test {
 protected:
  void SetUp() override { reactor_ = rpc::Reactor::start("client"); }
  void TearDown() override {
    client_.reset();
    workers_.clear();
    reactor_->stop();
  }

  void start(std::size_t workers, ChunkServerOptions options = {}) {
    for (std::size_t i = 0; i < workers; ++i)
      workers_.push_back(std::make_unique<Worker>(quiet_options({directory(i)}, events_[i].listener()), options));
    client_ = std::make_unique<ChunkClient>(*reactor_, quick_options());
  }
  std::string directory(std::size_t worker) const { return scratch_ / ("w" + std::to_string(worker)); }
  std::string file(std::size_t worker, std::uint64_t id) const { return directory(worker) + "/chunks/" + hex_name(id); }
  std::vector<std::string> addresses() const {
    std::vector<std::string> all;
    for (const auto& worker : workers_) all.push_back(worker->address());
    return all;
  }
  ChunkWritten put(ChunkId id, std::size_t length) {
    auto written = write_chunk(*client_, id, length, addresses(), random_);
    EXPECT_TRUE(written) << written.error().to_string();
    if (!written) return {};
    EXPECT_EQ(written->durable, addresses());
    return *written;
  }
  void expect_content(ChunkClient& client, const ChunkInfo& info, const std::vector<std::string>& replicas) {
    auto reader = client.open({info, replicas});
    ASSERT_TRUE(reader) << reader.error().to_string();
    const auto content = read_all(**reader);
    ASSERT_TRUE(content) << content.error().to_string();
    EXPECT_TRUE(*content == content_of(info.id.value(), info.length));
  }
  void expect_no_trace(std::size_t worker) {
    EXPECT_TRUE(test::eventually([&] { return test::entries(directory(worker) + "/unsealed").empty(); }));
    EXPECT_TRUE(workers_[worker]->store().list().empty());
  }

  test::ScratchDirectory scratch_;
  Events events_[4];
  Random random_{1};
  std::unique_ptr<rpc::Reactor> reactor_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<ChunkClient> client_;
};

}  // namespace weft::storage
