// Outputs of jobs in S3 services: they appear whole, once, or not at all.
#include <gtest/gtest.h>

#include "storage/output_directory.hpp"
#include "storage/output_file.hpp"
#include "storage/staged_name.hpp"
#include "tests/storage/s3_fixture.hpp"

namespace weft::storage::objects {
namespace {

TEST(S3Outputs, OutputAppearsWhenItIsCommittedAndLosersLeaveNothing) {
  S3Service service;
  const auto files = files_of(service);
  EXPECT_EQ(OutputDirectory::prepare("s3://books", true, "token", files.get()).error().to_string(),
            "output s3://books is a whole bucket; name a directory in it, such as s3://books/NAME");
  {
    auto output = OutputDirectory::prepare("s3://books/out/", false, "token", files.get()).value();
    const std::string large(6u << 20, 'x');  // two parts
    const std::string first = attempt(*files, output, 0, large);
    attempt(*files, output, 0, "of an attempt that lost", 1);
    { auto dropped = OutputFile::create(output.work_directory(), "t", files.get(), Compression::none, part_name(1)).value(); }
    EXPECT_FALSE(files->exists("s3://books/out").value());
    const auto committed = output.commit({first, "", attempt(*files, output, 2, "three")});
    ASSERT_TRUE(committed) << committed.error().to_string();
  }
  EXPECT_EQ(files->names("s3://books/out").value(),
            (std::vector<std::string>{"_SUCCESS", "part-00000", "part-00001", "part-00002"}));
  EXPECT_TRUE(service.has("\"out/part-00000\": 6291456"));
  EXPECT_TRUE(service.has("\"uploads\": []")) << service.state();
  EXPECT_EQ(OutputDirectory::prepare("s3://books/out", false, "token", files.get()).error().code(), Code::already_exists);
  {
    auto output = OutputDirectory::prepare("s3://books/out", true, "token", files.get()).value();
    ASSERT_TRUE(output.commit({attempt(*files, output, 0, "new")}));
  }
  EXPECT_EQ(files->names("s3://books/out").value(), (std::vector<std::string>{"_SUCCESS", "part-00000"}));
  EXPECT_EQ(read_all(*files, "s3://books/out", 1), "new\n");
  service.store("thesis/one", "precious");
  EXPECT_EQ(OutputDirectory::prepare("s3://books/thesis", true, "token", files.get()).error().code(), Code::already_exists);
}

/// Hive and Spark name directories so.
TEST(S3Outputs, KeysThatLookEncodedAreReplacedWhetherTheServiceEncodesItsListsOrNot) {
  for (const char* plain : {"false", "true"}) {
    S3Service service;
    service.set(std::string(R"({"plain": )") + plain + "}");
    const auto files = files_of(service);
    service.store("out/tag=a%2520b/part-00000", "old");  // of the key out/tag=a%20b/part-00000
    service.store("out/_SUCCESS", "");
    auto output = OutputDirectory::prepare("s3://books/out", true, "token", files.get()).value();
    ASSERT_TRUE(output.commit({attempt(*files, output, 0, "new")}));
    EXPECT_EQ(files->names("s3://books/out").value(), (std::vector<std::string>{"_SUCCESS", "part-00000"})) << plain;
  }
}

TEST(S3Outputs, OutputOfAJobThatFailsNeverAppears) {
  S3Service service;
  const auto files = files_of(service);
  {
    auto output = OutputDirectory::prepare("s3://books/out", false, "token", files.get()).value();
    attempt(*files, output, 0, "one");
    EXPECT_FALSE(service.has("\"uploads\": []"));
  }
  EXPECT_TRUE(service.has("\"uploads\": []")) << service.state();
  auto output = OutputDirectory::prepare("s3://books/out", false, "token", files.get()).value();
  const std::string one = attempt(*files, output, 0, "one"), two = attempt(*files, output, 1, "two");
  const auto gone = output.commit({one, staged_name("no such upload", "task-1-1-0")});
  ASSERT_FALSE(gone);
  EXPECT_TRUE(
      gone.error().to_string().starts_with("cannot write s3://books/out/part-00001: its upload was aborted by somebody else"))
      << gone.error().to_string();
  EXPECT_FALSE(files->exists("s3://books/out").value());
  service.set(R"({"refuse": "POST /books/out/part-00001"})");
  const auto refused = output.commit({one, two});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().to_string().starts_with("the output s3://books/out was taken back: cannot write"))
      << refused.error().to_string();
  EXPECT_FALSE(files->exists("s3://books/out").value());
}

TEST(S3Outputs, AMarkWhoseAnswerWasLostIsTakenBackWithItsOutput) {
  S3Service service;
  const auto files = files_of(service);
  auto output = OutputDirectory::prepare("s3://books/out", false, "token", files.get()).value();
  const std::string one = attempt(*files, output, 0, "one");
  service.set(R"({"lose": "PUT /books/out/_SUCCESS", "refuse": "PUT /books/out/_SUCCESS"})");
  ASSERT_FALSE(output.commit({one}));
  EXPECT_TRUE(service.has("\"objects\": {}")) << service.state();
}

TEST(S3Outputs, AJobWhoseMarkIsThereHasItsPartsWhateverTheAnswer) {
  S3Service service;
  const auto files = files_of(service);
  auto output = OutputDirectory::prepare("s3://books/out", false, "job7-0123abcd", files.get(), OutputOwner::job).value();
  const std::string one = attempt(*files, output, 0, "one");
  service.set(R"({"lose": "PUT /books/out/_SUCCESS", "refuse": "PUT /books/out/_SUCCESS"})");
  const auto committed = output.commit({one});
  ASSERT_TRUE(committed) << committed.error().to_string();
  EXPECT_EQ(read_all(*files, "s3://books/out", 1), "one\n");
}

TEST(S3Outputs, ADriverThatFailsAfterAnotherHasPublishedTakesNothingBack) {
  S3Service service;
  const auto files = files_of(service);
  const auto prepare = [&] {
    return OutputDirectory::prepare("s3://books/out", false, "job7-0123abcd", files.get(), OutputOwner::job).value();
  };
  auto first = prepare();
  const std::vector<std::string> written{attempt(*files, first, 0, "one"), ""};
  ASSERT_TRUE(prepare().commit(written));
  ASSERT_TRUE(files->create("s3://books/.out.weft-job7-0123abcd").value()->close());  // the first had looked before the other ended
  service.set(R"({"refuse": "PUT /books/out/part-00001"})");
  EXPECT_TRUE(first.commit(written));
  EXPECT_EQ(files->names("s3://books/out").value(), (std::vector<std::string>{"_SUCCESS", "part-00000", "part-00001"}));
  EXPECT_EQ(read_all(*files, "s3://books/out", 1), "one\n");
}

TEST(S3Outputs, TheSameBytesInPlaceOfTheSameAreKnownWhenTheAnswerIsLost) {
  S3Service service;
  const auto files = files_of(service);
  for (const bool overwrite : {false, true}) {
    auto output = OutputDirectory::prepare("s3://books/out", overwrite, "token", files.get()).value();
    const std::string one = attempt(*files, output, 0, "one");
    if (overwrite) service.set(R"({"lose": "POST /books/out/part-00000"})");
    const auto committed = output.commit({one});
    EXPECT_TRUE(committed) << committed.error().to_string();
  }
  EXPECT_EQ(files->names("s3://books/out").value(), (std::vector<std::string>{"_SUCCESS", "part-00000"}));
}

/// Kills the first driver of a job after each request that it makes while it publishes.
void publish_with_two_drivers(bool overwrite) {
  constexpr const char* kToken = "job7-0123abcd";
  const auto outputs = [](const S3Service& service) { return s3_files(service.settings(), impatient()); };
  S3Service service;
  int requests = 0;
  for (bool finished = false; !finished; ++requests) {
    SCOPED_TRACE(testing::Message() << (overwrite ? "overwriting, " : "") << "killed after request " << requests);
    const std::string name = (overwrite ? "again-" : "out-") + std::to_string(requests), url = "s3://books/" + name;
    if (overwrite) {
      // What was there is what will be there, but for one object.
      for (const char* key : {"/part-00000", "/part-00009", "/_SUCCESS"}) service.store(name + key, key[1] == 'p' ? "one\n" : "");
    }
    std::vector<std::string> written;
    {
      const auto files = outputs(service);
      auto output = OutputDirectory::prepare(url, overwrite, kToken, files.get(), OutputOwner::job).value();
      written = {attempt(*files, output, 0, "one"), "", attempt(*files, output, 2, "three")};
      attempt(*files, output, 2, "of an attempt that lost", 1);
      service.set(R"({"most": )" + std::to_string(requests) + "}");
      finished = output.commit(written).has_value();
    }
    service.set(R"({"most": -1})");
    for (int next = 0; next < 2; ++next) {
      const auto files = outputs(service);
      auto output = OutputDirectory::prepare(url, overwrite, kToken, files.get(), OutputOwner::job);
      ASSERT_TRUE(output) << output.error().to_string();
      const auto committed = output->commit(written);
      ASSERT_TRUE(committed) << committed.error().to_string();
      EXPECT_EQ(files->names(url).value(), (std::vector<std::string>{"_SUCCESS", "part-00000", "part-00001", "part-00002"}));
      EXPECT_EQ(read_all(*files, url, 1), "one\nthree\n");
      EXPECT_TRUE(service.has("\"uploads\": []")) << service.state();
      EXPECT_FALSE(service.has(".weft-")) << service.state();
    }
    ASSERT_FALSE(testing::Test::HasFailure());
  }
  EXPECT_GT(requests, 8);
}

TEST(S3Outputs, OutputOfAJobIsFinishedByTheNextDriverWhereverTheFirstIsKilled) { publish_with_two_drivers(false); }

TEST(S3Outputs, OutputOfAJobThatOverwritesIsFinishedByTheNextDriverWhereverTheFirstIsKilled) { publish_with_two_drivers(true); }

TEST(S3Outputs, DirectoriesThatARunDoesNotWriteAreKeptWhereverItIsKilled) {
  S3Service service;
  int requests = 0;
  for (bool finished = false; !finished; ++requests) {
    SCOPED_TRACE(testing::Message() << "killed after request " << requests);
    const std::string name = "out-" + std::to_string(requests), url = "s3://books/" + name;
    for (const char* key : {"/y=1/part-00000", "/y=2/part-00000", "/y=2/part-00009", "/y=22/part-00000"})
      service.store(name + key, "old\n");
    service.store(name + "/_SUCCESS", "");
    const auto prepare = [&](RemoteFiles& files) {
      auto output = OutputDirectory::prepare(url, true, "job7-0123abcd", &files, OutputOwner::job).value();
      output.keep_other_directories();
      return output;
    };
    std::string written;
    {
      const auto files = s3_files(service.settings(), impatient());
      auto output = prepare(*files);
      for (const std::string directory : {"y=2", "y=3"}) {
        auto file = OutputFile::create(output.work_directory(), "task-1-" + directory, files.get(), Compression::none,
                                       directory + "/" + part_name(0))
                        .value();
        ASSERT_TRUE(file->append(as_bytes("new\n")));
        ASSERT_TRUE(file->close());
        written += file->name() + "/" + directory + "\n";
      }
      service.set(R"({"most": )" + std::to_string(requests) + "}");
      finished = output.commit({written}).has_value();
    }
    service.set(R"({"most": -1})");
    const auto files = s3_files(service.settings(), impatient());
    const auto committed = prepare(*files).commit({written});
    ASSERT_TRUE(committed) << committed.error().to_string();
    EXPECT_EQ(read_all(*files, url, 1), "old\nnew\nold\nnew\n");
    EXPECT_EQ(files->names(url).value(), (std::vector<std::string>{"_SUCCESS", "y=1", "y=2", "y=22", "y=3"}));
    EXPECT_EQ(files->names(url + "/y=2").value(), std::vector<std::string>{"part-00000"});
    ASSERT_FALSE(testing::Test::HasFailure());
  }
  EXPECT_GT(requests, 6);
}

TEST(S3Outputs, OutputOfAJobWhoseUploadsAreGoneIsAnErrorAndSoIsWhatSomebodyElseMade) {
  S3Service service;
  const auto files = files_of(service);
  service.store("out/part-00000", "old");
  service.store("out/_SUCCESS", "");
  auto output = OutputDirectory::prepare("s3://books/out", true, "job7-0123abcd", files.get(), OutputOwner::job).value();
  const std::string written = attempt(*files, output, 0, "old");
  ASSERT_TRUE(files->publisher("s3://books/out")->discard("s3://books/out"));
  const auto gone = output.commit({written});
  ASSERT_FALSE(gone) << "what is there is an older output, if it has the same bytes";
  EXPECT_TRUE(
      gone.error().to_string().starts_with("cannot write s3://books/out/part-00000: its upload was aborted by somebody else"))
      << gone.error().to_string();
  EXPECT_EQ(files->names("s3://books/out").value(), (std::vector<std::string>{"_SUCCESS", "part-00000"})) << "it stays";
  EXPECT_EQ(read_all(*files, "s3://books/out", 1), "old\n");
  auto other = OutputDirectory::prepare("s3://books/new", false, "job7-0123abcd", files.get(), OutputOwner::job).value();
  service.store("new/precious", "mine");
  EXPECT_EQ(other.commit({attempt(*files, other, 0, "x")}).error().code(), Code::already_exists);
  EXPECT_EQ(files->names("s3://books/new").value(), std::vector<std::string>{"precious"});
}

}  // namespace
}  // namespace weft::storage::objects
