// The client of the cluster's files against a master of a few lines, which loses an answer.
#include "storage/files/file_system.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/rpc/rpc.hpp"
#include "storage/files/job_files.hpp"
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
  std::string serve() {
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
    return address;
  }
  void connect() {
    const std::string address = serve();
    FileSystemOptions options;
    options.user = "ann";
    options.patience = options.at_first = 20s;
    files_ = FileSystem::connect(address, options).value();
  }
  /// Knows directories, and of each the user that leased it.
  void answer(const rpc::ConnectionPtr& from, const rpc::Message& message, rpc::Responder& responder) {
    if (message.type != kFileRequest) return responder.reply({});
    const FileRequest request = decode_file_request(message).value();
    if (const auto* abandoned = std::get_if<Abandon>(&request)) abandoned_.insert(abandoned->lease.value());
    if (const auto* made = std::get_if<MakeDirectory>(&request); made != nullptr && !owners_.emplace(made->path, made->user).second)
      return responder.fail(Error(Code::already_exists, made->path + " exists"));
    if (const auto* asked = std::get_if<Stat>(&request)) {
      FileStatus status;
      status.path = asked->path;
      status.directory = !asked->path.ends_with("-file");
      status.id = EntryId(generation_);
      return responder.reply(encode(FileReply(status)));
    }
    if (const auto* removal = std::get_if<Remove>(&request)) {
      const bool same = removal->id == EntryId{} || removal->id == EntryId(generation_);
      if (!same) return responder.fail(Error(Code::not_found, removal->path + " is something else"));
      ++generation_;  // somebody else makes it again at once
      ++removed_;
      if (std::exchange(answer_lost_, false)) return from->close();
    }
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
  std::vector<LeaseDirectory> leases_;  // requests
  std::set<std::uint64_t> abandoned_;   // leases
  std::uint64_t generation_ = 1;        // of what is at any path
  int removed_ = 0;
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

TEST_F(FileSystemTest, ARepeatedRemovalLeavesWhatWasMadeInBetween) {
  connect();
  answer_lost_ = true;
  const auto removed = files_->remove("/f", false);
  EXPECT_TRUE(removed) << removed.error().to_string();
  EXPECT_EQ(removed_, 1);
  EXPECT_EQ(generation_, 2u);
}

TEST_F(FileSystemTest, DirectoriesWithinALeasedOneNeedNoLease) {
  const auto files = job_files({.master = serve(), .user = "ann"});
  const std::string work = "weft://.out.weft-1";
  ASSERT_TRUE(files->make_directory(work));
  for (const char* name : {"/d=1", "/d=2", "/d=1"}) {
    const auto made = files->make_subdirectory(work + name);
    ASSERT_TRUE(made) << name << ": " << made.error().to_string();
  }
  EXPECT_TRUE(owners_.contains(work + "/d=2"));
  EXPECT_EQ(leases_.size(), 1u);
  owners_[work + "/a-file"] = "ann";
  EXPECT_EQ(files->make_subdirectory(work + "/a-file").error().code(), Code::already_exists);
}

TEST_F(FileSystemTest, LeasesOfADirectoryAndOfAllBelowItEndWithItsName) {
  const auto files = job_files({.master = serve(), .user = "ann"});
  for (const char* path : {"weft://a", "weft://a/b", "weft://ab", "weft://c", "weft://c/d"})
    ASSERT_TRUE(files->take_over_directory(path)) << path;
  ASSERT_TRUE(files->rename("weft://a", "weft://out", false));
  EXPECT_EQ(abandoned_, (std::set<std::uint64_t>{1, 2}));
  ASSERT_TRUE(files->remove("weft://c"));
  EXPECT_EQ(abandoned_, (std::set<std::uint64_t>{1, 2, 4, 5}));
}

}  // namespace
}  // namespace weft::storage::files
