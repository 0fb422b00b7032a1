#include "base/fatal_signal.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/file.hpp"
#include "base/sanitized.hpp"

namespace weft {
namespace {

using testing::KilledBySignal;

class FatalSignalDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "the sanitizer takes the signals";
  }
};

/// Reads behind the end of a mapped file.
void bus_error() {
  const int file = ::memfd_create("empty", 0);
  const volatile char* at = static_cast<const char*>(::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0));
  static_cast<void>(*at);
}

volatile int depth = 1;
int overflow() { return depth == 0 ? 0 : overflow() + depth; }

TEST_F(FatalSignalDeathTest, ALineHasTimeNameAddressAndBacktrace) {
  const auto die = [] {
    log_fatal_signals("worker w2");
    bus_error();
  };
  EXPECT_EXIT(
      die(), KilledBySignal(SIGBUS),
      "^2[0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z error worker w2 \\(process [0-9]+\\): died of SIGBUS at address 0x[0-9a-f]+; "
      "backtrace: base_test\\+0x[0-9a-f]+ [^\n]*\n$");
}

TEST_F(FatalSignalDeathTest, AnUncaughtExceptionIsQuoted) {
  const auto die = [] {
    log_fatal_signals("master");
    std::thread([] { throw std::runtime_error("out of\nluck"); }).join();
  };
  EXPECT_EXIT(die(), KilledBySignal(SIGABRT), "master .* died of SIGABRT \\(out of luck\\); backtrace: ");
}

TEST_F(FatalSignalDeathTest, AStackThatOverflowsIsReportedOnAnother) {
  const auto die = [] {
    log_fatal_signals("driver");
    std::thread([] {
      const SignalStack stack;
      overflow();
    }).join();
  };
  EXPECT_EXIT(die(), KilledBySignal(SIGSEGV), "driver .* died of SIGSEGV at address 0x");
}

TEST_F(FatalSignalDeathTest, ABlockedSignalIsReportedOnAThreadWithASignalStack) {
  const auto die = [] {
    log_fatal_signals("worker");
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    const SignalStack stack;
    bus_error();
  };
  EXPECT_EXIT(die(), KilledBySignal(SIGBUS), "died of SIGBUS at address 0x");
}

TEST_F(FatalSignalDeathTest, ManyThreadsDieWithOneLine) {
  const auto die = [] {
    log_fatal_signals("worker");
    std::thread threads[4];
    for (std::thread& thread : threads) thread = std::thread(bus_error);
    for (std::thread& thread : threads) thread.join();
  };
  EXPECT_EXIT(die(), KilledBySignal(SIGBUS), "^[^\n]*died of SIGBUS[^\n]*\n$");
}

TEST_F(FatalSignalDeathTest, ThoseThatChildrenSayAreFoundInOneFile) {
  auto directory = TempDir::create("weft-test-");
  ASSERT_TRUE(directory);
  const std::string path = directory->path() / "crashes";
  const auto die = [&](const std::string& name) {
    ::setenv(kCrashLogVariable, path.c_str(), 1);
    log_fatal_signals(name);
    ::raise(SIGFPE);
  };
  EXPECT_EXIT(die("one"), KilledBySignal(SIGFPE), "");
  EXPECT_EXIT(die("two"), KilledBySignal(SIGFPE), "");
  const auto lines = read_file(path, 1u << 20);
  ASSERT_TRUE(lines);
  EXPECT_LT(lines->find("error one "), lines->find("error two "));
  EXPECT_NE(lines->find("error two "), std::string::npos);
}

}  // namespace
}  // namespace weft
