// pools.toml and queues.toml: what they say, and every way they can be wrong.
#include "base/random.hpp"
#include "schedulers/config/pools.hpp"
#include "schedulers/config/queues.hpp"
#include "tests/schedulers/world.hpp"

namespace weft::schedulers {
namespace {

std::string pools_error(const std::string& text) {
  const auto pools = parse_pools({"p.toml", text});
  return pools ? "accepted" : pools.error().to_string();
}
std::string queues_error(const std::string& text) {
  const auto queues = parse_queues({"q.toml", text});
  return queues ? "accepted" : queues.error().to_string();
}
std::string pool(const std::string& name, const std::string& more = "") {
  return fmt::format("[[pool]]\nname='{}'\n{}\n", name, more);
}

TEST(Pools, AreReadWithParentsFirstAndTimeoutsInherited) {
  const auto pools = parse_pools({"p.toml", R"(
[[pool]]
name = "ml"
parent = "research"
min_share = "map_slots=8,reduce_slots=2"
max_running_jobs = 3
policy = "fifo"
[[pool]]
name = "research"
weight = 2.5
min_share = 10
min_share_timeout = "30s"
)"});
  ASSERT_TRUE(pools) << pools.error().to_string();
  ASSERT_EQ(pools->size(), 2u);
  EXPECT_EQ(pools->at(0).name, "research");
  EXPECT_EQ(pools->at(0).weight, 2.5);
  EXPECT_EQ(pools->at(0).min_share.cpu, 10);
  EXPECT_EQ(pools->at(1).parent, std::optional<std::size_t>(0));
  EXPECT_EQ(pools->at(1).min_share.map_slots, 8);
  EXPECT_EQ(pools->at(1).max_running_jobs, std::optional<std::uint64_t>(3));
  EXPECT_TRUE(pools->at(1).fifo);
  EXPECT_EQ(pools->at(1).min_share_timeout, std::optional<Time>(std::chrono::seconds(30)));
  EXPECT_FALSE(pools->at(1).fair_share_timeout);
  EXPECT_TRUE(parse_pools({"p.toml", ""}));
}

TEST(Pools, EveryFaultIsNamedWithItsLine) {
  EXPECT_EQ(pools_error(pool("a") + pool("a")), "p.toml:5: there is a pool 'a' already, in line 1");
  EXPECT_EQ(pools_error("[[pool]]\nweight=1"), "p.toml:1: a pool needs a name");
  EXPECT_EQ(pools_error(pool("a", "parent='b'")), "p.toml:3: pool 'a' lies under 'b', which is not there");
  EXPECT_EQ(pools_error(pool("a", "parent='b'") + pool("b", "parent='c'") + pool("c", "parent='a'")),
            "p.toml:3: pool 'a' lies under itself");
  EXPECT_EQ(pools_error(pool("a", "parent='a'")), "p.toml:3: pool 'a' lies under itself");
  EXPECT_EQ(pools_error(pool("a", "wieght=2")), "p.toml:3: unknown key 'wieght' (did you mean 'weight'?)");
  EXPECT_EQ(pools_error(pool("a", "weight=0")), "p.toml:3: weight must lie between 1e-06 and 1000000");
  EXPECT_EQ(pools_error(pool("a", "weight=nan")), "p.toml:3: weight must lie between 1e-06 and 1000000");
  EXPECT_EQ(pools_error(pool("a", "weight='big'")), "p.toml:3: weight must be a number");
  EXPECT_EQ(pools_error(pool("a", "min_share='gpu=1'")).substr(0, 40), "p.toml:3: min_share: 'gpu=1' is no amoun");
  EXPECT_EQ(pools_error(pool("a", "min_share=-1")), "p.toml:3: min_share must be finite and not negative");
  EXPECT_EQ(pools_error(pool("a", "policy='lifo'")), "p.toml:3: policy 'lifo' is neither fair nor fifo");
  EXPECT_EQ(pools_error(pool("a", "min_share_timeout=5")),
            "p.toml:3: min_share_timeout must be a duration (write for example \"30s\")");
  EXPECT_EQ(pools_error("x = 1"), "p.toml:1: unknown 'x' (only [[pool]] tables are known)");
  EXPECT_EQ(pools_error("[pool]\nname='a'"), "p.toml:1: unknown 'pool' (only [[pool]] tables are known)");
  EXPECT_EQ(pools_error(pool("a", "weight=[1]")), "p.toml:3: weight must be text, a number, true, false or a list of texts");
  EXPECT_EQ(pools_error("[[pool]]\nname=").substr(0, 9), "p.toml:2:");
  EXPECT_EQ(make_scheduler("fair(pools=p.toml)", reader_of({{"p.toml", "[[pool]]"}})).error().to_string(),
            "scheduler 'fair': p.toml:1: a pool needs a name");
}

TEST(Queues, SumToAHundredOnEachLevel) {
  const std::string good = R"(
[[queue]]
name = "all"
capacity = 100
[[queue]]
name = "production"
parent = "all"
capacity = 70
max_capacity = 90
user_limit_percent = 25
priorities = true
[[queue]]
name = "default"
parent = "all"
capacity = 30
user_limit_factor = 2
)";
  const auto queues = parse_queues({"q.toml", good});
  ASSERT_TRUE(queues) << queues.error().to_string();
  EXPECT_EQ(queues->at(1).max_capacity, 90);
  EXPECT_TRUE(queues->at(1).priorities);
  EXPECT_EQ(queues->at(2).user_limit_factor, 2);
  EXPECT_EQ(queues_error("[[queue]]\nname='a'\ncapacity=60\n[[queue]]\nname='b'\ncapacity=30"),
            "q.toml:3: the capacities at the top sum to 90, not to 100");
  EXPECT_EQ(queues_error("[[queue]]\nname='a'\ncapacity=100\n[[queue]]\nname='b'\nparent='a'\ncapacity=101"),
            "q.toml:7: capacity must lie between 0 and 100");
  EXPECT_EQ(queues_error("[[queue]]\nname='a'\ncapacity=100\n[[queue]]\nname='b'\nparent='a'\ncapacity=99"),
            "q.toml:7: the capacities under 'a' sum to 99, not to 100");
}

TEST(Queues, EveryFaultIsNamedWithItsLine) {
  EXPECT_EQ(queues_error(""), "q.toml:1: there is no [[queue]]");
  EXPECT_EQ(queues_error("[[queue]]\nname='a'"), "q.toml:1: a queue needs a capacity in percent");
  EXPECT_EQ(queues_error("[[queue]]\nname='a'\ncapacity=50\nmax_capacity=40"), "q.toml:4: max_capacity is less than capacity");
  EXPECT_EQ(queues_error("[[queue]]\nname='a'\ncapacity=100\nuser_limit_percent=0"),
            "q.toml:4: user_limit_percent must lie between 1 and 100");
  EXPECT_EQ(queues_error("[[queue]]\nname='a'\ncapacity=100\nparent='a'"), "q.toml:4: queue 'a' lies under itself");
  EXPECT_EQ(queues_error("[[queue]]\nname='a'\ncapacity=100\npriorities=1"), "q.toml:4: priorities must be true or false");
}

TEST(Config, DamagedTextIsReadOrRefusedNeverWorse) {
  const std::vector<std::string> good{
      pool("a", "weight=2\nmin_share='cpu=4,map_slots=2'") + pool("b", "parent='a'\npolicy='fifo'\nmin_share_timeout='5s'"),
      "[[queue]]\nname='a'\ncapacity=60\nmax_capacity=90\n[[queue]]\nname='b'\ncapacity=40\npriorities=true\n",
      "cogrs(inner=delay(inner=fair(pools=p.toml, interval=5s), skips=3), wait=1s, metric=tnd)",
      "cpu=1,memory=512MiB,network_in=1e6"};
  const std::string alphabet = "()[]=,.'\"\\\n0123456789abcdefinmopqrstuvwx_- \xff";
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    Random random(seed);
    std::string text = good[random.below(good.size())];
    for (std::uint64_t edits = 1 + random.below(6); edits > 0; --edits) {
      const auto at = static_cast<std::size_t>(random.below(text.size() + 1));
      const char c = alphabet[random.below(alphabet.size())];
      if (random.chance(0.4) && at < text.size())
        text.erase(at, 1 + random.below(8));
      else if (random.chance(0.5) && at < text.size())
        text[at] = c;
      else
        text.insert(at, 1, c);
    }
    if (const auto pools = parse_pools({"p.toml", text})) {
      for (std::size_t i = 0; i < pools->size(); ++i) {
        const PoolSettings& one = (*pools)[i];
        ASSERT_TRUE(one.weight > 0 && valid(one.min_share) && (!one.parent || *one.parent < i)) << "seed " << seed;
      }
    }
    if (const auto queues = parse_queues({"q.toml", text})) {
      double top = 0;
      for (const QueueSettings& one : *queues) top += one.parent ? 0 : one.capacity;
      ASSERT_NEAR(top, 100, 1e-3) << "seed " << seed;
    }
    const auto resources = parse_resources(text);
    ASSERT_TRUE(!resources || valid(*resources)) << "seed " << seed;
    const auto made = make_scheduler(text, reader_of({{"p.toml", good[0]}}));
    ASSERT_TRUE(made || made.error().to_string().find('\n') == std::string::npos) << "seed " << seed << ": errors are one line";
  }
}

}  // namespace
}  // namespace weft::schedulers
