// The files of a master behind its socket: what is answered is on the disk, workers' news are applied, commands reach them.
#include "engine/master/storage/file_service.hpp"

#include <csignal>
#include <future>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/file.hpp"
#include "storage/files/protocol.hpp"

namespace weft::master {
namespace {

using namespace storage::files;
using storage::ChunkEvent;
using storage::ChunkInfo;
using storage::CopyChunk;

constexpr rpc::Duration kFilesDeadline = std::chrono::seconds(60);

/// A service behind a listener. The first connection is a client's, those after it are of workers 1, 2, …
class FileServiceTest : public testing::Test {
 protected:
  FileServiceTest() {
    start();
    reactor->run([this] {
      auto made = reactor->listen(rpc::Endpoint::parse("127.0.0.1:0").value(), {},
                                  [this](const rpc::ConnectionPtr&) { return handler(static_cast<std::uint32_t>(accepted++)); });
      listener = std::move(made).value();
    });
    connect();
  }
  ~FileServiceTest() override {
    peers.clear();
    reactor->run([this] {
      service.reset();
      listener.reset();
    });
    reactor->stop();
  }
  void start() {
    reactor->run([this] {
      auto made =
          file_service({directory.path().string(), {}})({*reactor,
                                                         [this](NodeId node, rpc::MessageType type, const rpc::Payload& payload) {
                                                           EXPECT_EQ(type, kChunkCommands);
                                                           rpc::Message message;
                                                           message.header = Buffer::copy_of(payload.header.view());
                                                           const auto commands = decode<ChunkCommands>(message);
                                                           ASSERT_TRUE(commands);
                                                           for (const auto& command : commands->commands)
                                                             sent.emplace_back(node, command);
                                                         },
                                                         [this](const Error& why) { given_up.push_back(why.to_string()); }});
      ASSERT_TRUE(made) << made.error().to_string();
      service = std::move(*made);
    });
  }
  rpc::Handler handler(std::uint32_t peer) {
    rpc::Handler made;
    made.on_request = [this, peer](const rpc::ConnectionPtr&, const rpc::Message& message, rpc::Responder responder) {
      if (peer == 0) return service->on_client_request({.administrator = true}, message, std::move(responder));
      const std::string name = "w" + std::to_string(peer);
      service->on_worker_request({NodeId(peer), name, name, "rack"}, message, std::move(responder));
    };
    return made;
  }
  const rpc::ConnectionPtr& connect() {
    return peers.emplace_back(rpc::connect(*reactor, listener->endpoint(), kFilesDeadline).value());
  }
  Result<rpc::Message> call(std::size_t peer, rpc::MessageType type, rpc::Payload payload) {
    return rpc::call(*reactor, peers.at(peer), type, std::move(payload), kFilesDeadline);
  }
  template <class Operation>
  Result<typename Operation::Reply> ask(Operation operation) {
    WEFT_ASSIGN(const rpc::Message answer, call(0, kFileRequest, encode(FileRequest(std::move(operation)))));
    return storage::reply_to<Operation>(decode_file_reply(answer));
  }
  /// A further worker with nothing on its disk.
  void join() {
    connect();
    const std::size_t worker = peers.size() - 1;
    ASSERT_TRUE(call(worker, kStorageHello, {}));
    const auto joined = call(worker, kStorageJoin, encode(StorageJoin{"127.0.0.1:1", {0, 1u << 30}}));
    ASSERT_TRUE(joined) << joined.error().to_string();
    ASSERT_TRUE(notify(worker, kBlockReport, ChunkReport{{}, true, true}));
  }
  template <class News>
  Result<void> notify(std::size_t worker, rpc::MessageType type, const News& news) {
    Result<void> taken;
    reactor->run([&] {
      rpc::Message message;
      message.type = type;
      message.header = std::move(encode(news).header);
      taken = service->on_worker_notify(NodeId(static_cast<std::uint32_t>(worker)), message);
    });
    return taken;
  }
  /// A file of one chunk on the worker that the service chose.
  std::pair<ChunkInfo, NodeId> write(const std::string& path) {
    const auto lease = ask(CreateFile{path, "ann", {.replication = 1}}).value().lease;
    const Allocated chunk = ask(AllocateChunk{lease, "", {}, 10}).value();
    const ChunkInfo info{chunk.chunk, 10, 1};
    const NodeId node = chunk.targets.at(0).id;
    EXPECT_TRUE(ask(SealChunk{lease, info, {node}}));
    EXPECT_TRUE(ask(CompleteFile{lease}));
    return {info, node};
  }
  /// On the reactor's thread until it holds.
  bool until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + kFilesDeadline;
    for (bool holds = false; std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
      reactor->run([&] { holds = condition(); });
      if (holds) return true;
    }
    return false;
  }

  TempDir directory = TempDir::create("weft-file-service-").value();
  std::unique_ptr<rpc::Reactor> reactor = rpc::Reactor::start("test");
  std::unique_ptr<StorageService> service;
  std::unique_ptr<rpc::Listener> listener;
  std::vector<rpc::ConnectionPtr> peers;
  std::size_t accepted = 0;
  std::vector<std::pair<NodeId, storage::StorageCommand>> sent;
  std::vector<std::string> given_up;
};

TEST_F(FileServiceTest, WhatIsAnsweredIsOnTheDisk) {
  for (int i = 0; i < 10; ++i) {
    std::promise<bool> answered;
    reactor->run([&] {
      peers[0]->request(kFileRequest, encode(FileRequest(MakeDirectory{"/d" + std::to_string(i), "ann", false})), kFilesDeadline,
                        [&](const Result<rpc::Message>& answer) {
                          service.reset();  // the master ends as soon as the client knows
                          answered.set_value(answer.has_value());
                        });
    });
    ASSERT_TRUE(answered.get_future().get());
    start();
    EXPECT_TRUE(ask(Stat{"/d" + std::to_string(i)})) << i;
  }
}

TEST_F(FileServiceTest, ADiskThatFailsIsToldToTheClientAndEndsTheMaster) {
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit none{16, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  const auto refused = ask(MakeDirectory{"/d", "ann", false});
  EXPECT_TRUE(until([&] { return !given_up.empty(); }));
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unavailable) << "another try is worth it, with the next master";
}

TEST_F(FileServiceTest, WorkersAreThereFromTheirRegistrationUntilTheyAreLost) {
  join();
  join();
  EXPECT_EQ(ask(AskReport{})->nodes.size(), 2u);
  reactor->run([this] { service->worker_lost(NodeId(1)); });
  const auto report = ask(AskReport{});
  ASSERT_EQ(report->nodes.size(), 1u);
  EXPECT_EQ(report->nodes[0].node.name, "w2");
  reactor->run([this] { EXPECT_EQ(service->first_node(), NodeId(3)); });
}

TEST_F(FileServiceTest, NewsOfAWorkerAreAppliedInTheirOrderEachKindByItself) {
  join();
  const auto [chunk, node] = write("/f");
  ASSERT_TRUE(notify(1, kChunkUpdate, ChunkUpdate{{{ChunkEvent::verified, chunk}, {ChunkEvent::corrupt, chunk}}, {}}));
  const auto located = ask(Locate{"/f", 0, 10});
  ASSERT_EQ(located->file.chunks.size(), 1u);
  EXPECT_EQ(located->file.chunks[0].corrupt, std::vector<NodeId>{node});
  EXPECT_TRUE(located->file.chunks[0].nodes.empty());
  EXPECT_EQ(notify(1, 599, ChunkUpdate{}).error().code(), Code::corrupt) << "no such message";
}

TEST_F(FileServiceTest, CommandsGoToTheNodeThatCarriesThemOut) {
  join();
  join();
  const auto [chunk, from] = write("/f");
  ASSERT_TRUE(ask(SetReplication{"/f", 2}));
  ASSERT_TRUE(until([this] { return !sent.empty(); }));
  const auto* copy = std::get_if<CopyChunk>(&sent[0].second);
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(sent[0].first, from);
  EXPECT_EQ(copy->from, from);
  EXPECT_NE(copy->to, from);
  EXPECT_EQ(copy->chunk, chunk);
}

TEST_F(FileServiceTest, MessagesThatAreNoneAreRefused) {
  EXPECT_EQ(call(0, 509, {}).error().code(), Code::invalid_argument);
  join();
  EXPECT_EQ(call(1, 598, {}).error().code(), Code::invalid_argument);
  EXPECT_FALSE(call(0, kFileRequest, {}));
}

}  // namespace
}  // namespace weft::master
