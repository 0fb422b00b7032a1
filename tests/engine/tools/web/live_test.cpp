// Who is told what, and how often is asked.
#include "engine/tools/web/live.hpp"

#include <atomic>
#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace weft::web {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A world of resources that the test sets.
struct World {
  std::mutex mutex;
  std::map<std::string, std::string> texts;
  std::map<std::string, int> asked;

  void set(const std::string& name, const std::string& text) {
    const std::lock_guard lock(mutex);
    texts[name] = text;
  }
  Result<std::string> operator()(const std::string& name) {
    const std::lock_guard lock(mutex);
    ++asked[name];
    if (name.starts_with("/others")) return fail(Code::permission_denied, name + " is not for you");
    if (!texts.contains(name)) return fail(Code::not_found, "there is no " + name);
    return texts[name];
  }
  int times(const std::string& name) {
    const std::lock_guard lock(mutex);
    return asked[name];
  }
};

http::Request watching(const std::string& names) { return {"GET", "/api/v1/events", {{"watch", names}}, ""}; }

/// What came until `text` was in it.
std::string read_until(http::EventStream& stream, const std::string& text) {
  std::string got;
  const auto end = std::chrono::steady_clock::now() + seconds(20);
  while (got.find(text) == std::string::npos && std::chrono::steady_clock::now() < end) {
    char piece[256];
    std::size_t taken = 0;
    if (stream.take(
            piece, sizeof piece, taken, [] {}, [] {}) == http::EventStream::Took::some)
      got.append(piece, taken);
    else
      std::this_thread::sleep_for(milliseconds(1));
  }
  return got;
}

class LiveTest : public testing::Test {
 protected:
  World world_;
  Live live_{[this](const std::string& name) { return world_(name); }, milliseconds(5)};
};

TEST_F(LiveTest, SendsWhatThereIsAndThenWhatChanges) {
  world_.set("/jobs", "[1]");
  const auto answered = live_.watch(watching("/jobs"));
  ASSERT_NE(answered.events, nullptr);
  EXPECT_EQ(read_until(*answered.events, "\n\n"), "event: /jobs\ndata: [1]\n\n");
  world_.set("/jobs", "[1,2]");
  EXPECT_EQ(read_until(*answered.events, "\n\n"), "event: /jobs\ndata: [1,2]\n\n");
}

/// Whether so many questions are asked in time.
bool asked(const Live::Ask& ask, int times, Duration longest, seconds time = seconds(20)) {
  std::atomic<int> asked = 0;
  Live live([&](const std::string& name) { return ++asked, ask(name); }, milliseconds(5), longest);
  const auto answered = live.watch(watching("/jobs"));
  const auto end = std::chrono::steady_clock::now() + time;
  while (asked < times && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(milliseconds(20));  // what this takes of a processor counts, too
  return asked >= times;
}

TEST_F(LiveTest, WhoOnlyWaitsForTheAnswerAsksAgainAsSoon) {  // 20 pauses of 20 * 100 ms would be 40 s
  EXPECT_TRUE(asked([](const std::string&) { return std::this_thread::sleep_for(milliseconds(100)), "[]"; }, 20, seconds(1000)));
}

TEST_F(LiveTest, WhatTakesMuchOfAProcessorIsAskedLessOftenButNotNever) {
  const auto busy = [](const std::string&) {
    const std::clock_t until = std::clock() + CLOCKS_PER_SEC / 2;  // of the process
    while (std::clock() < until) continue;
    return "[]";
  };
  EXPECT_TRUE(asked(busy, 2, milliseconds(10)));
  EXPECT_FALSE(asked(busy, 2, seconds(1000), seconds(3)));
}

TEST_F(LiveTest, WhoWantsChangesGetsTheListOnceAndThenTheDifference) {
  world_.set("/jobs", R"([{"id":1,"state":"running"},{"id":2,"state":"running"}])");
  http::Request request = watching("/jobs");
  request.query["changes"] = "1";
  const auto changes = live_.watch(request), whole = live_.watch(watching("/jobs"));
  EXPECT_EQ(read_until(*changes.events, "\n\n").find("event: /jobs\n"), 0u);
  read_until(*whole.events, "\n\n");
  const std::string ended = R"([{"id":1,"state":"running"},{"id":2,"state":"finished"}])";
  world_.set("/jobs", ended);
  EXPECT_EQ(read_until(*changes.events, "\n\n"),
            "event: changes /jobs\ndata: {\"new\":[],\"changed\":[{\"id\":2,\"state\":\"finished\"}],\"gone\":[]}\n\n");
  EXPECT_EQ(read_until(*whole.events, "\n\n"), "event: /jobs\ndata: " + ended + "\n\n");
}

TEST_F(LiveTest, WhoHasNotTakenADifferenceGetsTheWhole) {
  world_.set("/jobs", R"([{"id":1,"a":1,"b":1}])");
  http::Request request = watching("/jobs");
  request.query["changes"] = "1";
  const auto slow = live_.watch(request);
  read_until(*slow.events, "\n\n");
  const auto other = live_.watch(watching("/jobs"));  // sees when a step was made
  read_until(*other.events, "\n\n");
  for (const char* text : {R"([{"id":1,"a":2,"b":1}])", R"([{"id":1,"a":2,"b":2}])"}) {
    world_.set("/jobs", text);
    read_until(*other.events, text);
  }
  EXPECT_EQ(read_until(*slow.events, "\n\n"), "event: /jobs\ndata: [{\"id\":1,\"a\":2,\"b\":2}]\n\n");
}

TEST_F(LiveTest, WhoComesLaterGetsItThoughNothingHasChanged) {
  world_.set("/jobs", "[1]");
  const auto first = live_.watch(watching("/jobs"));
  read_until(*first.events, "[1]");
  const auto second = live_.watch(watching("/jobs"));
  EXPECT_NE(read_until(*second.events, "[1]").find("[1]"), std::string::npos);
}

TEST_F(LiveTest, TroubleNamesTheResourceAndPasses) {
  const auto answered = live_.watch(watching("/jobs/7"));
  EXPECT_NE(read_until(*answered.events, "\n\n")
                .find("event: trouble\ndata: {\"resource\":\"/jobs/7\",\"error\":\"there is no /jobs/7\"}"),
            std::string::npos);
  world_.set("/jobs/7", "{}");
  EXPECT_NE(read_until(*answered.events, "{}").find("event: /jobs/7"), std::string::npos);
}

TEST_F(LiveTest, NobodyIsAskedForWhatNobodyWatches) {
  world_.set("/jobs", "[]");
  world_.set("/nodes", "[]");
  const auto jobs = live_.watch(watching("/jobs")), nodes = live_.watch(watching("/nodes"));
  read_until(*jobs.events, "[]");
  read_until(*nodes.events, "[]");
  jobs.events->abandon();
  const auto more_of_nodes = [&](int count) {
    const auto end = std::chrono::steady_clock::now() + seconds(20);
    for (const int before = world_.times("/nodes");
         world_.times("/nodes") < before + count && std::chrono::steady_clock::now() < end;)
      std::this_thread::sleep_for(milliseconds(1));
  };
  more_of_nodes(3);  // by then the stream that is gone was noticed
  const int asked = world_.times("/jobs");
  more_of_nodes(5);
  EXPECT_EQ(world_.times("/jobs"), asked);
}

TEST_F(LiveTest, SeveralAreWatchedAndEachTroubleArrives) {
  world_.set("/jobs/1/explain", "{}");
  const auto answered = live_.watch(watching("/jobs/1,/jobs/2/explain,/jobs/1/explain"));
  std::string got;
  for (const char* part : {"there is no /jobs/1\"", "there is no /jobs/2/explain\"", "event: /jobs/1/explain"})
    if (got.find(part) == std::string::npos) got += read_until(*answered.events, part);
  for (const char* part : {"there is no /jobs/1\"", "there is no /jobs/2/explain\"", "event: /jobs/1/explain"})
    EXPECT_NE(got.find(part), std::string::npos) << part << " in " << got;
}

TEST_F(LiveTest, WhatIsRefusedIsAskedForOnceForEachStream) {
  world_.set("/jobs", "[1]");
  const auto first = live_.watch(watching("/jobs,/others/1"));
  EXPECT_NE(read_until(*first.events, "not for you").find("not for you"), std::string::npos);
  const auto questions = [&](int count) {
    const auto end = std::chrono::steady_clock::now() + seconds(20);
    for (const int before = world_.times("/jobs");
         world_.times("/jobs") < before + count && std::chrono::steady_clock::now() < end;)
      std::this_thread::sleep_for(milliseconds(1));
  };
  questions(5);
  EXPECT_EQ(world_.times("/others/1"), 1);
  world_.set("/jobs", "[2]");
  EXPECT_NE(read_until(*first.events, "[2]").find("[2]"), std::string::npos) << "the rest goes on";
  const auto second = live_.watch(watching("/others/1"));
  EXPECT_NE(read_until(*second.events, "not for you").find("not for you"), std::string::npos) << "who comes later is answered, too";
  questions(5);
  EXPECT_EQ(world_.times("/others/1"), 2);
}

TEST_F(LiveTest, WrongListsAreRefused) {
  EXPECT_EQ(live_.watch(watching("")).status, 400);
  EXPECT_EQ(live_.watch(watching("jobs")).status, 400);
  EXPECT_EQ(live_.watch(watching("/a\nevent: b")).status, 400);
  std::string many;
  for (int i = 0; i < 17; ++i) many += "/jobs/" + std::to_string(i) + ",";
  EXPECT_EQ(live_.watch(watching(many)).status, 400);
}

}  // namespace
}  // namespace weft::web
