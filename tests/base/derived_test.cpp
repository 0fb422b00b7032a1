// Messages between sides of one release: every kind of member comes back, and nothing that is no message is believed.
#include "base/rpc/derived.hpp"

#include <random>

#include <gtest/gtest.h>

namespace weft::rpc::derived_test {  // with linkage, which clang wants of types whose fields are found

enum class Colour : std::uint8_t { red = 0, green = 1, blue = 2 };
constexpr Colour last_of(Colour) { return Colour::blue; }

struct Nothing {
  friend bool operator==(const Nothing&, const Nothing&) = default;
};
struct Point {
  std::int32_t x = 0, y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};
struct All {
  static constexpr std::string_view kName = "test message";
  bool flag = false;
  double real = 0;
  Colour colour = Colour::red;
  JobId job;
  Duration time{0};
  std::string text;
  std::vector<Point> points;
  std::map<std::string, std::int64_t> counters;
  std::optional<std::vector<std::uint32_t>> numbers;
  std::variant<Nothing, Point, std::string> one_of;
  SharedBytes shared;
  Buffer bytes;
};

All example() {
  All all;
  all.flag = true;
  all.real = -1.5;
  all.colour = Colour::blue;
  all.job = JobId(77);
  all.time = std::chrono::seconds(-3);
  all.text = std::string("with a \0 in it", 14);
  all.points = {{1, 2}, {-3, 4}};
  all.counters = {{"a", -1}, {"", 5}};
  all.numbers = {{7, 8, 9}};
  all.one_of = std::string("chosen");
  all.shared = SharedBytes(Buffer::copy_of(as_bytes("first")));
  all.bytes = Buffer::copy_of(as_bytes("second"));
  return all;
}

Message received(const Payload& payload) {
  Message message;
  message.header = Buffer::copy_of(payload.header.view());
  std::string bulk;
  for (const SharedBytes& piece : payload.bulk) bulk += as_chars(piece.bytes);
  message.bulk = Buffer::copy_of(as_bytes(bulk));
  return message;
}

Message of_bytes(ByteView header, std::string_view bulk = "firstsecond") {
  Message message;
  message.header = Buffer::copy_of(header);
  message.bulk = Buffer::copy_of(as_bytes(bulk));
  return message;
}

TEST(Derived, EveryKindOfMemberComesBack) {
  const auto back = decode_derived<All>(received(encode_derived(example())));
  ASSERT_TRUE(back) << back.error().to_string();
  const All expected = example();
  EXPECT_EQ(back->flag, expected.flag);
  EXPECT_EQ(back->real, expected.real);
  EXPECT_EQ(back->colour, expected.colour);
  EXPECT_EQ(back->job, expected.job);
  EXPECT_EQ(back->time, expected.time);
  EXPECT_EQ(back->text, expected.text);
  EXPECT_EQ(back->points, expected.points);
  EXPECT_EQ(back->counters, expected.counters);
  EXPECT_EQ(back->numbers, expected.numbers);
  EXPECT_EQ(back->one_of, expected.one_of);
  EXPECT_EQ(as_chars(back->shared.bytes), "first");
  EXPECT_EQ(as_chars(back->bytes.view()), "second");
}

TEST(Derived, BulkBytesTravelBehindTheHeaderUncopied) {
  All all = example();
  const std::byte* const at = all.bytes.data();
  const Payload payload = encode_derived(std::move(all));
  ASSERT_EQ(payload.bulk.size(), 2u);
  EXPECT_EQ(payload.bulk[1].bytes.data(), at);
}

TEST(Derived, WhatIsCutShortOrLongerIsRefused) {
  const Payload whole = encode_derived(example());
  for (std::size_t length = 0; length < whole.header.size(); ++length) {
    const auto cut = decode_derived<All>(of_bytes(whole.header.view().first(length)));
    ASSERT_FALSE(cut) << length;
    EXPECT_EQ(cut.error().code(), Code::corrupt);
    EXPECT_NE(cut.error().to_string().find("test message"), std::string::npos);
  }
  std::string longer(as_chars(whole.header.view()));
  longer += 'x';
  EXPECT_FALSE(decode_derived<All>(of_bytes(as_bytes(longer))));
  EXPECT_FALSE(decode_derived<All>(of_bytes(whole.header.view(), "firstsecon")));
}

template <class T>
struct One {
  static constexpr std::string_view kName = "one";
  T value{};
};

template <class T>
bool reads(std::string_view bytes) {
  return decode_derived<One<T>>(of_bytes(as_bytes(bytes), "")).has_value();
}

TEST(Derived, ValuesThatNothingHasAreRefused) {
  using namespace std::string_view_literals;
  EXPECT_TRUE(reads<bool>("\1"sv));
  EXPECT_FALSE(reads<bool>("\2"sv));
  EXPECT_TRUE(reads<Colour>("\2"sv));
  EXPECT_FALSE(reads<Colour>("\3"sv));
  EXPECT_TRUE((reads<std::variant<Nothing, bool>>("\1\1"sv)));
  EXPECT_FALSE((reads<std::variant<Nothing, bool>>("\2\1"sv)));
  EXPECT_FALSE(reads<std::optional<bool>>("\2\1"sv));
}

TEST(Derived, ACountIsNotBelievedBeforeItsElementsCanBeThere) {
  using namespace std::string_view_literals;
  EXPECT_FALSE(reads<std::vector<Nothing>>("\xff\xff\xff\xff\x0f"sv));
  EXPECT_FALSE(reads<std::string>("\xff\xff\xff\xff\xff\xff\xff\xff\x7f"sv));
  EXPECT_FALSE((reads<std::map<std::string, bool>>("\x05\1a\1"sv)));
  EXPECT_TRUE(reads<std::vector<Nothing>>("\x02\0\0"sv));
}

TEST(Derived, RandomBytesAreReadOrRefused) {
  std::mt19937 random(11);
  const Payload whole = encode_derived(example());
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(as_chars(whole.header.view()));
    for (int changes = 1 + static_cast<int>(random() % 4); changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (round % 3 == 0) bytes.resize(random() % (bytes.size() + 1));
    if (auto read = decode_derived<All>(of_bytes(as_bytes(bytes)))) static_cast<void>(encode_derived(std::move(*read)));
  }
}

template <class T>
constexpr std::uint64_t layout() {
  return MessageList<One<T>>::layout();
}

TEST(Derived, TheLayoutChangesWithTheDeclaration) {
  struct Same {
    std::int32_t a = 0, b = 0;
  };
  struct Wider {
    std::int64_t x = 0, y = 0;
  };
  struct Longer {
    std::int32_t x = 0, y = 0;
    bool z = false;
  };
  EXPECT_EQ(layout<Point>(), layout<Same>());
  EXPECT_NE(layout<Point>(), layout<Wider>());
  EXPECT_NE(layout<Point>(), layout<Longer>());
  EXPECT_NE(layout<std::vector<Point>>(), layout<Point>());
  EXPECT_NE(layout<std::vector<Point>>(), layout<std::optional<Point>>());
  EXPECT_NE((layout<std::variant<bool, Point>>()), (layout<std::variant<Point, bool>>()));
  EXPECT_NE(layout<std::int32_t>(), layout<std::uint32_t>());
  EXPECT_NE(layout<std::uint8_t>(), layout<Colour>());
}

}  // namespace weft::rpc::derived_test
