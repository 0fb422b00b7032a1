#include "storage/objects/s3_files.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/objects/pattern.hpp"
#include "storage/output.hpp"
#include "storage/split.hpp"
#include "storage/staged_name.hpp"
#include "storage/text_reader.hpp"
#include "tests/storage/s3_service.hpp"

namespace weft::storage::objects {
namespace {

using test::S3Service;

HttpOptions impatient() {
  HttpOptions options;
  options.patience = std::chrono::seconds(20);
  options.first_pause = std::chrono::milliseconds(2);
  options.longest_pause = std::chrono::milliseconds(50);
  return options;
}

std::unique_ptr<S3Files> files_of(const S3Service& service) { return s3_files(service.settings(), impatient()); }

std::string lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "line " + std::to_string(i) + " of a text that is read in pieces\n";
  return text;
}

/// All lines of the inputs, read split by split as tasks do.
std::string read_all(RemoteFiles& files, const std::string& input, std::uint64_t pieces) {
  const std::vector<std::string> inputs{input};
  auto found = expand_inputs(inputs, &files);
  if (!found) return found.error().to_string();
  auto groups = split_files(found->paths, {.min_groups = pieces}, &files);
  if (!groups) return groups.error().to_string();
  std::string text;
  TextReader reader(UINT64_MAX, &files);
  for (const SplitGroup& group : *groups)
    for (const Split& split : group) {
      auto read = reader.for_each_line(
          split, [](std::uint64_t) {}, [&](std::string_view line) { text.append(line).append("\n"); });
      if (!read) return read.error().to_string();
    }
  return text;
}

/// One attempt's file with this content; what the driver learns of it.
std::string attempt(RemoteFiles& files, OutputDirectory& output, std::size_t part, const std::string& content, int number = 0) {
  auto file = OutputFile::create(output.work_directory(), "task-1-" + std::to_string(part) + "-" + std::to_string(number), &files,
                                 Compression::none, part_name(part));
  EXPECT_TRUE(file);
  EXPECT_TRUE((*file)->append(as_bytes(content)));
  const auto closed = (*file)->close();
  EXPECT_TRUE(closed) << closed.error().to_string();
  return (*file)->name();
}

TEST(S3Files, ReadObjectsInSplitsOnRecordBoundaries) {
  S3Service service;
  const std::string text = lines(200'000);  // several parts of 2 MiB
  service.store("in/a", text);
  service.store("in/b", "the last line has no end");
  service.store("in/empty", "");
  const auto files = files_of(service);
  EXPECT_TRUE(read_all(*files, "s3://books/in", 7) == text + "the last line has no end\n");
  EXPECT_TRUE(read_all(*files, "s3://books/in/a", 1) == text);
  EXPECT_TRUE(read_all(*files, "s3://books/in/*", 3) == text + "the last line has no end\n");
}

TEST(S3Files, ListsGoOnAndKeysMayBeOdd) {
  S3Service service;
  service.set(R"({"page": 3})");
  std::vector<std::string> keys;
  for (const char* key : {"a b", "c+d", "e=f", "g%h", "i&j<k>", "m'n\"o", "q?r", "s#t", "\xc3\xbc", "x;y", "z//double"})
    keys.emplace_back(key);
  const auto files = files_of(service);
  for (const std::string& key : keys) {
    auto file = files->create("s3://books/odd/" + key).value();
    ASSERT_TRUE(file->append(as_bytes(key + "\n")));
    const auto closed = file->close();
    ASSERT_TRUE(closed) << closed.error().to_string();
  }
  service.store("odd/_hidden", "no\n");
  service.store("odd/.dir/x", "no\n");
  service.store("odd/mark/", "");
  const auto found = files->expand("s3://books/odd").value();
  EXPECT_EQ(found.paths.size(), keys.size());
  EXPECT_EQ(found.skipped, (std::vector<std::string>{"s3://books/odd/.dir", "s3://books/odd/_hidden"}));
  for (const std::string& key : keys) EXPECT_EQ(read_all(*files, "s3://books/odd/" + key, 1), key + "\n");
  EXPECT_EQ(files->entries("s3://books/odd").value().size(), keys.size() + 3);  // with .dir, _hidden and z
}

TEST(S3Files, PatternsMeanWhatTheyMeanForPaths) {
  const auto means = [](const std::string& pattern, const std::string& key) {
    const std::size_t end = Pattern(pattern).match(key);
    return end == std::string::npos ? std::string("-") : key.substr(0, end);
  };
  EXPECT_EQ(means("in/*.txt", "in/a.txt"), "in/a.txt");
  EXPECT_EQ(means("in/*.txt", "in/a.csv"), "-");
  EXPECT_EQ(means("in/*", "in/dir/a"), "in/dir");
  EXPECT_EQ(means("in/*", "in/.hidden"), "-");
  EXPECT_EQ(means("in/{a,b}/[0-9]", "in/b/7"), "in/b/7");
  EXPECT_EQ(means("in/{a,b}/[0-9]", "in/c/7"), "-");
  EXPECT_EQ(means("**/x", "x"), "x");
  EXPECT_EQ(means("in/**/x", "in/a/b/x"), "in/a/b/x");
  EXPECT_EQ(means("in/**/x", "in/_a/b/x"), "-");
  EXPECT_EQ(means("in/**", "in/a/b"), "in/a/b");
  EXPECT_EQ(fixed_prefix("in/2026-*/a"), "in/");
  EXPECT_EQ(fixed_prefix("*"), "");
}

TEST(S3Files, OutputAppearsWhenItIsCommittedAndLosersLeaveNothing) {
  S3Service service;
  const auto files = files_of(service);
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

TEST(S3Files, OutputOfAJobThatFailsNeverAppears) {
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
  const auto refused = output.commit({one, staged_name("no such upload", "task-1-1-0")});
  ASSERT_FALSE(refused);
  EXPECT_NE(
      refused.error().to_string().find("the output s3://books/out was taken back: cannot write s3://books/out/part-00001: its "
                                       "upload was aborted by somebody else"),
      std::string::npos)
      << refused.error().to_string();
  EXPECT_FALSE(files->exists("s3://books/out").value());
}

TEST(S3Files, RequestsThatFailAreTriedAgain) {
  S3Service service;
  const std::string text = lines(400'000);
  service.store("in/a", text);
  service.set(R"({"slow_down": 0.15, "cut": 0.15, "seed": 7})");
  const auto files = files_of(service);
  EXPECT_TRUE(read_all(*files, "s3://books/in", 9) == text);
  {
    auto output = OutputDirectory::prepare("s3://books/out", false, "token", files.get()).value();
    std::vector<std::string> names;
    for (std::size_t part = 0; part < 20; ++part) names.push_back(attempt(*files, output, part, "part " + std::to_string(part)));
    const auto committed = output.commit(names);
    ASSERT_TRUE(committed) << committed.error().to_string();
  }
  std::string all;
  for (int part = 0; part < 20; ++part) all += "part " + std::to_string(part) + "\n";
  EXPECT_EQ(read_all(*files, "s3://books/out", 1), all);
  service.set(R"({"slow_down": 0, "cut": 0})");
  EXPECT_FALSE(service.has("\"slowed\": 0,"));
  EXPECT_FALSE(service.has("\"cut\": 0,"));
}

TEST(S3Files, AnObjectThatChangesWhileItIsReadIsAnError) {
  S3Service service;
  const std::string text = lines(200'000);
  service.store("in/a", text);
  const auto files = files_of(service);
  const auto file = files->open("s3://books/in/a").value();
  Buffer piece(1000);
  ASSERT_EQ(file->read(0, piece.span()).value(), 1000u);
  service.store("in/a", lines(200'001));
  const auto changed = file->read(text.size() - 1000, piece.span());
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().to_string(),
            "cannot read s3://books/in/a: it changed while the job ran; run the job again when nobody writes to it");
  const auto found = files->expand("s3://books/in").value();  // and when a task finds another than the driver saw
  service.store("in/a", text);
  EXPECT_FALSE(files->open("s3://books/in/a").value()->read(0, piece.span()));
}

TEST(S3Files, ErrorsNameTheCauseAndTheRemedy) {
  S3Service service;
  service.store("in/a", "text");
  const auto says = [&](S3Settings settings, const std::string& text, const std::string& url = "s3://books/in") {
    const auto files = s3_files(std::move(settings), impatient());
    const auto refused = files->expand(url);
    const std::string error = refused ? "no error" : refused.error().to_string();
    EXPECT_NE(error.find(text), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  };
  S3Settings settings = service.settings();
  says(settings, "no error");
  settings.secret_key = "wrong";
  says(settings, "the secret key does not belong to the access key");
  settings = service.settings();
  settings.access_key = "nobody";
  says(settings, "the service does not know the access key; check AWS_ACCESS_KEY_ID");
  settings = service.settings();
  settings.region = "eu-west-1";
  says(settings, "the bucket is in the region us-east-1, not in eu-west-1; set AWS_REGION=us-east-1");
  settings = service.settings();
  says(settings, "there is no such bucket", "s3://nobody/in");
  says(settings, "s3://books/missing is not there", "s3://books/missing");
  says(settings, "no object matches the pattern", "s3://books/missing*");
  says(settings, "is no name of a bucket", "s3://B/x");
  service.set(R"({"skew": 7215})");
  says(settings, "this machine's clock is 2 h 00 min behind the service's; set it");
  service.set(R"({"skew": 0, "token": "new"})");
  says(settings, "the credentials have expired; get new ones");
  service.set(R"({"token": "", "forbid": "GET"})");
  says(settings, "these credentials have no right to it (AccessDenied: Access Denied.)");
  service.set(R"({"forbid": "POST"})");
  EXPECT_FALSE(OutputDirectory::prepare("s3://books/out", false, "token", files_of(service).get()));
  service.set(R"({"forbid": "", "redirect": true})");
  says(settings, "redirects again and again");
  service.set(R"({"redirect": false, "ignore_ranges": true})");
  Buffer piece(2);
  EXPECT_FALSE(files_of(service)->open("s3://books/in/a").value()->read(1, piece.span()));
  settings.endpoint = "http://127.0.0.1:1";
  says(settings, "cannot reach http://127.0.0.1:1");
}

TEST(S3Files, ManyObjectsAreFewTasksAndNoRequestEach) {
  S3Service service;
  for (int i = 0; i < 200; ++i) service.store("in/" + std::to_string(i), "text\n");
  const auto files = files_of(service);
  const std::vector<std::string> inputs{"s3://books/in"};
  const auto found = expand_inputs(inputs, files.get()).value();
  const std::string before = service.state();
  const auto groups = split_files(found.paths, {}, files.get()).value();
  EXPECT_EQ(groups.size(), 1u);
  const auto requests = [](const std::string& state) { return state.substr(state.find("\"requests\""), 20); };
  EXPECT_EQ(requests(before), requests(service.state()));
}

TEST(S3Settings, ComeFromVariablesThenFiles) {
  const test::ScratchDirectory home;
  std::map<std::string, std::string> variables{{"HOME", home.path()},
                                               {"AWS_SHARED_CREDENTIALS_FILE", home / "keys"},
                                               {"AWS_CONFIG_FILE", home / "config"},
                                               {"AWS_PROFILE", "work"},
                                               {"AWS_EC2_METADATA_DISABLED", "true"}};
  const auto settings = [&] {
    return s3_settings([&](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
  };
  test::write_file(home / "keys", "[default]\naws_access_key_id = D\n[work]\naws_access_key_id=W\n aws_secret_access_key = S\n");
  test::write_file(home / "config",
                   "[profile work]\nregion = eu-west-1\ns3 =\n  addressing_style = virtual\nendpoint_url = http://minio:9000/\n");
  EXPECT_FALSE(settings());  // an indented key belongs to the one above
  test::write_file(home / "keys", "[work]\naws_access_key_id=W\naws_secret_access_key = S # no comment\n");
  EXPECT_FALSE(settings());
  test::write_file(home / "keys", "[work]\n# comment\naws_access_key_id=W\naws_secret_access_key = S\naws_session_token=T\n");
  const S3Settings found = settings().value();
  EXPECT_EQ(found.access_key + found.secret_key + found.session_token, "WST");
  EXPECT_EQ(found.region, "eu-west-1");
  EXPECT_EQ(found.endpoint, "http://minio:9000");
  EXPECT_FALSE(found.path_style);
  variables["AWS_ACCESS_KEY_ID"] = "V";
  EXPECT_NE(settings().error().message().find("AWS_SECRET_ACCESS_KEY is not"), std::string::npos);
  variables["AWS_SECRET_ACCESS_KEY"] = "X";
  variables["AWS_REGION"] = "us-west-2";
  EXPECT_EQ(settings().value().access_key, "V");
  EXPECT_EQ(settings().value().session_token, "");
  EXPECT_EQ(settings().value().region, "us-west-2");
  variables["AWS_ENDPOINT_URL"] = "minio:9000";
  EXPECT_NE(settings().error().message().find("is no URL"), std::string::npos);
  variables = {{"HOME", home.path()}, {"AWS_EC2_METADATA_DISABLED", "true"}};
  EXPECT_NE(settings().error().message().find("set AWS_ACCESS_KEY_ID"), std::string::npos);
}

}  // namespace
}  // namespace weft::storage::objects
