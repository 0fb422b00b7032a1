// The hash table itself and the memory it lies in.
#include <cstdlib>
#include <map>
#include <new>
#include <set>

#include "base/page_pool.hpp"
#include "runtime/operators/aggregation_table.hpp"
#include "tests/runtime/operators/operators_fixture.hpp"

namespace {

bool memory_refused = false;  // to whoever wants aligned memory, as tables do

}  // namespace

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (memory_refused) throw std::bad_alloc();
  const auto unit = static_cast<std::size_t>(alignment);
  void* const memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace weft::runtime {
namespace {

template <class K>
class Counted {
 public:
  explicit Counted(std::uint64_t bytes, unsigned level = 0)
      : test_(bytes), account_(test_.context, "test"), table_(account_, level) {}

  bool add(const K& key, std::uint64_t count = 1) {
    return table_.upsert(
        table_.ref(key), [&](std::uint64_t& acc) { acc += count; }, [&] { return count; });
  }
  std::map<Owned<K>, std::uint64_t> all() {
    std::map<Owned<K>, std::uint64_t> all;
    table_.for_each([&](const auto& entry) { EXPECT_TRUE(all.emplace(Owned<K>(entry.key()), entry.acc()).second); });
    return all;
  }
  AggregationTable<K, std::uint64_t>& table() { return table_; }
  Account& account() { return account_; }

 private:
  TestContext test_;
  Account account_;
  AggregationTable<K, std::uint64_t> table_;
};

TEST(AggregationTable, KeysOfEveryLengthAndContentAreToldApart) {
  Counted<std::string_view> counted(64 << 20);
  std::map<std::string, std::uint64_t> expected;
  for (std::size_t length = 0; length < 40; ++length) {
    for (const std::string& key : {std::string(length, '\0'), std::string(length, 'a'), std::string(length, '\xff'),
                                   std::string(length, 'a') + '\0', '\0' + std::string(length, 'a')}) {
      ASSERT_TRUE(counted.add(key));
      ++expected[key];
    }
  }
  EXPECT_EQ(counted.all(), expected);
  EXPECT_EQ(counted.table().size(), expected.size());
  for (const auto& [key, count] : expected) {
    const auto* acc = counted.table().find(counted.table().ref(key));
    ASSERT_NE(acc, nullptr);
    EXPECT_EQ(*acc, count);
  }
  EXPECT_EQ(counted.table().find(counted.table().ref("not there")), nullptr);
}

TEST(AggregationTable, ATableThatCannotGrowStaysAsItIs) {
  Counted<std::uint64_t> counted(1 << 20);
  for (std::uint64_t key = 1; key <= 1000; ++key) ASSERT_TRUE(counted.add(key));
  const std::uint64_t used = counted.account().used();
  memory_refused = true;
  std::uint64_t key = 1001;
  try {
    while (key < 100'000 && counted.add(key)) ++key;
  } catch (const std::bad_alloc&) {
    memory_refused = false;
  }
  ASSERT_FALSE(std::exchange(memory_refused, false)) << "it needed no memory";
  EXPECT_EQ(counted.account().used(), used);
  EXPECT_EQ(counted.table().size(), key - 1);
  EXPECT_EQ(counted.all().size(), key - 1);
  while (key <= 5000) ASSERT_TRUE(counted.add(key++));
  EXPECT_EQ(counted.all().size(), 5000u);
}

TEST(AggregationTable, LongKeysOfOneHashAreToldApart) {
  Encoder zero;  // what makes a factor of the first 16 bytes' product 0, so that the other factor does not matter
  zero.append_value<std::uint64_t>(0xa0761d6478bd642fULL);
  const std::string start(as_chars(zero.view()));
  const std::string a = start + "seven ho" + "and the same end", b = start + "eight ho" + "and the same end";
  ASSERT_EQ(key_hash(a), key_hash(b));
  Counted<std::string> counted(1 << 20);
  ASSERT_TRUE(counted.add(a));
  ASSERT_TRUE(counted.add(b));
  EXPECT_EQ(counted.all(), (std::map<std::string, std::uint64_t>{{a, 1}, {b, 1}}));
}

TEST(AggregationTable, TheNumberZeroIsAKeyLikeAnyOther) {
  Counted<std::int64_t> counted(1 << 20);
  for (const std::int64_t key : {0, 1, -1, 0, 0}) ASSERT_TRUE(counted.add(key));
  EXPECT_EQ(counted.all(), (std::map<std::int64_t, std::uint64_t>{{0, 3}, {1, 1}, {-1, 1}}));
  counted.table().clear();
  EXPECT_EQ(counted.table().find(counted.table().ref(0)), nullptr);
  EXPECT_EQ(counted.table().size(), 0u);
}

TEST(AggregationTable, ItsWalkVisitsEqualKeysInTheSameOrderWhateverTheOrderOfInsertion) {
  const auto walk = [](std::uint64_t first, std::uint64_t step) {
    Counted<std::uint64_t> counted(64 << 20);
    for (std::uint64_t i = 0; i < 50'000; ++i) EXPECT_TRUE(counted.add((first + i * step) % 50'000));
    std::vector<std::uint64_t> hashes;
    counted.table().for_each([&](const auto& entry) { hashes.push_back(entry.hash() << 24); });
    return hashes;
  };
  const auto ascending = walk(0, 1), stepping = walk(17, 7);
  std::size_t disorders = 0;  // neighbours that share a home may be exchanged
  for (std::size_t i = 1; i < ascending.size(); ++i) disorders += ascending[i] < ascending[i - 1] ? 1U : 0U;
  EXPECT_LT(disorders, ascending.size() / 4);
  EXPECT_EQ(std::multiset(ascending.begin(), ascending.end()), std::multiset(stepping.begin(), stepping.end()));
}

/// Counts the slots that lookups had to pass: what makes a table slow without making it wrong.
TEST(AggregationTable, KeysFromAnotherTableInItsOrderDoNotCrowdTheFront) {
  Counted<std::uint64_t> from(256 << 20), into(256 << 20);
  constexpr std::uint64_t kKeys = 200'000;
  for (std::uint64_t i = 0; i < kKeys; ++i) ASSERT_TRUE(from.add(i * i));
  std::uint64_t most = 0;
  from.table().for_each([&](const auto& entry) {
    ASSERT_TRUE(into.add(entry.key(), entry.acc()));
    most = std::max(most, into.account().used());
  });
  EXPECT_EQ(into.all(), from.all());
  // Reserved, not grown into: no more than the four times that half-full slots and a doubling explain.
  EXPECT_LT(most, kKeys * 16 * 8);
}

TEST(AggregationTable, RefusedMemoryLeavesTheTableAsItWas) {
  Counted<std::string> counted(8 << 10);
  std::map<std::string, std::uint64_t> expected;
  std::uint64_t i = 0;
  for (;; ++i) {
    const std::string key = std::string(i % 40, 'k') + std::to_string(i);
    if (!counted.add(key)) break;
    ++expected[key];
  }
  EXPECT_GT(expected.size(), 10u);
  EXPECT_EQ(counted.all(), expected);
  EXPECT_TRUE(counted.add(expected.begin()->first)) << "a key that is there needs no memory";
}

TEST(AggregationTable, GivesBackAllItTook) {
  TestContext test(16 << 20);
  {
    Account account(test.context, "test");
    AggregationTable<std::string, std::string> table(account);
    for (int i = 0; i < 5'000; ++i) {
      const std::string key = std::to_string(i) + std::string(static_cast<std::size_t>(i % 50), 'x');
      ASSERT_TRUE(table.upsert(
          table.ref(key), [](std::string&) { FAIL(); }, [&] { return key + key; }));
    }
    table.clear();
    EXPECT_EQ(table.size(), 0u);
    table.release();
    EXPECT_EQ(account.used(), 0u);
  }
  EXPECT_EQ(test.grant.used(), 0u);
}

TEST(Account, AnOperatorGetsWhatItWasPromisedEvenWhenOthersTookEverything) {
  TestContext test(1600);
  Account account(test.context, "test");
  ASSERT_TRUE(test.grant.try_take(1600));
  EXPECT_TRUE(account.try_take(60));
  EXPECT_TRUE(account.try_take(40));
  EXPECT_FALSE(account.try_take(1)) << "more than a sixteenth";
  EXPECT_EQ(test.grant.used(), 1600U) << "beyond the grant";
  account.give_back(100);
  EXPECT_EQ(test.grant.used(), 1600U) << "it was never the grant's";
  test.grant.give_back(1600);
  EXPECT_TRUE(account.try_take(800));
  EXPECT_EQ(test.grant.used(), 800U);
}

TEST(Arena, KeepsOrdinaryChunksWhenItIsClearedAndFreesOversizedOnes) {
  TestContext test(1U << 20);
  Account account(test.context, "test");
  Arena arena(account);
  ASSERT_NE(arena.try_allocate(8), nullptr);
  const std::uint64_t ordinary = account.used();
  ASSERT_NE(arena.try_allocate(3 * account.chunk_bytes()), nullptr);
  EXPECT_EQ(account.used(), ordinary + 3 * account.chunk_bytes());
  arena.clear();
  EXPECT_EQ(account.used(), ordinary);
  EXPECT_EQ(arena.allocated(), 0U);
}

TEST(PagePool, GivesAPieceAgainClearedOnDemand) {
  PagePool pool(64 << 20);
  std::byte* first = nullptr;
  {
    const Pages pages = Pages::uninitialized(4 << 20, &pool);
    first = pages.data();
    std::memset(first, 0x55, pages.size());
  }
  EXPECT_EQ(pool.kept(), 4u << 20);
  const Pages again = Pages::zeroed(4 << 20, &pool);
  EXPECT_EQ(again.data(), first);
  EXPECT_EQ(pool.kept(), 0u);
  for (std::size_t i = 0; i < again.size(); i += 509) ASSERT_EQ(again.data()[i], std::byte{0});
}

TEST(PagePool, KeepsNoMoreThanItsCapacityLeavesBesideWhatIsInUse) {
  PagePool pool(10 << 20);
  {
    const Pages a = Pages::uninitialized(4 << 20, &pool), b = Pages::uninitialized(3 << 20, &pool);
    { const Pages c = Pages::uninitialized(5 << 20, &pool); }
    EXPECT_LE(pool.kept(), 3u << 20);
  }
  EXPECT_LE(pool.kept(), 10u << 20);
  const Pages large = Pages::uninitialized(9 << 20, &pool);
  EXPECT_LE(pool.kept(), 1u << 20);
}

}  // namespace
}  // namespace weft::runtime
