#include "base/rpc/versioned.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "base/crc32c.hpp"
#include "base/random.hpp"
#include "tests/base/versioned.capnp.h"

namespace weft::rpc::versioned_test {  // with linkage, which clang wants of types whose fields are found

struct Joined {  // two numbers as one list of pieces
  std::vector<std::uint32_t> first, second;
};

}  // namespace weft::rpc::versioned_test

template <>
struct weft::rpc::WireForm<weft::rpc::versioned_test::Joined> {
  using Wire = std::vector<std::uint32_t>;
  using Joined = versioned_test::Joined;
  static Pieces<std::uint32_t> to_wire(const Joined& value) { return {{value.first, {}, value.second}}; }
  static Result<Joined> from_wire(Wire wire) {
    if (wire.size() > 3) return fail(Code::corrupt, "too many of them");
    return Joined{std::move(wire), {}};
  }
  static std::size_t bytes(const Joined& value) { return (value.first.size() + value.second.size()) * sizeof(std::uint32_t); }
};

namespace weft::rpc::versioned_test {

enum class Kind : std::uint16_t { none = 0, some = 300 };
using PartId = Id<struct PartTag>;

struct OldPart {
  PartId id;
  std::string name;
  std::optional<std::string> bytes;
  friend bool operator==(const OldPart&, const OldPart&) = default;
};
struct Old {
  bool flag = false;
  std::int64_t number = 0;
  Kind kind{};
  std::string text;
  std::vector<OldPart> parts;
  friend bool operator==(const Old&, const Old&) = default;
};

struct NewPart {
  PartId id;
  std::string name;
  std::optional<std::string> bytes;
  std::uint64_t more = 0;
  friend bool operator==(const NewPart&, const NewPart&) = default;
};
struct Nothing {
  friend bool operator==(const Nothing&, const Nothing&) = default;
};
struct Just {
  std::uint32_t number = 0;
  friend bool operator==(const Just&, const Just&) = default;
};
using OldChoice = std::variant<Nothing, OldPart>;
using NewChoice = std::variant<Nothing, NewPart, Just>;
struct New {
  bool flag = false;
  std::int64_t number = 0;
  Kind kind{};
  std::string text;
  std::vector<NewPart> parts;
  double share = 0;
  std::uint8_t small = 0;
  bool other = false;
  std::vector<std::uint64_t> numbers;
  std::vector<std::string> names, blobs;
  std::optional<NewPart> part;
  NewChoice choice;
  friend bool operator==(const New&, const New&) = default;
};

const std::string kBinary("a\0\xff", 3);

Old old_message() { return {true, -5, Kind::some, "words", {{PartId(7), "one", kBinary}, {PartId(8), "", std::nullopt}}}; }
New new_message() {
  return {true,
          std::numeric_limits<std::int64_t>::min(),
          Kind::some,
          "text",
          {{PartId(1), "a", "", 9}},
          0.25,
          255,
          true,
          {1, UINT64_MAX},
          {"x", "", "y"},
          {kBinary, ""},
          NewPart{PartId(3), "p", kBinary, 4},
          Just{12}};
}

template <class Schema, class T>
Result<T> again(const T& value) {
  return decode_versioned<Schema, T>(encode_versioned<Schema>(value).view(), "message");
}

TEST(Versioned, WhatIsWrittenIsRead) {
  EXPECT_EQ((again<testing::Older>(old_message()).value()), old_message());
  EXPECT_EQ((again<testing::Newer>(new_message()).value()), new_message());
  EXPECT_EQ((again<testing::Newer>(New{}).value()), New{});
  EXPECT_EQ((again<testing::Choice>(NewChoice(NewPart{PartId(1), "n", "b", 2})).value()),
            NewChoice(NewPart{PartId(1), "n", "b", 2}));
}

TEST(Versioned, BytesAreThoseOfCapnp) {
  const Buffer bytes = encode_versioned<testing::Newer>(new_message());
  const auto read = read_message<testing::Newer>(bytes.view(), "message", [](testing::Newer::Reader in) -> Result<void> {
    EXPECT_TRUE(in.getFlag());
    EXPECT_TRUE(in.getOther());
    EXPECT_EQ(in.getKind(), 300);
    EXPECT_EQ(in.getSmall(), 255);
    EXPECT_EQ(in.getShare(), 0.25);
    EXPECT_EQ(text_view(in.getParts()[0].getName()), "a");
    EXPECT_TRUE(in.getParts()[0].hasBytes());
    EXPECT_EQ(in.getNumbers()[1], UINT64_MAX);
    EXPECT_EQ(text_view(in.getNames()[2]), "y");
    EXPECT_EQ(as_chars(data_view(in.getBlobs()[0])), kBinary);
    EXPECT_EQ(in.getChoice().getNumber().getNumber(), 12U);
    return {};
  });
  EXPECT_TRUE(read) << read.error().to_string();
}

/// They take nothing of the message, and memory of whoever reads it.
TEST(Versioned, ManyStructsWithoutContentsAreRefused) {
  for (const unsigned count : {1000u, 2000u}) {
    capnp::MallocMessageBuilder message;
    auto root = message.initRoot<testing::Older>();
    root.setText(std::string(100'000, 'x').c_str());  // by which the reader may read on for long
    message.getRoot<capnp::AnyStruct>().getPointerSection()[1].initAsListOfAnyStruct(0, 0, count);
    const auto words = capnp::messageToFlatArray(message);
    const auto read = decode_versioned<testing::Older, Old>(
        as_bytes(std::string_view(words.asChars().begin(), words.asChars().size())), "message");
    if (count == 1000) {
      ASSERT_TRUE(read) << read.error().to_string();
      EXPECT_EQ(read->parts.size(), count);
    } else {
      ASSERT_FALSE(read);
      EXPECT_NE(read.error().to_string().find("empty structs"), std::string::npos) << read.error().to_string();
    }
  }
}

/// Length and CRC32C, as weft 0.1 encoded them.
TEST(Versioned, BytesAreThoseOfEarlierReleases) {
  const auto sum = [](const Buffer& bytes) { return std::to_string(bytes.size()) + " " + std::to_string(crc32c(bytes.view())); };
  EXPECT_EQ(sum(encode_versioned<testing::Older>(old_message())), "128 1399595919");
  EXPECT_EQ(sum(encode_versioned<testing::Newer>(new_message())), "312 3695403359");
  EXPECT_EQ(sum(encode_versioned<testing::Newer>(New{})), "112 3724878466");
}

TEST(Versioned, AnOlderReaderIgnoresWhatItDoesNotKnow) {
  New sent = new_message();
  sent.parts = {{PartId(7), "one", kBinary, 99}, {PartId(8), "", std::nullopt, 100}};
  const Buffer bytes = encode_versioned<testing::Newer>(sent);
  const Old read = decode_versioned<testing::Older, Old>(bytes.view(), "message").value();
  EXPECT_EQ(read.text, "text");
  EXPECT_EQ(read.parts, old_message().parts);
}

TEST(Versioned, ANewerReaderFindsNothingWhereAnOlderWriterKnewNoField) {
  const Buffer bytes = encode_versioned<testing::Older>(old_message());
  New expected;
  expected.flag = true, expected.number = -5, expected.kind = Kind::some, expected.text = "words";
  expected.parts = {{PartId(7), "one", kBinary, 0}, {PartId(8), "", std::nullopt, 0}};
  EXPECT_EQ((decode_versioned<testing::Newer, New>(bytes.view(), "message").value()), expected);
}

TEST(Versioned, AnUnknownKindIsRefused) {
  const Buffer known = encode_versioned<testing::Choice>(NewChoice(NewPart{PartId(1), "n", "b", 2}));
  EXPECT_TRUE((decode_versioned<testing::OlderChoice, OldChoice>(known.view(), "choice")));
  const Buffer unknown = encode_versioned<testing::Choice>(NewChoice(Just{1}));
  const auto refused = decode_versioned<testing::OlderChoice, OldChoice>(unknown.view(), "choice");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::corrupt);
  EXPECT_NE(refused.error().to_string().find("this version does not know"), std::string::npos);
}

TEST(Versioned, DamagedMessagesAreReadOrRefused) {
  const Buffer whole = encode_versioned<testing::Newer>(new_message());
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_FALSE((decode_versioned<testing::Newer, New>(whole.view().first(bytes), "message"))) << bytes;
  Random random(17);
  for (int round = 0; round < 20'000; ++round) {
    std::string text(as_chars(whole.view()));
    for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes)
      text[random.below(text.size())] = static_cast<char>(random.chance(0.3) ? 0xff : random.below(256));
    (void)decode_versioned<testing::Newer, New>(as_bytes(text), "message");
  }
}

struct OldPlace {
  std::uint32_t a = 0, b = 0;
  std::uint64_t c = 0;
  friend bool operator==(const OldPlace&, const OldPlace&) = default;
};
struct NewPlace {
  std::uint32_t a = 0, b = 0;
  std::uint64_t c = 0, d = 0;
  friend bool operator==(const NewPlace&, const NewPlace&) = default;
};
template <class Place, class Choice>
struct Lists {
  static constexpr bool kSkipsUnknown = true;
  std::vector<Place> places;
  std::shared_ptr<const std::vector<Place>> shared = std::make_shared<const std::vector<Place>>();
  std::optional<std::vector<std::uint32_t>> maybe;
  SharedBytes bytes;
  Joined joined;
  std::vector<Choice> choices;
};
using OldLists = Lists<OldPlace, OldChoice>;
using NewLists = Lists<NewPlace, NewChoice>;

TEST(Versioned, ListsOfNumbersAreReadByOlderAndNewerReleases) {
  NewLists sent;
  sent.places = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
  sent.shared = std::make_shared<const std::vector<NewPlace>>(sent.places);
  const Buffer bytes = encode_versioned<testing::NewerLists>(sent);
  const OldLists older = decode_versioned<testing::Lists, OldLists>(bytes.view(), "lists").value();
  EXPECT_EQ(older.places, (std::vector<OldPlace>{{1, 2, 3}, {5, 6, 7}, {9, 10, 11}}));
  EXPECT_EQ(*older.shared, older.places);
  const NewLists newer =
      decode_versioned<testing::NewerLists, NewLists>(encode_versioned<testing::Lists>(older).view(), "lists").value();
  EXPECT_EQ(newer.places, (std::vector<NewPlace>{{1, 2, 3, 0}, {5, 6, 7, 0}, {9, 10, 11, 0}}));
  EXPECT_EQ(*newer.shared, newer.places);
}

TEST(Versioned, ASharedListIsNeverNull) {
  const OldLists read = decode_versioned<testing::Lists, OldLists>(encode_versioned<testing::Older>(Old{}).view(), "lists").value();
  ASSERT_NE(read.shared, nullptr);
  EXPECT_TRUE(read.shared->empty());
}

TEST(Versioned, AnEmptyListIsAnotherThingThanNone) {
  OldLists sent;
  EXPECT_FALSE((again<testing::Lists>(sent).value().maybe));
  sent.maybe.emplace();
  EXPECT_EQ((again<testing::Lists>(sent).value().maybe), std::vector<std::uint32_t>());
}

TEST(Versioned, SharedBytesAreNeitherCopiedNorTakenAway) {
  OldLists sent;
  sent.bytes = SharedBytes(Buffer::copy_of(as_bytes("shared")));
  for (int round = 0; round < 2; ++round) {
    const Payload payload = versioned_payload<testing::Lists>(sent);
    ASSERT_EQ(payload.bulk.size(), 1U);
    EXPECT_EQ(payload.bulk[0].bytes.data(), sent.bytes.bytes.data());
    const auto read = decode_versioned<testing::Lists, OldLists>(payload.header.view(), "lists", payload.bulk[0].bytes).value();
    EXPECT_EQ(as_chars(read.bytes.bytes), "shared");
  }
}

TEST(Versioned, AFormOfItsOwnIsWrittenInPiecesAndMayBeRefused) {
  OldLists sent;
  sent.joined = {{7, 8}, {9}};
  EXPECT_EQ((again<testing::Lists>(sent).value().joined.first), (std::vector<std::uint32_t>{7, 8, 9}));
  sent.joined.second.push_back(10);
  const auto refused = again<testing::Lists>(sent);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().to_string().find("too many of them"), std::string::npos);
}

TEST(Versioned, UnknownKindsInAListAreLeftOutWhereTheyAreCounted) {
  NewLists sent;
  sent.choices = {Nothing{}, Just{1}, NewPart{PartId(3), "n", "b", 2}, Just{2}};
  const Buffer bytes = encode_versioned<testing::NewerLists>(sent);
  unsigned skipped = 0;
  const auto read = decode_versioned<testing::Lists, OldLists>(bytes.view(), "lists", {}, &skipped);
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(read->choices, (std::vector<OldChoice>{Nothing{}, OldPart{PartId(3), "n", "b"}}));
  EXPECT_EQ(skipped, 2U);
  EXPECT_FALSE((decode_versioned<testing::Lists, OldLists>(bytes.view(), "lists")));
}

}  // namespace weft::rpc::versioned_test
