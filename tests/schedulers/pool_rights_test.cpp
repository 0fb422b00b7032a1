#include "schedulers/config/pool_rights.hpp"

#include <gtest/gtest.h>

#include "schedulers/config/pools.hpp"
#include "schedulers/config/queues.hpp"

namespace weft::schedulers {
namespace {

constexpr const char* kPools = R"(
[[pool]]
name = "research"
submit = ["ann", "bob"]
administer = ["carol"]
[[pool]]
name = "nightly"
parent = "research"
[[pool]]
name = "secret"
parent = "research"
submit = ["ann"]
administer = ["dora"]
[[pool]]
name = "closed"
submit = []
)";

PoolRights rights(const std::string& text) {
  auto read = PoolRights::read({{"file.toml", text}});
  EXPECT_TRUE(read) << read.error().to_string();
  return std::move(*read);
}
std::string refusal(const PoolRights& rights, const std::string& user, const std::string& pool) {
  const auto may = rights.may_submit(user, pool);
  EXPECT_TRUE(may || may.error().code() == Code::permission_denied);
  return may ? std::string() : may.error().to_string();
}

TEST(PoolRights, AreThoseOfThePoolOrOfThePoolAbove) {
  const PoolRights pools = rights(kPools);
  EXPECT_EQ(refusal(pools, "bob", "research"), "");
  EXPECT_EQ(refusal(pools, "bob", "nightly"), "");
  EXPECT_EQ(refusal(pools, "eve", "nightly"),
            "eve may not submit to pool nightly (only ann, bob may: `submit` in the scheduler's file)");
  EXPECT_EQ(refusal(pools, "bob", "secret"), "bob may not submit to pool secret (only ann may: `submit` in the scheduler's file)");
  EXPECT_EQ(refusal(pools, "ann", "closed"),
            "ann may not submit to pool closed (only administrators may: `submit` in the scheduler's file)");
  EXPECT_EQ(refusal(pools, "carol", "research"), "") << "she administers it";
  EXPECT_EQ(refusal(pools, "eve", "unknown"), "");
  EXPECT_EQ(refusal(pools, "eve", ""), "") << "her own";
}

TEST(PoolRights, WhoAdministersAPoolDoesSoInThoseInside) {
  const PoolRights pools = rights(kPools);
  EXPECT_TRUE(pools.may_administer("carol", "secret", "ann"));
  EXPECT_TRUE(pools.may_administer("dora", "secret", "ann"));
  EXPECT_FALSE(pools.may_administer("dora", "research", "ann"));
  EXPECT_FALSE(pools.may_administer("carol", "", "ann"));
  EXPECT_FALSE(PoolRights().may_administer("carol", "research", "ann"));
  EXPECT_EQ(refusal(PoolRights(), "eve", "research"), "");
}

TEST(PoolRights, AJobWithoutAPoolIsInThatOfItsUserOrInDefault) {
  const PoolRights pools = rights("[[pool]]\nname='ann'\nsubmit=['ann']\n[[pool]]\nname='default'\nsubmit=['ann']\n");
  EXPECT_EQ(refusal(pools, "ann", ""), "");
  EXPECT_NE(refusal(pools, "bob", "ann"), "");
  EXPECT_NE(refusal(pools, "bob", ""), "") << "which is made like default";
  const PoolRights queues = rights("[[queue]]\nname='default'\ncapacity=100\nsubmit=['ann']\n");
  EXPECT_EQ(refusal(queues, "ann", ""), "");
  EXPECT_EQ(refusal(queues, "bob", ""), "bob may not submit to queue default (only ann may: `submit` in the scheduler's file)");
}

TEST(PoolRights, OtherFilesOfSchedulersAreNoneOfTheirs) {
  const auto read = PoolRights::read({{"users.toml", "[[user]]\nname='ann'\n"}, {"plugin.conf", "what = = ever"}});
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(refusal(*read, "eve", "research"), "");
}

TEST(PoolRights, SchedulersTakeTheListsAndRefuseWhatIsNone) {
  EXPECT_TRUE(parse_pools({"p.toml", kPools}));
  EXPECT_TRUE(parse_queues({"q.toml", "[[queue]]\nname='default'\ncapacity=100\nsubmit=['ann']\nadminister=[]\n"}));
  const auto text = parse_pools({"p.toml", "[[pool]]\nname='a'\nsubmit='ann'\n"});
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().to_string(), "p.toml:3: submit must be a list of texts (write for example [\"alice\"])");
  const auto number = parse_pools({"p.toml", "[[pool]]\nname='a'\nadminister=['ann', 3]\n"});
  ASSERT_FALSE(number);
  EXPECT_EQ(number.error().to_string(), "p.toml:3: administer must be text, a number, true, false or a list of texts");
}

}  // namespace
}  // namespace weft::schedulers
