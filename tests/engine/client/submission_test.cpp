// What `weft submit` does before a job begins: the job's options among its program's words, and the upload of the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "engine/client/binary_upload.hpp"
#include "engine/client/job_flags.hpp"
#include "engine/master/protocol/protocol.hpp"

namespace weft::client {
namespace {

using testing::HasSubstr;

TEST(JobFlags, AreFoundAmongTheWordsOfAProgram) {
  master::JobOptions options;
  std::uint64_t memory = 0;
  ASSERT_TRUE(find_job_flags({"sub", "--input", "a", "--pool", "etl", "--priority=3", "--hint", "shuffle_ratio=0.4",
                              "--hint=shuffle_ratio=0.5", "--pools", "x", "--memory", "64MiB", "--user"},
                             options, memory));
  EXPECT_EQ(options.pool, "etl");
  EXPECT_EQ(options.priority, 3);
  EXPECT_EQ(options.hints.at("shuffle_ratio"), "0.5") << "the last one";
  EXPECT_EQ(memory, 64u << 20);
  EXPECT_EQ(options.user, "") << "its value is missing";
  const auto refused = find_job_flags({"--on-disconnect", "stay"}, options, memory);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("--on-disconnect: 'stay' is none of kill, continue"));
}

TEST(BinaryUpload, SendsTheFileInPiecesAndEndsWithTheFirstError) {
  const TempDir directory = TempDir::create().value();
  const std::string file = directory.path() / "program";
  const std::string content = std::string(kUploadChunkBytes, 'a') + "tail";
  ASSERT_TRUE(write_file(file, content));
  std::string sent;
  std::vector<Upload> pieces;
  std::size_t most = 10;
  const UploadCall call = [&](rpc::MessageType type, rpc::Payload payload) -> Result<rpc::Message> {
    EXPECT_EQ(type, kUploadBinary);
    if (pieces.size() == most) return fail(Code::unavailable, "gone");
    rpc::Message message;
    message.header = std::move(payload.header);
    pieces.push_back(decode<Upload>(message).value());
    for (const SharedBytes& bytes : payload.bulk) sent += as_chars(bytes.bytes);
    return rpc::Message{};
  };
  ASSERT_TRUE(upload_binary(file, "the program", {1, 2}, call));
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[1].offset, kUploadChunkBytes);
  EXPECT_EQ(pieces[1].total, content.size());
  EXPECT_EQ(pieces[1].binary, (Hash128{1, 2}));
  EXPECT_EQ(sent, content);
  pieces.clear();
  most = 1;
  EXPECT_EQ(upload_binary(file, "the program", {1, 2}, call).error().code(), Code::unavailable);
  EXPECT_EQ(pieces.size(), 1u);
  EXPECT_THAT(upload_binary(directory.path() / "none", "the program", {1, 2}, call).error().to_string(),
              HasSubstr("cannot read the program"));
}

}  // namespace
}  // namespace weft::client
