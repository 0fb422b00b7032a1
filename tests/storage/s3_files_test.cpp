#include "storage/objects/s3_files.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/access/remote_views.hpp"
#include "storage/inputs.hpp"
#include "storage/objects/s3_errors.hpp"
#include "storage/objects/s3_file.hpp"
#include "storage/output_directory.hpp"
#include "storage/output_file.hpp"
#include "storage/split.hpp"
#include "storage/staged_name.hpp"
#include "storage/text_reader.hpp"
#include "tests/storage/s3_fixture.hpp"

namespace weft::storage::objects {
namespace {

using http::HttpResponse;

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

TEST(S3Files, WhatIsAtHandIsSeenWithoutACopy) {
  S3Service service;
  const std::string text = lines(200'000);
  service.store("in/a", text);
  const auto files = files_of(service);
  const auto file = files->open("s3://books/in/a").value();
  file->will_read(0, text.size());
  auto& views = dynamic_cast<RemoteViews&>(*file);
  std::string seen;
  ByteView bytes;
  while (seen.size() < text.size()) {
    ASSERT_NE(views.view(seen.size(), bytes).value(), 0u);
    seen.append(as_chars(bytes));
  }
  EXPECT_TRUE(seen == text);
  EXPECT_EQ(views.view(text.size(), bytes).value(), 0u);
  ASSERT_GE(views.view(1'000'000, bytes).value(), 100u);
  EXPECT_EQ(as_chars(bytes.first(100)), std::string_view(text).substr(1'000'000, 100));
  Buffer piece(100);  // and both ways in turn
  ASSERT_EQ(file->read(5, piece.span()).value(), 100u);
  EXPECT_EQ(as_chars(piece.view()), std::string_view(text).substr(5, 100));
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

TEST(S3Files, DirectoriesThatAreNotWantedAreNotListed) {
  S3Service service;
  service.set(R"({"page": 3})");
  for (const char* const key : {"year=2024/month=1/a", "year=2025/month=1/a", "year=2025/month=1/b", "year=2025/month=2/a",
                                "year=2025/_hidden/a", "year=2025/more/month=2/a", "top"})
    service.store(std::string("in/") + key, "x\n");
  const auto files = files_of(service);
  const DirectoryFilter wanted = [](std::string_view name) { return name != "year=2024" && name != "month=2"; };
  const auto found = files->expand("s3://books/in", wanted).value();
  const std::string in = "s3://books/in/";
  EXPECT_EQ(std::set(found.paths.begin(), found.paths.end()),
            (std::set{in + "year=2025/month=1/a", in + "year=2025/month=1/b", in + "year=2025/more/month=2/a", in + "top"}))
      << "below a directory that is none of a field all is listed";
  EXPECT_EQ(found.skipped, std::vector{in + "year=2025/_hidden"});
  EXPECT_EQ(found.unwanted, 2u);
  EXPECT_TRUE(service.has_listed("in/year=2025/month=1/"));
  EXPECT_FALSE(service.has_listed("in/year=2024/"));
  EXPECT_FALSE(service.has_listed("in/year=2025/month=2/"));
}

TEST(S3Files, ManyDirectoriesAreListedAtOnce) {
  S3Service service;
  for (int key = 0; key < 1001; ++key) service.store("in/key=" + std::to_string(key) + "/a", "x\n");
  const auto files = files_of(service);
  const auto found = files->expand("s3://books/in", [](std::string_view name) { return name != "key=7"; }).value();
  EXPECT_EQ(found.paths.size(), 1001u) << "whoever asked leaves out what it does not want";
  EXPECT_FALSE(service.has_listed("in/key=8/"));
  for (int other = 0; other < 1001; ++other) service.store("mixed/other-" + std::to_string(other) + "/a", "x\n");
  service.store("mixed/key=7/a", "x\n");
  EXPECT_EQ(files->expand("s3://books/mixed", [](std::string_view) { return false; }).value().paths.size(), 1002u);
  EXPECT_FALSE(service.has_listed("mixed/other-8/"));
}

TEST(S3Files, AnObjectThatIsNotClosedLeavesNothing) {
  S3Service service;
  const auto files = files_of(service);
  {
    auto file = files->create("s3://books/in/a").value();
    ASSERT_TRUE(file->append(as_bytes(std::string(6u << 20, 'x'))));
    EXPECT_TRUE(service.has("\"uploads\": [\"in/a\"]")) << service.state();
  }
  EXPECT_TRUE(service.has("\"uploads\": []")) << service.state();
  EXPECT_TRUE(service.has("\"objects\": {}")) << service.state();
}

TEST(S3Files, ACompletionThatFailsLateIsAnError) {
  S3Service service;
  const auto client = S3Client::open(service.settings(), impatient()).value();
  const S3Path path{"books", "in/a"};
  const std::string id = client->begin_upload(path).value();
  for (const std::uint32_t number : {1u, 2u}) {  // the first is too small
    const auto part = client->start_part(path, id, number, SharedBytes(Buffer::copy_of(as_bytes(std::string("part")))));
    ASSERT_TRUE(client->finish_part(*part, path));
  }
  EXPECT_EQ(client->complete(path, id, client->parts(path, id).value()).error().to_string(),
            "cannot write s3://books/in/a: the service answers 200 (InvalidPart)");
  EXPECT_TRUE(client->abort(path, id));
}

TEST(S3Files, ACompletionThatFailsLateForAWhileIsTriedAgain) {
  S3Service service;
  const auto client = S3Client::open(service.settings(), impatient()).value();
  const S3Path path{"books", "in/a"};
  const std::string id = client->begin_upload(path).value();
  const auto part = client->start_part(path, id, 1, SharedBytes(Buffer::copy_of(as_bytes(std::string("part")))));
  ASSERT_TRUE(client->finish_part(*part, path));
  service.set(R"({"late": "InternalError SlowDown ServiceUnavailable RequestTimeout"})");
  const auto completed = client->complete(path, id, client->parts(path, id).value());
  EXPECT_TRUE(completed) << completed.error().to_string();
  EXPECT_TRUE(service.has("\"in/a\": 4")) << service.state();
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
  EXPECT_EQ(files->open("s3://books/in/a").value()->read(0, piece.span()).error().to_string(),
            "cannot read s3://books/in/a: it changed while the job ran; run the job again when nobody writes to it");
  const auto fresh = files_of(service);
  service.store("in/b", text);
  service.set(R"({"no_etags": true})");  // a service that cannot compare
  const auto blind = fresh->open("s3://books/in/b").value();
  service.store("in/b", "short");
  EXPECT_EQ(blind->read(100'000, piece.span()).error().to_string(),
            "cannot read s3://books/in/b: it became shorter while the job ran; run the job again when nobody writes to it");
}

TEST(S3Files, AnObjectThatIsAnotherThanTheDriverListedIsAnError) {
  S3Service service;
  service.store("in/a", "text\n");
  const auto driver = files_of(service);
  const auto found = driver->expand("s3://books/in").value();
  ASSERT_EQ(found.versions.size(), 1u);
  const auto worker = files_of(service);  // another process
  Buffer piece(5);
  EXPECT_EQ(worker->open(found.paths[0], found.versions[0]).value()->read(0, piece.span()).value(), 5u);
  service.store("in/a", "TEXT\n");  // of the same length
  const auto changed = worker->open(found.paths[0], found.versions[0]).value()->read(0, piece.span());
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().to_string(),
            "cannot read s3://books/in/a: it changed while the job ran; run the job again when nobody writes to it");
  EXPECT_EQ(changed.error().code(), Code::invalid_argument) << "no other attempt would end better";
  ASSERT_TRUE(driver->remove("s3://books/in/a"));
  const auto gone = worker->open(found.paths[0], found.versions[0]).value()->read(0, piece.span());
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().to_string(), "cannot read s3://books/in/a: it was removed while the job ran");
}

/// What services and programs think marks a directory: nothing, a key with a slash at its end (AWS's console, Hadoop's s3a), one
/// with "_$folder$" (Hadoop's s3n, EMR), an empty object of its name. And services that lie on file systems answer that a directory
/// is an empty object.
TEST(S3Files, DirectoriesMayBeMarkedInAnyWay) {
  for (const std::string mark : {"", "f/m/", "f/m_$folder$", "f/m", "on a file system"}) {
    SCOPED_TRACE("mark '" + mark + "'");
    S3Service service;
    if (mark.find(' ') != std::string::npos) service.set(R"({"directories": true})");
    service.store("f/m/x", "one\n");
    service.store("f/m-1", "two\n");  // between the mark and what is below it
    if (mark.starts_with("f/")) service.store(mark, "");
    const auto files = files_of(service);
    EXPECT_EQ(read_all(*files, "s3://books/f/m", 1), "one\n");
    EXPECT_EQ(read_all(*files, "s3://books/f/m/", 1), "one\n");
    EXPECT_EQ(read_all(*files, "s3://books/f", 1), "two\none\n");
    EXPECT_EQ(read_all(*files, "s3://books/f/*", 1), "two\none\n");
    EXPECT_EQ(files->expand("s3://books/f").value().paths, (std::vector<std::string>{"s3://books/f/m-1", "s3://books/f/m/x"}));
    const auto names = files->names("s3://books/f").value();
    EXPECT_EQ(names, (std::vector<std::string>{"m", "m-1"}));
    ASSERT_TRUE(files->remove("s3://books/f/m"));
    EXPECT_FALSE(service.has("\"f/m/x\""));
    EXPECT_TRUE(!mark.starts_with("f/") || !service.has("\"" + mark + "\"")) << service.state();
  }
}

TEST(S3Files, AnEmptyDirectoryIsAnEmptyInput) {
  for (const std::string mark : {"f/m/", "f/m_$folder$", "f/m"}) {
    S3Service service;
    service.store(mark, "");
    EXPECT_EQ(read_all(*files_of(service), "s3://books/f/m", 1), "") << mark;
  }
  S3Service service;
  EXPECT_NE(read_all(*files_of(service), "s3://books/f/m", 1).find("no object has this key"), std::string::npos);
}

TEST(S3Files, AnObjectWithBytesIsAFileWhateverIsBelowItsName) {
  S3Service service;
  service.store("f/m", "file\n");
  service.store("f/m/x", "below\n");
  EXPECT_EQ(read_all(*files_of(service), "s3://books/f/m", 1), "file\n");
  EXPECT_EQ(read_all(*files_of(service), "s3://books/f", 1), "file\nbelow\n");
}

TEST(S3Files, ErrorsNameTheCauseAndTheRemedyInOneLine) {
  S3Service service;
  service.store("in/a", "text");
  const auto says = [&](S3Settings settings, const std::string& url = "s3://books/in") {
    const auto refused = s3_files(std::move(settings), impatient())->expand(url);
    return refused ? "no error" : refused.error().to_string();
  };
  const std::string cannot = "cannot read s3://books/in: ";
  S3Settings settings = service.settings();
  EXPECT_EQ(says(settings), "no error");
  settings.secret_key = "wrong";
  EXPECT_EQ(says(settings),
            cannot + "the secret key does not belong to the access key; check AWS_SECRET_ACCESS_KEY or ~/.aws/credentials");
  settings = service.settings();
  settings.access_key = "nobody";
  EXPECT_EQ(
      says(settings),
      cannot + "the service does not know the access key; check AWS_ACCESS_KEY_ID or ~/.aws/credentials, and AWS_ENDPOINT_URL");
  settings = service.settings();
  settings.region = "eu-west-1";
  EXPECT_EQ(says(settings), cannot +
                                "the bucket is in the region us-east-1, not in eu-west-1; set AWS_REGION=us-east-1 (or "
                                "AWS_ENDPOINT_URL)");
  settings = service.settings();
  EXPECT_EQ(says(settings, "s3://nobody/in"),
            "cannot list s3://nobody/in/: there is no such bucket; check its name, and AWS_ENDPOINT_URL");
  EXPECT_EQ(says(settings, "s3://books/missing"), "s3://books/missing is not there: no object has this key, and none is below it");
  EXPECT_EQ(says(settings, "s3://books/missing*"), "no object matches the pattern");
  EXPECT_EQ(says(settings, "s3://B/x"),
            "s3://B/x: 'B' is no name of a bucket (3 to 63 small letters, digits, dots and dashes); URLs are s3://BUCKET/KEY");
  service.set(R"({"skew": 7215})");
  EXPECT_EQ(says(settings), cannot + "this machine's clock is 2 h 00 min behind the service's; set it (timedatectl set-ntp true)");
  service.set(R"({"skew": -7215})");
  EXPECT_EQ(says(settings),
            cannot + "this machine's clock is 2 h 00 min ahead of the service's; set it (timedatectl set-ntp true)");
  service.set(R"({"skew": 0, "token": "new"})");
  EXPECT_EQ(says(settings), cannot +
                                "the credentials have expired; get new ones and start the processes that use them again "
                                "(AWS_SESSION_TOKEN)");
  service.set(R"({"token": "", "forbid": "GET"})");
  EXPECT_EQ(says(settings, "s3://books/in/*"),
            "cannot list s3://books/in/: these credentials have no right to it (AccessDenied: "
            "Access Denied.); ask the bucket's owner, or use other credentials "
            "(AWS_ACCESS_KEY_ID, AWS_PROFILE)");
  service.set(R"({"forbid": "HEAD GET"})");
  EXPECT_EQ(says(settings), cannot +
                                "these credentials have no right to it (AccessDenied: Access Denied.); ask the bucket's owner, "
                                "or use other credentials (AWS_ACCESS_KEY_ID, AWS_PROFILE)");
  service.set(R"({"forbid": "POST"})");
  EXPECT_EQ(OutputDirectory::prepare("s3://books/out", false, "token", files_of(service).get()).error().to_string(),
            "cannot write s3://books/out/_SUCCESS: these credentials have no right to it (AccessDenied: Access Denied.); ask the "
            "bucket's owner, or use other credentials (AWS_ACCESS_KEY_ID, AWS_PROFILE)");
  service.set(R"({"forbid": "", "redirect": true})");
  EXPECT_EQ(says(settings), cannot + service.endpoint() + " redirects again and again; check AWS_ENDPOINT_URL and the region");
  service.set(R"({"redirect": false, "ignore_ranges": true})");
  Buffer piece(2);
  EXPECT_EQ(files_of(service)->open("s3://books/in/a").value()->read(1, piece.span()).error().to_string(),
            "cannot read s3://books/in/a: the service does not answer requests for a range of bytes");
  settings.endpoint = "http://127.0.0.1:1";
  const std::string nobody = says(settings);
  EXPECT_EQ(nobody.find(cannot + "cannot reach http://127.0.0.1:1 ("), 0u) << nobody;
  EXPECT_TRUE(nobody.ends_with("; AWS_ENDPOINT_URL says where the server is")) << nobody;
  EXPECT_EQ(nobody.find('\n'), std::string::npos);
}

TEST(S3Files, ARefusalsMeaningIsToldWhateverTheServiceCallsIt) {
  S3Settings settings;
  const auto says = [&](long status, const std::string& word, std::vector<std::pair<std::string, std::string>> headers = {},
                        const std::string& more = "") {
    HttpResponse answer{
        .status = status, .headers = std::move(headers), .body = "<Error><Code>" + word + "</Code>" + more + "</Error>"};
    const std::string text = s3_error(answer, "read", "s3://b/k", settings, 1'000'000'000).to_string();
    EXPECT_EQ(text.find("cannot read s3://b/k: "), 0u) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text.substr(std::min(text.size(), std::string("cannot read s3://b/k: ").size()));
  };
  EXPECT_EQ(says(301, "PermanentRedirect", {{"x-amz-bucket-region", "eu-central-1"}}),
            "the bucket is in the region eu-central-1, not in us-east-1; set AWS_REGION=eu-central-1 (or AWS_ENDPOINT_URL)");
  EXPECT_EQ(says(400, "Odd", {{"x-amz-bucket-region", "eu-central-1"}}),
            "the bucket is in the region eu-central-1, not in us-east-1; set AWS_REGION=eu-central-1 (or AWS_ENDPOINT_URL)");
  EXPECT_EQ(says(403, "Odd", {{"x-amz-bucket-region", "us-east-1"}}),
            "these credentials have no right to it (Odd); ask the bucket's owner, or use other credentials (AWS_ACCESS_KEY_ID, "
            "AWS_PROFILE)");
  EXPECT_EQ(says(307, "TemporaryRedirect"), "the bucket is not in the region us-east-1; set AWS_REGION (or AWS_ENDPOINT_URL)");
  EXPECT_EQ(says(403, "RequestTimeTooSkewed", {{"date", "Sun, 09 Sep 2001 01:46:00 GMT"}}),
            "this machine's clock is 40.0 s ahead of the service's; set it (timedatectl set-ntp true)");
  EXPECT_EQ(says(403, "RequestTimeTooSkewed"),
            "this machine's clock differs too much from the service's; set it (timedatectl set-ntp true)");
  EXPECT_EQ(says(503, "SlowDown", {}, "<Message>Slow\n down</Message>"),
            "the service is too busy (503 1 times) (SlowDown: Slow\\n down); run fewer tasks at once, or later");
  EXPECT_EQ(says(416, "InvalidRange"), "it became shorter while the job ran; run the job again when nobody writes to it");
  EXPECT_EQ(says(403, "InvalidObjectState"), "the object is in an archive; restore it first");
  EXPECT_EQ(says(500, "InternalError"), "the service answers 500 (InternalError)");
  EXPECT_EQ(says(507, "XMinioStorageFull"), "the service's disks are full");
  EXPECT_EQ(says(400, "EntityTooLarge"), "the object is larger than the service allows");
  settings.unsigned_requests = true;
  EXPECT_EQ(says(403, "AccessDenied"), "not everybody may do that (AccessDenied); unset AWS_NO_SIGN_REQUEST and give credentials");
}

TEST(S3Files, ACertificateMustBeTrusted) {
  const test::ScratchDirectory scratch;
  const auto made =
      test::run({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=weft test", "-addext",
                 "subjectAltName=IP:127.0.0.1", "-keyout", scratch / "key", "-out", scratch / "certificate"});
  if (made.exit_code != 0) {
    std::puts("skipped: certificates that are not trusted: openssl cannot make one");
    GTEST_SKIP();
  }
  S3Service service({scratch / "certificate", scratch / "key"});
  S3Settings settings = service.settings();
  const std::string text = lines(40'000);
  const auto refused = s3_files(settings, impatient())->expand("s3://books/in");
  ASSERT_FALSE(refused);
  const std::string said = refused.error().to_string();
  EXPECT_EQ(said.find("cannot read s3://books/in: the certificate of " + service.endpoint() + " is not trusted ("), 0u) << said;
  EXPECT_TRUE(said.ends_with("; name the file of its authority with AWS_CA_BUNDLE")) << said;
  EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  settings.certificates = scratch / "nothing";
  EXPECT_EQ(s3_files(settings, impatient())->expand("s3://books/in").error().code(), Code::invalid_argument);
  settings.certificates = scratch / "certificate";
  const auto files = s3_files(settings, impatient());
  auto file = files->create("s3://books/in/a").value();
  ASSERT_TRUE(file->append(as_bytes(text)));
  const auto closed = file->close();
  ASSERT_TRUE(closed) << closed.error().to_string();
  EXPECT_TRUE(read_all(*files, "s3://books/in", 3) == text);
}

TEST(S3Files, BucketsMayBeHosts) {
  S3Service service;
  service.store("in/a%20b", "text\n");
  S3Settings settings = service.settings();
  settings.endpoint = "http://localhost:" + service.port();  // books.localhost is this machine, too
  settings.path_style = false;
  const auto files = s3_files(settings, impatient());
  EXPECT_EQ(read_all(*files, "s3://books/in", 1), "text\n");
  EXPECT_EQ(read_all(*files, "s3://books/in/a b", 1), "text\n");
  settings.endpoint = "https://127.0.0.1:1";
  const std::string said = s3_files(settings, impatient())->expand("s3://my.books/in").error().to_string();
  EXPECT_NE(said.find("cannot reach https://127.0.0.1:1 ("), std::string::npos) << said;  // not my.books.127.0.0.1
}

TEST(S3Files, ObjectsMayBeLargerThanFiveGibibytes) {
  S3Service service;
  const std::uint64_t size = (std::uint64_t{6} << 30) + 17 * 64;
  service.store_huge("huge/in", size);
  const auto files = files_of(service);
  const auto found = files->expand("s3://books/huge").value();
  const auto groups = split_files(found.paths, {}, files.get()).value();
  EXPECT_GE(groups.size(), 24u);
  std::uint64_t next = 0;
  for (const SplitGroup& group : groups)
    for (const Split& split : group) {
      EXPECT_EQ(split.offset, next);
      next += split.length;
    }
  EXPECT_EQ(next, size);
  const auto line = [](std::uint64_t number) {
    std::string text = std::to_string(number);
    return std::string(63 - text.size(), '0') + text;
  };
  TextReader reader(UINT64_MAX, files.get());
  for (const std::uint64_t offset :
       std::vector<std::uint64_t>{(4ull << 30) - 100, (5ull << 30) - 1, size - 300}) {  // where 32 bits end, and the end
    const Split split{.path = "s3://books/huge/in", .offset = offset, .length = 300, .hosts = {}};
    std::uint64_t number = (offset + 63) / 64;
    auto read = reader.for_each_line(
        split, [](std::uint64_t) {}, [&](std::string_view text) { EXPECT_EQ(text, line(number++)); });
    EXPECT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(number, (offset + 300 + 63) / 64);
  }
}

TEST(S3Files, PartsOfLargeObjectsAreFewEnoughAndNeitherTooSmallNorTooLarge) {
  std::uint64_t all = 0, before = 0;
  for (std::uint32_t number = 1; number <= 10'000; ++number) {
    const std::uint64_t bytes = part_bytes(number);
    EXPECT_GE(bytes, std::max<std::uint64_t>(5u << 20, before));
    EXPECT_LE(bytes, 640u << 20);
    before = bytes;
    all += bytes;
    EXPECT_TRUE(number != 999 || all == 999ull * (5u << 20));
  }
  EXPECT_GE(all, 2ull << 40);
  if (std::getenv("WEFT_LONG") == nullptr) return;
  S3Service service;
  const auto files = files_of(service);
  auto file = files->create("s3://books/huge/out").value();
  const std::string block(16u << 20, 'x');
  for (int i = 0; i < 330; ++i) ASSERT_TRUE(file->append(as_bytes(block)));
  ASSERT_TRUE(file->close());
  EXPECT_TRUE(service.has("\"huge/out\": " + std::to_string(330ull * block.size()))) << service.state();
  EXPECT_TRUE(service.has("\"uploads\": []")) << service.state();
}

TEST(S3Files, AServiceThatIsAwayForAWhileIsWaitedFor) {
  S3Service service;
  const std::string text = lines(200'000);
  service.store("in/a", text);
  const auto files = files_of(service);
  EXPECT_TRUE(files->expand("s3://books/in"));
  service.set(R"({"outage_at": 3, "outage": 1.5})");
  EXPECT_TRUE(read_all(*files, "s3://books/in", 7) == text);
  EXPECT_TRUE(service.has("\"outages\": 1")) << service.state();
  auto output = OutputDirectory::prepare("s3://books/out", false, "token", files.get()).value();
  const std::string large(6u << 20, 'x');
  const std::string requests = service.state().substr(service.state().find("\"requests\": ") + 12, 20);
  service.set("{\"outage_at\": " + std::to_string(std::stoi(requests) + 3) + "}");
  const std::string first = attempt(*files, output, 0, large);
  ASSERT_TRUE(output.commit({first}));
  EXPECT_TRUE(service.has("\"outages\": 2")) << service.state();
  EXPECT_TRUE(service.has("\"out/part-00000\": 6291456")) << service.state();
  EXPECT_TRUE(service.has("\"uploads\": []")) << service.state();
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
