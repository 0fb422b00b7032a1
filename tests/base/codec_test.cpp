#include "base/codec.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace weft {
namespace {

enum class Colour : std::uint8_t { red, green };
enum Plain { kOne = 1, kTwo = 2 };
struct Nothing {
  friend bool operator==(const Nothing&, const Nothing&) = default;
};
struct Point {
  double x;
  double y;
  friend bool operator==(const Point&, const Point&) = default;
};
struct Padded {
  char tag;
  std::int64_t number;
  friend bool operator==(const Padded&, const Padded&) = default;
};
struct Record {
  char name[5];
  std::int32_t matrix[2][2];
  Colour colour = Colour::red;
  Padded padded;
  std::optional<std::string> note;
  std::vector<Point> path;
  std::tuple<int, std::string> pair;
  bool flag;
  friend bool operator==(const Record&, const Record&) = default;
};
struct Largest {  // 25 fields
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y;
  std::string x;
  friend bool operator==(const Largest&, const Largest&) = default;
};
struct TooLarge {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z;
};
struct Money {
  explicit Money(std::int64_t count) : cents(count) {}
  std::int64_t cents;
};
struct Priced {  // a field that only its owner knows how to make, before a C array
  int id = 0;
  Money price = Money(0);
  char name[5] = {};
  double weight = 0;
};
static_assert(std::tuple_size_v<FieldsOf<Priced>> == 4);
struct WithBase : Point {
  int z;
};
struct WithPointer {
  int* pointer;
};
struct WithView {
  int number;
  std::string_view text;
};
/// A user type with a codec of its own.
class Angle {
 public:
  explicit Angle(int degrees = 0) : degrees_(degrees % 360) {}
  int degrees() const { return degrees_; }
  friend bool operator==(const Angle&, const Angle&) = default;

 private:
  int degrees_;
};

}  // namespace

template <>
struct Codec<Angle> {
  static void encode(const Angle& angle, Encoder& out) { out.append_value(static_cast<std::int16_t>(angle.degrees())); }
  static Angle decode(Decoder& in) { return Angle(in.take_value<std::int16_t>()); }
};

namespace {

static_assert(Encodable<Record> && Encodable<Nothing> && Encodable<Largest> &&
              Encodable<std::vector<std::pair<Angle, std::string_view>>>);
static_assert(!Encodable<TooLarge> && !Encodable<WithBase> && !Encodable<WithPointer> && !Encodable<std::unique_ptr<int>> &&
              !Encodable<const char*> && !Encodable<std::vector<int*>>);
static_assert(Codec<Point>::kFlat && !Codec<Padded>::kFlat && !detail::is_flat<Angle>() && !Codec<Record>::kFlat);
static_assert(std::is_same_v<Owned<std::pair<std::string_view, std::optional<std::tuple<int, std::string_view>>>>,
                             std::pair<std::string, std::optional<std::tuple<int, std::string>>>>);
static_assert(std::is_same_v<Owned<std::array<std::string_view, 2>>, std::array<std::string, 2>>);
static_assert(std::is_same_v<Owned<Record>, Record>);
struct PlainNumbers {
  int a;
  double b[3];
  std::optional<char> c;
};
static_assert(kHoldsNumbersOnly<int> && kHoldsNumbersOnly<std::array<PlainNumbers, 2>>);
static_assert(!kHoldsNumbersOnly<WithPointer> && !kHoldsNumbersOnly<std::string_view> && !kHoldsNumbersOnly<std::string>);
static_assert(kHoldsViews<WithView> && kHoldsViews<std::vector<std::string_view>> && !kHoldsViews<Record>);
static_assert(kHoldsViews<std::pair<int, WithView>> && kHoldsViews<std::tuple<int, WithView>> &&
              kHoldsViews<std::vector<WithView>> && kHoldsViews<std::optional<WithView>> && kHoldsViews<std::array<WithView, 2>> &&
              kHoldsViews<std::map<int, WithView>>);
static_assert(!kHoldsViews<std::pair<int, Record>> && !kHoldsViews<std::tuple<>> && !kHoldsViews<std::map<std::string, Record>>);

template <class T>
void expect_round_trip(const T& value) {
  Encoder out;
  encode(value, out);
  EXPECT_GT(out.size(), 0U);
  Decoder in(out.view());
  EXPECT_TRUE(decode<T>(in) == value);
  EXPECT_TRUE(in.empty());
  for (std::size_t size = 0; size < out.size(); ++size) {
    Decoder cut(out.view().first(size));
    EXPECT_THROW(decode<T>(cut), CodecError) << "cut to " << size << " of " << out.size();
  }
}

Record some_record() {
  return {{'n', 'a', 'm', 'e', 0}, {{1, 2}, {3, 4}}, Colour::green, {'t', -5}, "a note", {{1, 2}, {3, 4}}, {7, "seven"}, true};
}

TEST(Codec, every_kind_of_value_comes_back_and_a_shorter_encoding_is_refused) {
  expect_round_trip(std::int8_t{-1});
  expect_round_trip(std::uint64_t{1} << 63);
  expect_round_trip('c');
  expect_round_trip(true);
  expect_round_trip(3.5f);
  expect_round_trip(-0.1L);
  expect_round_trip(std::numeric_limits<double>::infinity());
  expect_round_trip(Colour::green);
  expect_round_trip(kTwo);
  expect_round_trip(std::byte{7});
  expect_round_trip(std::string());
  expect_round_trip(std::string(1000, 'x'));
  expect_round_trip(std::string_view("view"));
  expect_round_trip(std::pair<int, std::string>(1, "one"));
  expect_round_trip(std::tuple<>());
  expect_round_trip(std::tuple<std::string, std::string, char>("a", "b", 'c'));
  expect_round_trip(std::array<int, 3>{1, 2, 3});
  expect_round_trip(std::array<std::string, 2>{"x", ""});
  expect_round_trip(std::array<int, 0>{});
  expect_round_trip(std::vector<int>{});
  expect_round_trip(std::vector<int>{1, 2, 3});
  expect_round_trip(std::vector<bool>{true, false, true});
  expect_round_trip(std::vector<std::vector<std::string>>{{"a"}, {}, {"b", "c"}});
  expect_round_trip(std::vector<Nothing>(5));
  expect_round_trip(std::optional<std::string>());
  expect_round_trip(std::optional<std::optional<int>>(std::optional<int>()));
  expect_round_trip(Nothing{});
  expect_round_trip(Point{1, -2});
  expect_round_trip(Padded{'p', 9});
  expect_round_trip(Largest{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, "x"});
  expect_round_trip(some_record());
  expect_round_trip(Angle(370));
  expect_round_trip(std::vector<Angle>{Angle(1), Angle(2)});
}

TEST(Codec, layouts_are_the_documented_ones) {
  Encoder out;
  encode(std::tuple<std::int32_t, std::string, bool>(0x01020304, "ab", true), out);
  EXPECT_EQ(as_chars(out.view()), std::string_view("\x04\x03\x02\x01\x02"
                                                   "ab\x01"));
  out.clear();
  out.append_varint(300);
  EXPECT_EQ(as_chars(out.view()), "\xac\x02");
}

template <class T>
void expect_fixed(const T& value, std::size_t bytes) {
  static_assert(FixedSize<T>);
  EXPECT_EQ(kFixedBytes<T>, bytes);
  Encoder out;
  encode(value, out);
  ASSERT_EQ(out.size(), bytes);
  std::vector<std::byte> stored(bytes);
  store_fixed(value, stored.data());
  EXPECT_EQ(std::memcmp(stored.data(), out.view().data(), bytes), 0);
  EXPECT_TRUE(load_fixed<T>(stored.data()) == value);
}

TEST(Codec, values_of_fixed_size_are_stored_as_they_are_encoded) {
  expect_fixed(std::uint16_t{7}, 2);
  expect_fixed(std::pair<std::uint64_t, std::uint64_t>(1, 2), 16);
  expect_fixed(std::pair<std::int8_t, std::tuple<double, Colour>>(-1, {2.5, Colour::green}), 10);
  expect_fixed(std::tuple<Point, std::array<int, 3>>({1, 2}, {3, 4, 5}), 28);
  static_assert(!FixedSize<bool> && !FixedSize<std::string> && !FixedSize<std::pair<int, std::string>> && !FixedSize<Padded> &&
                !FixedSize<std::tuple<>> && !FixedSize<Angle>);
}

TEST(Codec, padding_bytes_never_reach_the_encoding) {
  alignas(Padded) std::byte dirty[2][sizeof(Padded)];
  std::memset(dirty[0], 0x00, sizeof(Padded));
  std::memset(dirty[1], 0xff, sizeof(Padded));
  std::array<std::string, 2> encodings;
  for (std::size_t i = 0; i < 2; ++i) {
    auto* padded = reinterpret_cast<Padded*>(dirty[i]);
    padded->tag = 'x';
    padded->number = 42;
    Encoder out;
    encode(*padded, out);
    encodings[i] = as_chars(out.view());
  }
  EXPECT_EQ(encodings[0], encodings[1]);
  EXPECT_EQ(encodings[0].size(), 9U);
}

TEST(Codec, varints_reach_over_the_whole_range) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t value : {(1ULL << bit) - 1, 1ULL << bit, ~0ULL >> bit}) {
      Encoder out;
      out.append_varint(value);
      Decoder in(out.view());
      EXPECT_EQ(in.take_varint(), value);
    }
  }
  const std::string too_long = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02";
  Decoder in(as_bytes(too_long));
  EXPECT_THROW(in.take_varint(), CodecError);
}

TEST(Codec, an_absurd_count_is_refused_before_memory_is_reserved) {
  Encoder out;
  out.append_varint(1ULL << 60);
  out.append("some bytes", 10);
  Decoder text(out.view());
  EXPECT_THROW(decode<std::string>(text), CodecError);
  Decoder nested(out.view());
  EXPECT_THROW((decode<std::vector<std::vector<std::string>>>(nested)), CodecError);
  Decoder empty(out.view());
  EXPECT_THROW(decode<std::vector<Nothing>>(empty), CodecError);
}

TEST(Codec, mutated_bytes_decode_or_throw) {
  constexpr std::uint64_t kSeed = 3;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  Encoder out;
  encode(std::vector<Record>(3, some_record()), out);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bytes(out.view().begin(), out.view().end());
    for (std::uint64_t i = 1 + random.below(3); i > 0; --i) bytes[random.below(bytes.size())] = static_cast<std::byte>(random());
    if (random.chance(0.2)) bytes.resize(random.below(bytes.size()));
    Decoder in(bytes);
    try {
      decode<std::vector<Record>>(in);
    } catch (const CodecError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(KeyHash, texts_agree_whatever_holds_them_and_wherever_they_lie) {
  Random random(4);
  std::string page(3 * 4096, 'p');
  for (std::size_t size = 0; size < 40; ++size) {
    std::string text(size, ' ');
    for (char& c : text) c = static_cast<char>(random.below(256));
    for (std::size_t offset = 4096 - 40; offset < 4096 + 40; ++offset) {  // some of them end at a page boundary
      std::string copy = page;
      copy.replace(offset, size, text);
      EXPECT_EQ(key_hash(std::string_view(copy).substr(offset, size)), key_hash(text));
    }
  }
}

TEST(KeyHash, bytes_behind_a_short_text_do_not_matter) {
  for (std::size_t size = 0; size <= 16; ++size) {
    std::string text(size, 't');
    EXPECT_EQ(key_hash(std::string_view((text + "AAAAAAAAAAAAAAAAAAAA")).substr(0, size)),
              key_hash(std::string_view((text + "BBBBBBBBBBBBBBBBBBBB")).substr(0, size)));
  }
}

TEST(KeyHash, composed_keys_agree_with_their_owned_forms) {
  using Viewing = std::pair<std::string_view, std::optional<int>>;
  const Viewing viewing("some text that is longer than sixteen bytes", 3);
  EXPECT_EQ(key_hash(viewing), key_hash(to_owned(viewing)));
}

TEST(Codec, sets_and_maps_of_all_kinds_come_back) {
  expect_round_trip(std::set<int>{3, 1, 2});
  expect_round_trip(std::set<std::string, std::greater<>>{"a", "b"});
  expect_round_trip(std::multiset<int>{1, 1, 2});
  expect_round_trip(std::map<std::string, std::vector<int>>{{"x", {1, 2}}, {"", {}}});
  expect_round_trip(std::multimap<int, std::string>{{1, "a"}, {1, "b"}});
  expect_round_trip(std::unordered_set<std::string>{"a", "bc", ""});
  expect_round_trip(std::unordered_map<int, std::set<int>>{{1, {2, 3}}, {4, {}}});
  expect_round_trip(std::map<int, int>{});
  static_assert(!Encodable<std::set<std::string_view>>, "who keeps a record does not look into it for views");
}

TEST(Codec, equal_hashed_containers_have_equal_bytes) {
  std::unordered_set<int> one, other(4096);
  for (int i = 0; i < 1000; ++i) one.insert(i), other.insert(999 - i);
  Encoder a, b;
  encode(one, a), encode(other, b);
  EXPECT_TRUE(std::equal(a.view().begin(), a.view().end(), b.view().begin(), b.view().end()));
}

TEST(Codec, damaged_sets_are_refused) {
  Encoder out;
  encode(std::vector<std::uint8_t>{1, 1}, out);
  Decoder twice(out.view());
  EXPECT_THROW((void)decode<std::set<std::uint8_t>>(twice), CodecError);
  Encoder many;
  many.append_varint(1ULL << 60);
  Decoder claimed(many.view());
  EXPECT_THROW((void)decode<std::set<std::uint8_t>>(claimed), CodecError);
}

TEST(KeyHash, different_keys_have_different_hashes_and_spread_over_partitions) {
  std::set<std::uint64_t> hashes;
  std::array<int, 16> counts{};
  constexpr int kKeys = 40000;
  for (int i = 0; i < kKeys; ++i) {
    const std::uint64_t hash = key_hash(std::to_string(i));
    hashes.insert(hash);
    hashes.insert(key_hash(i));
    ++counts[hash_partition(hash, 16)];
    ++counts[hash_partition(key_hash(i), 16)];
  }
  EXPECT_EQ(hashes.size(), 2U * kKeys);
  for (const int count : counts) EXPECT_NEAR(count, 2 * kKeys / 16, 400);
  EXPECT_NE(key_hash(std::string("a")), key_hash(std::string("a\0", 2)));
  EXPECT_NE(key_hash(0.0), key_hash(-0.0));  // documented: keys are the same when their bytes are
}

TEST(KeyHash, partitions_are_in_range) {
  for (const std::uint32_t partitions : {1U, 2U, 3U, 1000U}) {
    EXPECT_EQ(hash_partition(0, partitions), 0U);
    EXPECT_EQ(hash_partition(~0ULL, partitions), partitions - 1);
  }
}

}  // namespace
}  // namespace weft
