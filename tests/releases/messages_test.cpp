// What releases of the past wrote is read, and so is what later ones may write: every message whose two sides may be of different
// releases. protocol-N.txt has them as the first release wrote them that speaks protocol N:
//   WEFT_RECORD_RELEASE=FILE build/release/tests/releases_test --gtest_filter='*AreRecorded'
#include <cstdlib>
#include <fstream>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "runtime/protocol/worker.hpp"
#include "storage/files/protocol.hpp"
#include "tests/releases/grown.hpp"
#include "tests/releases/kinds.hpp"

namespace weft::releases {
namespace {

std::string hexadecimal(ByteView bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}
Buffer from_hexadecimal(std::string_view text) {
  Buffer bytes(text.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes.data()[i] = static_cast<std::byte>(std::stoul(std::string(text.substr(2 * i, 2)), nullptr, 16));
  return bytes;
}

/// A message as a release wrote it, and what was in it.
struct Recorded {
  std::string kind;
  rpc::Message message;
  std::string description;
};

std::vector<Recorded> recorded(int protocol) {
  std::ifstream file(fmt::format("{}/protocol-{}.txt", RELEASES, protocol));
  std::vector<Recorded> all;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("message ")) {
      all.emplace_back().kind = line.substr(8);
    } else if (line.starts_with("header ")) {
      all.back().message.header = from_hexadecimal(std::string_view(line).substr(7));
    } else if (line.starts_with("bulk ")) {
      all.back().message.bulk = from_hexadecimal(std::string_view(line).substr(5));
    } else if (line.starts_with("  ")) {
      all.back().description += line + "\n";
    }
  }
  return all;
}

const std::vector<Recorded>& all_recorded() {
  static const std::vector<Recorded> all = [] {
    std::vector<Recorded> made;
    for (int protocol = rpc::kProtocols.lowest; protocol <= rpc::kProtocols.highest; ++protocol)
      for (Recorded& one : recorded(protocol)) made.push_back(std::move(one));
    return made;
  }();
  return all;
}

TEST(Releases, AllMessagesOfThisProtocolAreRecorded) {
  std::string text;
  std::size_t examples = 0;
  for (const auto& [name, kind] : kinds())
    for (const auto& message : kind.examples) {
      const auto description = kind.describe(*message);
      ASSERT_TRUE(description) << name << ": " << description.error().to_string();
      text += fmt::format("message {}\nheader {}\nbulk {}\n{}", name, hexadecimal(message->header.view()),
                          hexadecimal(message->bulk.view()), *description);
      ++examples;
    }
  if (const char* const path = std::getenv("WEFT_RECORD_RELEASE")) std::ofstream(path) << text;
  std::map<std::string, std::size_t> there;
  for (const Recorded& one : recorded(rpc::kProtocols.highest)) ++there[one.kind];
  for (const auto& [name, kind] : kinds()) EXPECT_GE(there[name], 1U) << name << " is in no record: see the head of this file";
  EXPECT_GT(examples, 90U);
}

TEST(Releases, WhatEarlierReleasesWroteIsRead) {
  for (const Recorded& one : all_recorded()) {
    SCOPED_TRACE(one.kind);
    ASSERT_TRUE(kinds().contains(one.kind)) << "earlier releases send it";
    const auto description = kinds().at(one.kind).describe(one.message);
    ASSERT_TRUE(description) << description.error().to_string();
    EXPECT_EQ(*description, one.description);
  }
}

/// They come behind all fields of this release, so what it writes itself is what grows: in what an earlier one wrote, the next
/// fields may be known by now.
TEST(Releases, FieldsOfLaterReleasesAreIgnored) {
  for (const auto& [name, kind] : kinds()) {
    SCOPED_TRACE(name);
    for (const auto& example : kind.examples) {
      const auto known = kind.describe(*example);
      ASSERT_TRUE(known) << known.error().to_string();
      rpc::Message message;
      message.header = grown(example->header.view());
      message.bulk = Buffer::copy_of(example->bulk.view());
      ASSERT_GT(message.header.size(), example->header.size());
      const auto description = kind.describe(message);
      ASSERT_TRUE(description) << description.error().to_string();
      EXPECT_EQ(*description, *known);
    }
  }
}

TEST(Releases, FieldsThatAnEarlierReleaseDidNotKnowAreNotThere) {
  for (const auto& [name, kind] : kinds()) {
    if (name == "Events") continue;  // a list of messages
    SCOPED_TRACE(name);
    for (const auto& example : kind.examples) {
      rpc::Message message;
      message.header = with_nothing_in(example->header.view());
      const auto description = kind.describe(message);
      EXPECT_TRUE(description) << description.error().to_string();
    }
  }
}

rpc::Message with_later_kind_of(const std::string& name) {
  for (const Recorded& one : recorded(rpc::kProtocols.highest))
    if (one.kind == name) {
      rpc::Message message;
      message.header = with_later_kind(one.message.header.view());
      message.bulk = Buffer::copy_of(one.message.bulk.view());
      return message;
    }
  throw std::runtime_error("not recorded: " + name);
}

TEST(Releases, CommandsOfLaterReleasesArePassedOverAndCounted) {
  const auto of = [](const std::string& name, const rpc::Message& message) { return kinds().at(name).describe(message); };
  for (const std::string name : {"Commands", "ChunkCommands"}) {
    SCOPED_TRACE(name);
    const rpc::Message message = with_later_kind_of(name);
    for (const Recorded& one : recorded(rpc::kProtocols.highest)) {
      if (one.kind == name) {
        EXPECT_EQ(of(name, message).value(), of(name, one.message).value());
      }
    }
  }
  unsigned skipped = 0;
  ASSERT_TRUE(runtime::protocol::decode<runtime::protocol::Commands>(with_later_kind_of("Commands"), &skipped));
  EXPECT_EQ(skipped, 1U);
  ASSERT_TRUE(storage::files::decode<storage::files::ChunkCommands>(with_later_kind_of("ChunkCommands"), &skipped));
  EXPECT_EQ(skipped, 1U);
}

TEST(Releases, WhoeverDoesNotCountThemRefusesCommandsOfLaterReleases) {
  const auto refused = runtime::protocol::decode<runtime::protocol::Commands>(with_later_kind_of("Commands"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::corrupt);
  EXPECT_THAT(refused.error().to_string(), testing::HasSubstr("this version does not know"));
}

TEST(Releases, RequestsOfLaterReleasesAreRefused) {
  for (const std::string name : {"FileRequest", "TableRequest"}) {
    const auto refused = kinds().at(name).describe(with_later_kind_of(name));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().to_string(), testing::HasSubstr("this version does not know"));
  }
}

}  // namespace
}  // namespace weft::releases
