// Which schedulers there are, and the files their options name.
#include "engine/master/scheduling/catalogue.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "base/file.hpp"

namespace weft::scheduling {
namespace {

std::string plugin(const std::string& name) { return std::string(WEFT_PLUGIN_DIR) + "/" + name + ".so"; }

TEST(Catalogue, HasWhatComesWithWeftAndWhatPluginsBring) {
  const auto plain = Catalogue::open({});
  ASSERT_TRUE(plain);
  EXPECT_FALSE((*plain)->has_plugins());
  const auto more = Catalogue::open({plugin("misbehaving")});
  ASSERT_TRUE(more) << more.error().to_string();
  EXPECT_TRUE((*more)->has_plugins());
  EXPECT_EQ((*more)->registry().names().size(), (*plain)->registry().names().size() + 6);
  Files files;
  EXPECT_EQ((*(*more)->make("preempting", files))->name(), "preempting");
  EXPECT_FALSE((*plain)->make("preempting", files));
  const auto twice = Catalogue::open({plugin("misbehaving"), plugin("misbehaving")});
  EXPECT_NE(twice.error().to_string().find("there is a scheduler 'preempting' already"), std::string::npos);
}

TEST(Catalogue, RefusesObjectsThatDoNotFit) {
  for (const auto& [name, code] : std::vector<std::pair<std::string, Code>>{{"wrong_interface", Code::version_mismatch},
                                                                            {"no_entry", Code::invalid_argument},
                                                                            {"taken_name", Code::invalid_argument},
                                                                            {"not_there", Code::invalid_argument}}) {
    const auto opened = Catalogue::open({plugin(name)});
    ASSERT_FALSE(opened) << name;
    EXPECT_EQ(opened.error().code(), code) << opened.error().to_string();
  }
}

TEST(Catalogue, RefusesAnObjectOfAnOlderInterfaceByVersion) {
  const auto opened = Catalogue::open({plugin("old_interface")});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Code::version_mismatch);
  const std::string text = opened.error().to_string();
  EXPECT_NE(text.find("was built for version 4 of the scheduler interface, this program has version 8; rebuild it"),
            std::string::npos)
      << text;
}

TEST(Catalogue, GivesUpAFactoryThatDoesNotReturnAndTellsWhatAGoodOneReads) {
  const auto catalogue = Catalogue::open({plugin("misbehaving")});
  ASSERT_TRUE(catalogue);
  const auto never = Catalogue::check(*catalogue, "unmade", std::chrono::milliseconds(50));
  ASSERT_FALSE(never);
  EXPECT_NE(never.error().to_string().find("the scheduler unmade cannot be made: its factory has not returned for 50ms"),
            std::string::npos)
      << never.error().to_string();
  const auto directory = TempDir::create("weft-pools-");
  ASSERT_TRUE(directory);
  const std::string file = (directory->path() / "pools.toml").string();
  ASSERT_TRUE(write_file(file, "[[pool]]\nname = \"a\"\n"));
  const auto files = Catalogue::check(*catalogue, "fair(pools=" + file + ")", std::chrono::seconds(30));
  ASSERT_TRUE(files) << files.error().to_string();
  EXPECT_TRUE(files->contains(file));
  EXPECT_FALSE(Catalogue::check(*catalogue, "fair(pools=/nowhere)", std::chrono::seconds(30)));
}

TEST(Catalogue, TakesANameWithoutASlashForAFileHere) {
  const auto directory = TempDir::create("weft-plugin-");
  ASSERT_TRUE(directory);
  std::filesystem::copy_file(plugin("misbehaving"), directory->path() / "mine.so");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory->path());
  EXPECT_TRUE(Catalogue::open({"mine.so"}));
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace weft::scheduling
