// Programs from a master that is a few lines of this test.
#include "runtime/worker/binary_cache.hpp"

#include <atomic>
#include <filesystem>
#include <future>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.hpp"
#include "runtime/protocol/worker.hpp"

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;

class BinaryCacheTest : public testing::Test {
 protected:
  using Answer = std::function<void(const rpc::ConnectionPtr&, const protocol::BinaryRequest&, rpc::Responder)>;

  void SetUp() override {
    for (std::size_t i = 0; i < program_.size(); ++i) program_[i] = static_cast<char>(i * 2654435761u >> 13);
    ASSERT_TRUE(write_file(directory_.path() / "original", program_));
    program_id_ = {hash_file(directory_.path() / "original").value(), "alice"};
    answer_ = [this](const rpc::ConnectionPtr&, const protocol::BinaryRequest& request, rpc::Responder responder) {
      give(request, std::move(responder));
    };
    master_->run([&] {
      listener_ =
          master_
              ->listen({"127.0.0.1:0"}, {},
                       [this](const rpc::ConnectionPtr&) {
                         rpc::Handler handler;
                         handler.on_request = [this](const rpc::ConnectionPtr& connection, const rpc::Message& message,
                                                     rpc::Responder responder) {
                           ++requests_;
                           answer_(connection, protocol::decode<protocol::BinaryRequest>(message).value(), std::move(responder));
                         };
                         return handler;
                       })
              .value();
    });
    connect();
    make();
  }
  void TearDown() override {
    worker_->run([&] { cache_.reset(); });
    worker_->stop();
    background_->stop();
    master_->stop();
  }
  void connect() { connection_ = rpc::connect(*worker_, listener_->endpoint(), 10s).value(); }
  void make() {
    worker_->run([&] { cache_.emplace(*worker_, *background_, directory_.path(), [this] { return connection_; }); });
  }
  void give(const protocol::BinaryRequest& request, rpc::Responder responder) {
    const std::string piece = program_.substr(request.offset, 50'000);
    rpc::Payload payload = protocol::encode(protocol::BinaryChunk{program_.size()});
    if (!piece.empty()) payload.bulk.emplace_back(Buffer::copy_of(as_bytes(piece)));
    responder.reply(std::move(payload));
  }
  Result<std::string> get() { return get(program_id_); }
  Result<std::string> get(const ProgramId& program) {
    auto promise = std::make_shared<std::promise<Result<std::string>>>();
    auto future = promise->get_future();
    worker_->run([&] { cache_->get(program, [promise](Result<std::string> path) { promise->set_value(std::move(path)); }); });
    return future.get();
  }
  /// A program that an earlier worker needed that long ago.
  ProgramId left(char content, std::chrono::hours ago) const {
    const auto made = directory_.path() / "made";
    EXPECT_TRUE(write_file(made, std::string(100'000, content)));
    const ProgramId program{hash_file(made).value(), "alice"};
    std::filesystem::rename(made, file(program));
    std::filesystem::last_write_time(file(program), std::filesystem::file_time_type::clock::now() - ago);
    return program;
  }
  std::filesystem::path file(const ProgramId& program) const { return directory_.path() / file_name(program); }
  bool lies_there(const ProgramId& program) const { return std::filesystem::exists(file(program)); }
  void expect_whole(const Result<std::string>& path) {
    ASSERT_TRUE(path) << path.error().to_string();
    EXPECT_EQ(read_file(*path).value(), program_);
    EXPECT_EQ(::access(path->c_str(), X_OK), 0);
  }

  TempDir directory_ = TempDir::create().value();
  std::string program_ = std::string(200'000, 'x');
  ProgramId program_id_;
  std::unique_ptr<rpc::Reactor> master_ = rpc::Reactor::start("master");
  std::unique_ptr<rpc::Reactor> worker_ = rpc::Reactor::start("worker");
  std::unique_ptr<rpc::Reactor> background_ = rpc::Reactor::start("background");
  std::unique_ptr<rpc::Listener> listener_;
  rpc::ConnectionPtr connection_;
  Answer answer_;
  int requests_ = 0;
  std::optional<BinaryCache> cache_;
};

TEST_F(BinaryCacheTest, FetchesAProgramOnceForAllWhoWantIt) {
  std::vector<std::future<Result<std::string>>> waiting;
  for (int i = 0; i < 3; ++i) waiting.push_back(std::async(std::launch::async, [this] { return get(); }));
  for (auto& path : waiting) expect_whole(path.get());
  EXPECT_EQ(requests_, 4);
  make();
  expect_whole(get());
  EXPECT_EQ(requests_, 4) << "it lies there from an earlier worker";
}

TEST_F(BinaryCacheTest, FetchesAProgramForEachUserAndSaysForWhom) {
  std::set<std::optional<std::string>> users;
  answer_ = [&, this](const rpc::ConnectionPtr&, const protocol::BinaryRequest& request, rpc::Responder responder) {
    users.insert(request.user);
    give(request, std::move(responder));
  };
  const ProgramId of_bob{program_id_.hash, "bob"}, of_nobody{program_id_.hash, ""};
  const auto alices = get(), bobs = get(of_bob);
  expect_whole(alices);
  expect_whole(bobs);
  EXPECT_NE(*alices, *bobs);
  EXPECT_EQ(requests_, 8);
  EXPECT_EQ(users, (std::set<std::optional<std::string>>{"alice", "bob"}));
  bool has = true;
  worker_->run([&] { has = cache_->has(of_nobody); });
  EXPECT_FALSE(has);
  expect_whole(get(of_nobody));
  EXPECT_TRUE(users.contains("")) << "which is not the same as no user at all";
  make();
  answer_ = [](const rpc::ConnectionPtr&, const protocol::BinaryRequest&, rpc::Responder responder) {
    responder.fail(Error(Code::not_found, "no such program"));
  };
  EXPECT_TRUE(get() && get(of_bob)) << "they lie there from an earlier worker";
  EXPECT_FALSE(get(ProgramId{program_id_.hash, "carol"}));
}

TEST_F(BinaryCacheTest, WhatAWorkerOfAnEarlierReleaseKeptForAllGoes) {
  const ProgramId of_all{program_id_.hash, ""};
  ASSERT_TRUE(write_file(file(of_all), program_));
  make();
  EXPECT_FALSE(lies_there(of_all));
  expect_whole(get());
  EXPECT_EQ(requests_, 4);
}

TEST_F(BinaryCacheTest, AMasterThatHiccupsIsAskedAgain) {
  answer_ = [this](const rpc::ConnectionPtr& connection, const protocol::BinaryRequest& request, rpc::Responder responder) {
    switch (requests_) {
      case 2:
        return responder.fail(Error(Code::io, "the disk is slow"));
      case 3:
        worker_->post([this] { connection_.reset(); });
        return connection->close();
      default:
        give(request, std::move(responder));
    }
  };
  auto path = std::async(std::launch::async, [this] { return get(); });
  worker_->run([] {});
  while (path.wait_for(1ms) != std::future_status::ready) {
    bool lost = false;
    worker_->run([&] { lost = !connection_; });
    if (!lost) continue;
    const auto again = rpc::connect(*worker_, listener_->endpoint(), 10s).value();
    worker_->run([&] { connection_ = again; });
  }
  expect_whole(path.get());
}

TEST_F(BinaryCacheTest, WaitsForAMasterThatComesBackHoweverOften) {
  constexpr int kLosses = 6;  // more than a fetch has tries
  std::atomic<int> losses = 0;
  answer_ = [this](const rpc::ConnectionPtr& connection, const protocol::BinaryRequest& request, rpc::Responder responder) {
    if (requests_ <= kLosses) return connection->close();
    give(request, std::move(responder));
  };
  const auto connect_again = [&] {
    rpc::Handler handler;
    handler.on_close = [&, test = this](const rpc::ConnectionPtr&, const Error&) {
      test->connection_.reset();
      test->cache_->master_lost(true);
      test->cache_->master_lost(true);
      ++losses;
    };
    const auto made = rpc::connect(*worker_, listener_->endpoint(), 10s, std::move(handler)).value();
    worker_->run([&] {
      connection_ = made;
      cache_->master_found();
    });
  };
  connect_again();
  auto path = std::async(std::launch::async, [this] { return get(); });
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  for (int round = 1; round <= kLosses; ++round) {
    while (losses < round && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    connect_again();
  }
  expect_whole(path.get());
  worker_->run([&] { std::exchange(connection_, nullptr)->close(); });
  while (losses <= kLosses && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
}

TEST_F(BinaryCacheTest, DoesNotWaitForAMasterThatKeepsNoJobs) {
  std::promise<Result<std::string>> promise;
  worker_->run([&] {
    connection_.reset();
    cache_->master_lost(true);
    cache_->get(program_id_, [&](Result<std::string> path) { promise.set_value(std::move(path)); });
  });
  worker_->run([] {});  // the fetch has begun
  worker_->run([&] { cache_->master_lost(false); });
  auto path = promise.get_future();
  ASSERT_EQ(path.wait_for(60s), std::future_status::ready);
  EXPECT_EQ(path.get().error().code(), Code::unavailable);
}

TEST_F(BinaryCacheTest, WhatTheMasterDoesNotHaveIsAnErrorAtOnce) {
  answer_ = [](const rpc::ConnectionPtr&, const protocol::BinaryRequest&, rpc::Responder responder) {
    responder.fail(Error(Code::not_found, "no such program"));
  };
  const auto path = get();
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().code(), Code::not_found);
  EXPECT_EQ(requests_, 1);
  answer_ = [this](const rpc::ConnectionPtr&, const protocol::BinaryRequest& request, rpc::Responder responder) {
    give(request, std::move(responder));
  };
  expect_whole(get());
}

TEST_F(BinaryCacheTest, ADamagedProgramIsNotRunAndLeavesNothing) {
  answer_ = [this](const rpc::ConnectionPtr&, const protocol::BinaryRequest& request, rpc::Responder responder) {
    program_[100] ^= 1;
    give(request, std::move(responder));
    program_[100] ^= 1;
  };
  EXPECT_EQ(get().error().code(), Code::corrupt);
  EXPECT_NE(::access(file(program_id_).c_str(), F_OK), 0);
}

TEST_F(BinaryCacheTest, ThoseThatWereNeededTheLongestAgoMakeRoomButNotThoseInUse) {
  const ProgramId running = left('a', 3h), old = left('b', 2h), newer = left('c', 1h);
  make();
  worker_->run([&] { cache_->bound(450'000, [&] { return std::set{running}; }); });
  expect_whole(get());
  EXPECT_TRUE(lies_there(running));
  EXPECT_FALSE(lies_there(old));
  EXPECT_TRUE(lies_there(newer)) << "there is room for it";
  background_->run([] {});
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path()))
    EXPECT_FALSE(entry.path().extension() == ".gone") << entry.path();
}

TEST_F(BinaryCacheTest, WhatIsNeededAgainStaysLonger) {
  const ProgramId old = left('a', 2h), newer = left('b', 1h);
  make();
  worker_->run([&] { cache_->bound(350'000, [] { return std::set<ProgramId>(); }); });
  for (int times = 0; times < 2; ++times) EXPECT_TRUE(get(old)) << times;
  expect_whole(get());
  EXPECT_TRUE(lies_there(old));
  EXPECT_FALSE(lies_there(newer));
  EXPECT_FALSE(get(newer)) << "it is fetched again, and this master has another one";
}

TEST_F(BinaryCacheTest, WhatAnEarlierWorkerLeftIsCheckedInTheBackground) {
  const ProgramId kept = left('a', 1h), damaged = left('b', 1h);
  ASSERT_TRUE(write_file(file(damaged), "something else"));
  make();
  std::promise<void> go_on;
  background_->post([held = go_on.get_future().share()] { held.wait(); });
  std::promise<Result<std::string>> answer;
  auto checked = answer.get_future();
  worker_->run([&] { cache_->get(kept, [&](Result<std::string> path) { answer.set_value(std::move(path)); }); });
  EXPECT_EQ(checked.wait_for(0s), std::future_status::timeout);
  go_on.set_value();
  EXPECT_EQ(checked.get().value(), file(kept));
  EXPECT_FALSE(get(damaged)) << "it is fetched again, and this master has another one";
}

TEST_F(BinaryCacheTest, AProgramWhoseFileIsGoneOrCutOffIsFetchedAgain) {
  const auto has = [this] {
    bool here = false;
    worker_->run([&] { here = cache_->has(program_id_); });
    return here;
  };
  EXPECT_FALSE(has());
  expect_whole(get());
  EXPECT_TRUE(has());
  std::filesystem::remove(file(program_id_));
  EXPECT_FALSE(has());
  expect_whole(get());
  EXPECT_EQ(requests_, 8);
  for (const std::uintmax_t left : {100'000u, 0u}) {
    std::filesystem::resize_file(file(program_id_), left);
    EXPECT_FALSE(has()) << left;
    expect_whole(get());
  }
  EXPECT_EQ(requests_, 16);
  expect_whole(get());
  EXPECT_EQ(requests_, 16) << "it is there";
}

TEST_F(BinaryCacheTest, AProgramThatIsLargerThanTheBoundIsKeptAllTheSame) {
  worker_->run([&] { cache_->bound(1000, [] { return std::set<ProgramId>(); }); });
  expect_whole(get());
}

TEST_F(BinaryCacheTest, WhatKilledWorkersDidNotFinishGoes) {
  const ProgramId program = left('a', 1h);
  const std::string partial = file(program).string() + ".partial-123", gone = file(program_id_).string() + ".gone";
  for (const std::string& path : {partial, gone}) ASSERT_TRUE(write_file(path, std::string("half")));
  make();
  for (const std::string& path : {partial, gone}) EXPECT_FALSE(std::filesystem::exists(path)) << path;
  EXPECT_TRUE(lies_there(program));
}

}  // namespace
}  // namespace weft::runtime
