// What decides about strangers: whose connection goes for another's, how long a message may take, and how much is logged of them.
// No sockets and no clock but the test's.
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/rpc/descriptors.hpp"
#include "base/rpc/frame_deadline.hpp"
#include "base/rpc/newcomers.hpp"
#include "base/rpc/peer_log.hpp"

namespace weft::rpc::testing {
namespace {

using namespace std::chrono_literals;

TEST(Newcomers, TheOldestUnfinishedHandshakeMakesPlaceAndOnlyWhenThereIsNone) {
  Newcomers newcomers(3);
  for (const Newcomers::Number number : {1u, 2u, 3u}) {
    EXPECT_FALSE(newcomers.in_the_way()) << number;
    newcomers.accepted(number);
  }
  EXPECT_EQ(newcomers.in_the_way(), 1u);
  newcomers.shook_hands(1);
  EXPECT_FALSE(newcomers.in_the_way());
  newcomers.accepted(4);
  EXPECT_EQ(newcomers.in_the_way(), 2u);
  newcomers.left(2);
  newcomers.left(2);
  EXPECT_EQ(newcomers.handshakes(), 2u);
}

TEST(Newcomers, WhoHasSpokenIsNeverDispensable) {
  Newcomers newcomers(10);
  for (const Newcomers::Number number : {1u, 2u, 3u}) newcomers.accepted(number);
  newcomers.shook_hands(1);
  newcomers.shook_hands(3);
  EXPECT_EQ(newcomers.most_dispensable(), 2u) << "an unfinished handshake goes before older ones that are only silent";
  newcomers.left(2);
  EXPECT_EQ(newcomers.most_dispensable(), 1u);
  newcomers.left(1);  // it spoke
  newcomers.shook_hands(1);
  EXPECT_EQ(newcomers.most_dispensable(), 3u);
  newcomers.left(3);
  EXPECT_FALSE(newcomers.most_dispensable());
}

TEST(FrameDeadline, RunsFromTheFirstByteOfAFrameToItsLast) {
  FrameDeadline deadline(20s);
  const TimePoint start{};
  EXPECT_FALSE(deadline.due());
  deadline.received(start, 100, true, false);
  EXPECT_FALSE(deadline.due()) << "nothing has begun";
  deadline.received(start + 5s, 1, false, true);
  EXPECT_EQ(deadline.due(), start + 25s);
  deadline.received(start + 24s, 1, false, true);
  EXPECT_EQ(deadline.due(), start + 25s) << "a byte now and then does not prolong it";
  deadline.received(start + 24s, 40, true, true);
  EXPECT_EQ(deadline.due(), start + 44s) << "the next frame has its own time";
  deadline.received(start + 25s, 40, true, false);
  EXPECT_FALSE(deadline.due());
}

TEST(FrameDeadline, GoesOnWithALongFrameThatGoesOn) {
  FrameDeadline deadline(20s);
  TimePoint now{};
  deadline.received(now, 1, false, true);
  for (int i = 0; i < 100; ++i) {
    now += 19s;
    ASSERT_GT(*deadline.due(), now);
    deadline.received(now, FrameDeadline::kStep, false, true);
  }
  const TimePoint due = *deadline.due();
  for (std::size_t i = 0; i + 1 < FrameDeadline::kStep; i += 1024) deadline.received(now + 1s, 1023, false, true);
  EXPECT_EQ(deadline.due(), due) << "less than a step is no progress";
}

/// A timer that the test lets fire.
struct ByHand {
  struct Handle final : Timer {
    explicit Handle(ByHand& the_owner) : owner(the_owner) {}
    ~Handle() override { owner.task = nullptr; }
    ByHand& owner;
  };
  PeerLog::After after() {
    return [this](Duration delay, std::function<void()> what) {
      EXPECT_EQ(delay, PeerLog::kInterval);
      task = std::move(what);
      return std::make_unique<Handle>(*this);
    };
  }
  void fire() {
    const auto due = std::exchange(task, nullptr);
    ASSERT_TRUE(due);
    due();
  }
  std::function<void()> task;
};

TEST(PeerLog, WritesTheFirstLinesAndTheNumberOfTheOthers) {
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  configure_logging(LogLevel::warn, ::fileno(file));
  ByHand timer;
  PeerLog log(timer.after());
  for (int i = 0; i < 10'000; ++i) log.warn("line " + std::to_string(i));
  timer.fire();
  EXPECT_FALSE(timer.task) << "an interval begins with a line";
  log.warn("much later");
  timer.fire();
  configure_logging(LogLevel::warn);
  std::rewind(file);
  std::string text(1 << 16, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), PeerLog::kFirst + 2) << text;
  EXPECT_NE(text.find("line 4\n"), std::string::npos) << text;
  EXPECT_NE(text.find("9995 more lines like these within 10 s; the last: line 9999\n"), std::string::npos) << text;
  EXPECT_NE(text.find("much later\n"), std::string::npos) << text;
}

TEST(Descriptors, AreRaisedToTheHardLimitAndSomeAreReserved) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = std::min<rlim_t>(512, before.rlim_max);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(first_reserved_descriptor(), static_cast<int>(low.rlim_cur - low.rlim_cur / 4));
  raise_descriptor_limit();
  rlimit raised{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &raised), 0);
  EXPECT_EQ(raised.rlim_cur, std::min<rlim_t>(before.rlim_max, 1u << 20));
  EXPECT_GE(first_reserved_descriptor(), static_cast<int>(raised.rlim_cur - 1024));
}

}  // namespace
}  // namespace weft::rpc::testing
