// The client of the cluster's files against a master of a few lines, which loses an answer.
#include "storage/files/file_system.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/rpc/rpc.hpp"
#include "storage/files/protocol.hpp"

namespace weft::storage::files {
namespace {

using namespace std::chrono_literals;

class FileSystemTest : public testing::Test {
 protected:
  ~FileSystemTest() override {
    files_.reset();
    serving_->run([&] {
      listener_.reset();
      for (const auto& connection : connections_) connection->close();
    });
    serving_->stop();
  }
  void connect() {
    std::string address;
    serving_->run([&] {
      listener_ = serving_
                      ->listen({"127.0.0.1:0"}, {},
                               [this](const rpc::ConnectionPtr& connection) {
                                 connections_.push_back(connection);
                                 rpc::Handler handler;
                                 handler.on_request = [this](const rpc::ConnectionPtr& from, const rpc::Message& message,
                                                             rpc::Responder responder) { answer(from, message, responder); };
                                 return handler;
                               })
                      .value();
      address = listener_->endpoint().text;
    });
    FileSystemOptions options;
    options.user = "ann";
    options.patience = options.at_first = 20s;
    files_ = FileSystem::connect(address, options).value();
  }
  /// Knows directories, and of each the user that leased it.
  void answer(const rpc::ConnectionPtr& from, const rpc::Message& message, rpc::Responder& responder) {
    if (message.type != kFileRequest) return responder.reply({});
    const FileRequest request = decode_file_request(message).value();
    const auto* lease = std::get_if<LeaseDirectory>(&request);
    if (lease == nullptr) return responder.reply(encode(FileReply(Done())));
    leases_.push_back(*lease);
    if (std::exchange(request_lost_, false)) return from->close();
    const auto [place, made] = owners_.emplace(lease->path, lease->user);
    if (!made && !(lease->take_over && place->second == lease->user))
      return responder.fail(Error(Code::already_exists, lease->path + " exists"));
    if (std::exchange(answer_lost_, false)) return from->close();
    responder.reply(encode(FileReply(Leased{LeaseId(leases_.size()), 60s})));
  }

  std::unique_ptr<rpc::Reactor> serving_ = rpc::Reactor::start("master");
  std::unique_ptr<rpc::Listener> listener_;
  std::vector<rpc::ConnectionPtr> connections_;
  std::map<std::string, std::string> owners_;
  std::vector<LeaseDirectory> leases_;               // requests
  bool request_lost_ = false, answer_lost_ = false;  // the next one
  std::shared_ptr<FileSystem> files_;
};

TEST_F(FileSystemTest, ADirectoryWhoseMakingWasNotAnsweredIsLeasedAllTheSame) {
  connect();
  answer_lost_ = true;
  const auto lease = files_->lease_directory("/.out.weft-1", false);
  ASSERT_TRUE(lease) << lease.error().to_string();
  ASSERT_EQ(leases_.size(), 3u);
  EXPECT_FALSE(leases_[1].take_over) << "the first request may not have arrived";
  EXPECT_TRUE(leases_[2].take_over);
}

TEST_F(FileSystemTest, ADirectoryThatWasThereBeforeIsNotTakenOver) {
  connect();
  owners_["/.out.weft-1"] = "ann";
  EXPECT_EQ(files_->lease_directory("/.out.weft-1", false).error().code(), Code::already_exists);
  EXPECT_EQ(leases_.size(), 1u);
}

TEST_F(FileSystemTest, ADirectoryOfSomebodyElseIsNotTakenOverWhateverWasLost) {
  connect();
  owners_["/.out.weft-1"] = "bob";
  request_lost_ = true;
  EXPECT_EQ(files_->lease_directory("/.out.weft-1", false).error().code(), Code::already_exists);
  for (const LeaseDirectory& lease : leases_) EXPECT_EQ(lease.user, "ann");
}

}  // namespace
}  // namespace weft::storage::files
