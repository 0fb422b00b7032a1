// Map outputs in files, sent encrypted: the server reads them itself, and a process of the job may cut them off meanwhile.
#include <future>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/certificates/authority.hpp"
#include "base/file.hpp"
#include "base/rpc/capnp.hpp"
#include "base/rpc/credentials.hpp"
#include "shuffle/transfer/block_server.hpp"
#include "shuffle/transfer/transfer.capnp.h"

namespace weft::shuffle {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t kPiece = 4u << 20, kPieces = 16;  // more than sockets hold

class EncryptedBlocksTest : public testing::Test {
 protected:
  void SetUp() override {
    auto writer = SegmentWriter::on_disk(directory_.path().string(), 1).value();
    for (std::size_t i = 0; i < kPieces; ++i) ASSERT_TRUE(writer->append(0, as_bytes(std::string(kPiece, 'x')), 1));
    SealedSegment sealed = writer->seal().value();
    executors_ = Fd(::dup(sealed.fd.get()));
    ASSERT_TRUE(store_->put({JobId(7), ShuffleId(3), 0, 0}, std::move(sealed)));
    rpc::Handler handler;
    handler.on_request = [this](const rpc::ConnectionPtr& connection, rpc::Message message, rpc::Responder responder) {
      requests_.push_back({connection, std::move(message), std::move(responder)});
      came_.release();
    };
    server_reactor_->run([&] {
      listener_ =
          server_reactor_->listen({"127.0.0.1:0"}, transfer_limits(), [handler](const rpc::ConnectionPtr&) { return handler; })
              .value();
    });
    connection_ = rpc::connect(*client_, listener_->endpoint(), 10s, {}, transfer_limits()).value();
  }
  void TearDown() override {
    client_->stop();
    server_reactor_->run([&] { listener_.reset(); });
    server_reactor_->stop();
  }

  /// So many requests at once, of which the answers are read only after the file was cut off.
  std::vector<Result<rpc::Message>> answers_of_a_file_cut_off(rpc::MessageType type, capnp::MallocMessageBuilder& message,
                                                              std::size_t count) {
    std::vector<std::promise<Result<rpc::Message>>> answers(count);
    client_->run([&] {
      for (auto& answer : answers)
        connection_->request(type, {rpc::flatten(message), {}, {}}, 60s,
                             [&answer](Result<rpc::Message> reply) { answer.set_value(std::move(reply)); });
    });
    for (std::size_t i = 0; i < count; ++i) came_.acquire();
    std::promise<void> go_on;
    client_->post([held = go_on.get_future().share()] { held.wait(); });
    server_reactor_->run([&] {
      for (Request& request : std::exchange(requests_, {}))
        server_.serve(request.connection, request.message, std::move(request.responder));
    });
    EXPECT_EQ(::ftruncate(executors_.get(), 0), 0);
    go_on.set_value();
    std::vector<Result<rpc::Message>> replies;
    for (auto& answer : answers) replies.push_back(answer.get_future().get());
    return replies;
  }

  struct Request {
    rpc::ConnectionPtr connection;
    rpc::Message message;
    rpc::Responder responder;
  };

  TempDir directory_ = TempDir::create().value();
  certificates::Authority authority_ = certificates::Authority::create(directory_.path() / "ca").value();
  rpc::Security security_{rpc::Credentials::open(authority_.issue({rpc::Role::worker, "worker", {}}).value()).value(), false};
  std::unique_ptr<Store> store_ = Store::open((directory_.path() / "store").string(), 64u << 20).value();
  std::unique_ptr<rpc::Reactor> server_reactor_ = rpc::Reactor::start("server", security_),
                                client_ = rpc::Reactor::start("client", security_);
  BlockServer server_{*store_, JobKeys::none(), Compression::never};
  std::unique_ptr<rpc::Listener> listener_;
  rpc::ConnectionPtr connection_;
  Fd executors_;  // which it has kept
  std::vector<Request> requests_;
  std::counting_semaphore<> came_{0};
};

TEST_F(EncryptedBlocksTest, BlocksThatAreOnTheirWayStayWhatTheyWere) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<FetchBlocks>();
  root.setJob(7);
  root.setShuffle(3);
  root.initMaps(1)[0].setMap(0);
  root.setMaxBytes(kPieces * kPiece);
  const auto replies = answers_of_a_file_cut_off(kFetchBlocks, message, 1);
  ASSERT_TRUE(replies[0]) << replies[0].error().to_string();
  EXPECT_EQ(as_chars(replies[0]->bulk.view()), std::string(kPieces * kPiece, 'x'));
}

TEST_F(EncryptedBlocksTest, PiecesOfASegmentThatAreOnTheirWayStayWhatTheyWere) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<FetchSegment>();
  root.setJob(7);
  root.setShuffle(3);
  root.setOffset(4096);
  root.setMaxBytes(kPiece);
  for (const auto& reply : answers_of_a_file_cut_off(kFetchSegment, message, kPieces)) {
    ASSERT_TRUE(reply) << reply.error().to_string();
    EXPECT_EQ(as_chars(reply->bulk.view()), std::string(kPiece, 'x'));
  }
}

}  // namespace
}  // namespace weft::shuffle
