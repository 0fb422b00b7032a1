// Whether files are here, asked over a connection as a master asks, also of a file system that does not answer.
#include "runtime/worker/file_search.hpp"

#include <array>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.hpp"
#include "tests/support/hung_directory.hpp"

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;

class FileSearchTest : public testing::Test {
 protected:
  FileSearchTest() {
    reactor_->run([&] { search_ = std::make_unique<FileSearch>(*reactor_); });
    rpc::Handler handler;
    handler.on_request = [this](const rpc::ConnectionPtr&, const rpc::Message& message, rpc::Responder responder) {
      search_->find(protocol::decode<protocol::FileQuery>(message).value(), account_, std::move(responder));
    };
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    reactor_->run([&] { reactor_->adopt(Fd(ends[0]), 60s, handler, protocol::peer_limits(), [](const auto&) {}); });
    std::promise<rpc::ConnectionPtr> connected;
    asking_->run([&] {
      asking_->adopt(Fd(ends[1]), 60s, {}, protocol::peer_limits(),
                     [&](auto connection) { connected.set_value(connection.value()); });
    });
    connection_ = connected.get_future().get();
  }
  ~FileSearchTest() override {
    asking_->stop();
    reactor_->run([&] { search_.reset(); });
    reactor_->stop();
  }
  Result<std::vector<std::string>> missing(const std::vector<std::string>& paths, Duration deadline = 60s) {
    WEFT_ASSIGN(const rpc::Message answer,
                rpc::call(*asking_, connection_, protocol::kFindFiles, protocol::encode(protocol::FileQuery{paths}), deadline));
    WEFT_ASSIGN(protocol::FileAnswer found, protocol::decode<protocol::FileAnswer>(answer));
    return std::move(found.missing);
  }

  TempDir directory_ = TempDir::create().value();
  std::unique_ptr<rpc::Reactor> reactor_ = rpc::Reactor::start("worker"), asking_ = rpc::Reactor::start("master");
  std::unique_ptr<FileSearch> search_;
  std::optional<Account> account_;
  rpc::ConnectionPtr connection_;
};

TEST_F(FileSearchTest, SaysWhichFilesAreNotHere) {
  const std::string file = directory_.path() / "file", none = directory_.path() / "none";
  ASSERT_TRUE(write_file(file, "text"));
  EXPECT_EQ(missing({file, none, directory_.path(), "/dev/null"}).value(), (std::vector<std::string>{none, "/dev/null"}));
  EXPECT_TRUE(missing({}).value().empty());
}

/// Otherwise a user could learn, by starting drivers, which files there are in directories that are closed to him.
TEST_F(FileSearchTest, LooksWithTheRightsOfTheDriversUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can look as another user";
  std::filesystem::permissions(directory_.path(), std::filesystem::perms(0711));
  for (const char* name : {"closed", "open", "of a group"}) std::filesystem::create_directory(directory_.path() / name);
  std::filesystem::permissions(directory_.path() / "closed", std::filesystem::perms(0700));
  std::filesystem::permissions(directory_.path() / "open", std::filesystem::perms(0755));
  std::filesystem::permissions(directory_.path() / "of a group", std::filesystem::perms(0750));
  ASSERT_EQ(::chown((directory_.path() / "of a group").c_str(), 0, 4711), 0);
  std::vector<std::string> files;
  for (const char* name : {"closed/file", "open/file", "of a group/file"}) {
    files.push_back(directory_.path() / name);
    ASSERT_TRUE(write_file(files.back(), "text"));
  }
  account_ = Account{"nobody", 65534, 65534, {65534, 4711}, "/"};
  EXPECT_EQ(missing(files).value(), std::vector<std::string>{files[0]});
  account_->groups = {65534};
  EXPECT_EQ(missing(files).value(), (std::vector<std::string>{files[0], files[2]}));
  account_.reset();
  EXPECT_TRUE(missing(files).value().empty()) << "threads of other searches are as they were";
}

TEST_F(FileSearchTest, AFileSystemThatDoesNotAnswerHoldsUpNoOtherSearchAndNoEnd) {
  const test::HungDirectory hung;
  if (!hung.made()) GTEST_SKIP() << "no file system can be mounted here (it needs root and /dev/fuse)";
  EXPECT_EQ(missing({hung.path() + "/file"}, 10ms).error().code(), Code::deadline_exceeded);
  EXPECT_TRUE(missing({directory_.path()}).value().empty());
  for (int more = 1; more < 128; ++more) EXPECT_FALSE(missing({hung.path() + "/file"}, 1ms));
  const auto refused = missing({directory_.path()});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::resource_exhausted) << refused.error().to_string();
  reactor_->run([&] { search_.reset(); });  // while they hang
}

}  // namespace
}  // namespace weft::runtime
