// How much of its event log a master keeps, by where the log is and what its command line says.
#include "engine/tools/cli/master_event_log.hpp"

#include <vector>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include "base/file.hpp"

namespace weft::tools {
namespace {

using namespace std::chrono_literals;
constexpr std::uint64_t kMiB = 1u << 20, kGiB = 1u << 30;

class MasterEventLog : public testing::Test {
 protected:
  /// What is kept of the log of a master that is given these words.
  master::LogRotation kept(std::vector<std::string> words, const std::string& data = "", const std::string& journal = "") {
    CLI::App command;
    EventLogOptions options;
    add_event_log_options(command, options);
    command.parse(std::move(words));
    auto place = event_log_of(options, data, journal);
    EXPECT_TRUE(place.has_value());
    return place ? place->rotation : master::LogRotation{};
  }
  std::string path(const std::string& name) const { return directory_.path() / name; }

 private:
  TempDir directory_ = TempDir::create().value();
};

TEST_F(MasterEventLog, HasALimitWhereverItIs) {
  EXPECT_EQ(kept({}, path("data")).keep_bytes, kGiB);
  EXPECT_EQ(kept({}, path("data")).keep_age, 168h);
  EXPECT_EQ(kept({}, "", path("journal")).keep_bytes, kGiB);
  EXPECT_EQ(kept({"--event-log=" + path("log")}).keep_bytes, 4 * kGiB);
  EXPECT_EQ(kept({"--event-log=" + path("log")}).keep_age, 0s);
  EXPECT_EQ(kept({}).keep_bytes, 64 * kMiB);
}

TEST_F(MasterEventLog, HasTheLimitThatIsGiven) {
  for (const std::string& data : {path("data"), std::string()}) {
    EXPECT_EQ(kept({"--event-log-keep-size=3MiB"}, data).keep_bytes, 3 * kMiB);
    EXPECT_EQ(kept({"--event-log-keep-size=0"}, data).keep_bytes, 0u) << "all";
    EXPECT_EQ(kept({"--event-log-keep-age=2h"}, data).keep_age, 2h);
  }
}

}  // namespace
}  // namespace weft::tools
