#include "storage/hdfs/hdfs_files.hpp"

#include <map>
#include <optional>

#include "storage/hdfs/answers.hpp"
#include "storage/hdfs/input.hpp"
#include "storage/hdfs/output.hpp"
#include "storage/hdfs/path.hpp"
#include "storage/hdfs/spool.hpp"
#include "storage/inputs.hpp"
#include "storage/output_directory.hpp"
#include "storage/output_file.hpp"
#include "storage/split.hpp"
#include "tests/storage/hdfs_service.hpp"

namespace weft::storage::hdfs {
namespace {

using http::HttpOptions;
using test::HdfsService;

HttpOptions impatient(std::chrono::seconds patience = std::chrono::seconds(60)) {
  HttpOptions options;
  options.patience = patience;
  options.first_pause = std::chrono::milliseconds(2);
  options.longest_pause = std::chrono::milliseconds(50);
  return options;
}

std::unique_ptr<ForeignFiles> files_of(const HdfsService& service) { return hdfs_files(service.settings(), impatient()); }

/// What went wrong with an input, or nothing.
std::string refusal(RemoteFiles& files, const std::string& url) {
  const std::vector<std::string> inputs{url};
  const auto found = expand_inputs(inputs, &files);
  if (found) return "no error";
  EXPECT_EQ(found.error().to_string().find('\n'), std::string::npos) << found.error().to_string();
  return found.error().to_string();
}
std::string write_refusal(RemoteFiles& files, const std::string& url) {
  auto file = files.create(url);
  if (file && (*file)->append(as_bytes("x"))) {
    const auto closed = (*file)->close();
    return closed ? "no error" : closed.error().to_string();
  }
  return "not begun";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(HdfsFiles, PiecesAreBlocksWithTheirHosts) {
  HdfsService service;
  service.set(R"({"block": 1000})");
  service.store("/in/a", std::string(2'500, 'x'));
  const auto files = files_of(service);
  const auto pieces = files->pieces(service.url("/in/a")).value();
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[2].offset, 2'000u);
  EXPECT_EQ(pieces[2].length, 500u);
  EXPECT_EQ(pieces[0].hosts, (std::vector<std::string>{"10.0.0.1", "h1", "h2"}));  // as workers may name themselves
  service.set(R"({"old": true})");
  EXPECT_EQ(files->pieces(service.url("/in/a")).value().size(), 1u);
}

TEST(HdfsFiles, ManyFilesAreListedAndSplitWithFewRequests) {
  HdfsService service;
  service.set(R"({"page": 100})");
  for (int i = 0; i < 250; ++i) service.store("/in/" + std::to_string(i), "text\n");
  const auto files = files_of(service);
  const std::vector<std::string> inputs{service.url("/in")};
  const auto found = expand_inputs(inputs, files.get()).value();
  ASSERT_EQ(found.paths.size(), 250u);
  const auto groups = split_files(found.paths, {}, files.get()).value();
  EXPECT_LE(groups.size(), 4u);                                       // near some hosts each
  EXPECT_TRUE(service.has("\"requests\": 254,")) << service.state();  // itself, three pages, and one for the blocks of each
}

TEST(HdfsFiles, TheOtherNameNodeIsAskedWhenOneIsInStandbyOrAway) {
  HdfsService service;
  service.store("/in/a", "text\n");
  HdfsSettings settings = service.settings();  // the first of "both" is in standby
  settings.name_nodes["away"] = {"http://127.0.0.1:1", "http://" + service.address()};
  settings.name_nodes["standby"] = {"http://" + service.other_address()};
  const auto files = hdfs_files(settings, impatient());
  for (const char* name : {"hdfs://both/in/a", "webhdfs://both/in/a", "hdfs://away/in/a"}) {
    Buffer piece(5);
    EXPECT_EQ(files->open(name).value()->read(0, piece.span()).value(), 5u) << name;
  }
  service.set(R"({"standby": "0"})");  // they change roles
  EXPECT_EQ(write_refusal(*files, "hdfs://both/out"), "no error");
  EXPECT_TRUE(has(refusal(*files, "hdfs://standby/in"), "no error"));
  service.set(R"({"standby": "0 1"})");
  EXPECT_TRUE(has(refusal(*files, "hdfs://standby/in"), "the NameNode is in standby; name all of them with WEFT_HDFS_HTTP"));
  const auto hasty = hdfs_files(settings, impatient(std::chrono::seconds(1)));
  EXPECT_TRUE(has(refusal(*hasty, "hdfs://both/in"), "none of its NameNodes is active"));
}

TEST(HdfsFiles, SafeModeIsWaitedForWithinABound) {
  HdfsService service;
  service.set(R"({"no_writes": 5})");
  EXPECT_EQ(write_refusal(*files_of(service), service.url("/out")), "no error");
  service.set(R"({"safe_mode": true})");
  const auto hasty = hdfs_files(service.settings(), impatient(std::chrono::seconds(1)));
  const std::string error = write_refusal(*hasty, service.url("/other"));
  EXPECT_TRUE(has(error, "HDFS has been in safe mode for")) << error;
  EXPECT_TRUE(has(error, "hdfs dfsadmin -safemode get")) << error;
}

TEST(HdfsFiles, AFileThatChangesWhileItIsReadIsAnError) {
  HdfsService service;
  const std::string text(3'000'000, 'x');
  service.store("/in/a", text);
  service.set(R"({"grow": "/in/a"})");
  const auto files = files_of(service);
  const auto file = files->open(service.url("/in/a")).value();
  file->will_read(0, text.size());
  Buffer all(text.size());
  const auto changed = file->read(0, all.span());
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code(), Code::invalid_argument) << "no other attempt would end better";
  EXPECT_TRUE(has(changed.error().to_string(),
                  "input " + service.url("/in/a") + " changed since it was listed: another file is in its place"))
      << changed.error().to_string();
  const auto again = files->open(service.url("/in/a")).value();
  service.store("/in/a", "short");
  EXPECT_FALSE(again->read(2'500'000, all.span()));
}

TEST(HdfsFiles, AFileThatIsAnotherThanTheDriverListedIsAnError) {
  HdfsService service;
  service.store("/in/a", "text\n");
  const auto driver = files_of(service);
  const std::vector<std::string> inputs{service.url("/in/a")};
  const auto found = expand_inputs(inputs, driver.get()).value();
  service.store("/in/a", "TEXT\n");  // of the same length
  const auto worker = files_of(service);
  const auto file = worker->open(found.paths[0], found.versions[0]).value();
  file->will_read(0, 5);
  Buffer all(5);
  const auto changed = file->read(0, all.span());
  ASSERT_FALSE(changed);
  EXPECT_TRUE(has(changed.error().to_string(), "changed since it was listed")) << changed.error().to_string();
  EXPECT_FALSE(worker->pieces(found.paths[0], found.versions[0]));
}

TEST(HdfsFiles, ErrorsNameTheCauseAndTheRemedy) {
  HdfsService service;
  service.store("/in/a", "text\n");
  HdfsSettings settings = service.settings();
  settings.user = "eve";
  const auto files = hdfs_files(settings, impatient());
  EXPECT_TRUE(has(refusal(*files, service.url("/nothing")), "/nothing is not there"));
  EXPECT_TRUE(has(refusal(*files, service.url("/in/b*")), "no file matches the pattern"));
  EXPECT_TRUE(has(refusal(*files, "hdfs://127.0.0.1:1/in"), "WEFT_HDFS_HTTP says where the server is"));
  EXPECT_TRUE(has(refusal(*files, "hdfs:///in"), "set WEFT_HDFS_HTTP=HOST:PORT"));
  EXPECT_TRUE(has(refusal(*files, "hdfs://no host/in"), "is no HOST or HOST:PORT"));
  EXPECT_TRUE(has(refusal(*files, service.url("/in/../x")), "knows no names '.' and '..'"));
  EXPECT_TRUE(has(write_refusal(*files, service.url("/in/a/b")), "cannot write"));
  service.set(R"({"deny": "eve"})");
  EXPECT_TRUE(has(refusal(*files, service.url("/in")), "the user eve has no right to it (Permission denied"));
  service.set(R"({"deny": "", "token": "T"})");
  EXPECT_TRUE(has(refusal(*files, service.url("/in")), "set WEFT_HDFS_DELEGATION_TOKEN"));
  settings.token = "T";
  EXPECT_EQ(refusal(*hdfs_files(settings, impatient()), service.url("/in")), "no error");
  service.set(R"({"token": "", "redirect": true})");
  EXPECT_TRUE(has(refusal(*files, service.url("/in")), "redirects again and again; check WEFT_HDFS_HTTP"));
}

TEST(HdfsFiles, WhatIsNoWebHdfsIsSaid) {
  HdfsService service;
  const auto files = files_of(service);
  // A server of pages answers without JSON: here one whose path is not that of WebHDFS.
  test::Process pages({"python3", "-c",
                       "import http.server as h\n"
                       "class A(h.BaseHTTPRequestHandler):\n"
                       "  def do_GET(self):\n"
                       "    self.send_response(404); self.end_headers()\n"
                       "    self.wfile.write(b'It looks like you are making an HTTP request to a Hadoop IPC port.' if 'rpc' in "
                       "self.path else b'no')\n"
                       "  def log_message(self, *a): pass\n"
                       "s = h.HTTPServer(('127.0.0.1', 0), A)\n"
                       "print(s.server_address[1], flush=True)\n"
                       "s.serve_forever()"},
                      {.daemon = true});
  test::eventually([&] { return pages.out_so_far().ends_with('\n'); });
  const std::string port = pages.out_so_far().substr(0, pages.out_so_far().find('\n'));
  EXPECT_TRUE(has(refusal(*files, "hdfs://127.0.0.1:" + port + "/in"), "(with 404) is no WebHDFS"));
  EXPECT_TRUE(has(refusal(*files, "hdfs://127.0.0.1:" + port + "/rpc"), "the port is that of Hadoop's RPC"));
  EXPECT_TRUE(has(refusal(*files, "hdfs://127.0.0.1:" + port + "/rpc"), "dfs.namenode.http-address, 9870"));
  pages.signal(SIGKILL);
}

TEST(HdfsFiles, ALargeFileIsSentWhileItIsWrittenAndAgainWhenThatBreaks) {
  HdfsService service;
  std::string text;
  while (text.size() < (40u << 20)) text += "a line of a large file, number " + std::to_string(text.size()) + "\n";
  for (const char* fault : {R"({"dead": true})", R"({"dead": false, "cut": 0.4, "seed": 11})"}) {
    service.set(fault);
    const auto files = files_of(service);
    auto file = files->create(service.url("/large")).value();
    for (std::size_t at = 0; at < text.size(); at += 1u << 20) {
      const auto appended = file->append(as_bytes(std::string_view(text).substr(at, 1u << 20)));
      ASSERT_TRUE(appended) << appended.error().to_string();
      if (at == 20u << 20) {
        EXPECT_FALSE(files->exists(service.url("/large")).value_or(false));
      }
    }
    const auto closed = file->close();
    ASSERT_TRUE(closed) << closed.error().to_string();
    service.set(R"({"cut": 0})");
    Buffer there(text.size());
    const auto read = files->open(service.url("/large")).value();
    read->will_read(0, text.size());
    EXPECT_EQ(read->read(0, there.span()).value(), text.size());
    EXPECT_TRUE(as_chars(there.view()) == text);
    EXPECT_TRUE(files->remove(service.url("/large")));
  }
  EXPECT_TRUE(service.has("\"files\": {}")) << service.state();
}

TEST(HdfsFiles, LateAttemptsDoNotBringBackADirectoryThatIsGone) {
  HdfsService service;
  service.store("/there", "x");
  const auto files = files_of(service);
  std::unique_ptr<OutputFile> late;
  {
    auto output = OutputDirectory::prepare(service.url("/out"), false, "token", files.get()).value();
    late = OutputFile::create(output.work_directory(), "task-1-0-0", files.get()).value();
    ASSERT_TRUE(late->append(as_bytes("late")));
  }
  EXPECT_FALSE(late->close());
  late.reset();
  EXPECT_TRUE(service.has("\"directories\": [\"/\"]")) << service.state();
}

TEST(HdfsFiles, WhatAKilledJobLeftGoesWithTheNextOutput) {
  HdfsService service;
  service.store("/.out.weft-killed/task-1-0-0", "x");
  service.store("/.other.weft-killed/task-1-0-0", "x");
  const auto files = files_of(service);
  ASSERT_TRUE(OutputDirectory::prepare(service.url("/out"), false, "token", files.get()).value().commit({""}));
  EXPECT_EQ(files->names(service.url("/")).value(), (std::vector<std::string>{".other.weft-killed", "out"}));
  service.store("/out.weft-replaced/part-00000", "x");
  const auto refused = OutputDirectory::prepare(service.url("/out"), true, "token", files.get()).value().commit({""});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(has(refused.error().to_string(), "this is what was there before; move or remove it")) << refused.error().to_string();
  EXPECT_EQ(files->names(service.url("/out")).value().size(), 2u);
}

TEST(HdfsFiles, RenamesMoveNothingIntoADirectory) {
  for (const char* kind : {"false", "true"}) {  // an old one does that, unless somebody looks before
    HdfsService service;
    service.set(std::string("{\"old\": ") + kind + "}");
    service.store("/a/x", "x");
    service.store("/b/y", "y");
    const auto files = files_of(service);
    const auto refused = files->rename(service.url("/a"), service.url("/b"), false);
    ASSERT_FALSE(refused) << kind;
    EXPECT_EQ(refused.error().code(), Code::already_exists) << refused.error().to_string();
    EXPECT_EQ(files->names(service.url("/a")).value(), std::vector<std::string>{"x"});
    EXPECT_EQ(files->names(service.url("/b")).value(), std::vector<std::string>{"y"});
  }
}

TEST(HdfsFiles, ARenameWhoseAnswerIsLostIsKnownByWhatIsThere) {
  for (const char* kind : {"false", "true"}) {
    HdfsService service;
    service.set(std::string("{\"old\": ") + kind + ", \"lose_next\": \"RENAME\"}");
    service.store("/a/x", "x");
    const auto files = files_of(service);
    const auto renamed = files->rename(service.url("/a"), service.url("/b"), false);
    EXPECT_TRUE(renamed) << kind << ": " << renamed.error().to_string();
    EXPECT_TRUE(service.has("\"lost\": 1")) << service.state();
    EXPECT_EQ(files->names(service.url("/")).value(), std::vector<std::string>{"b"});
    EXPECT_FALSE(files->rename(service.url("/a"), service.url("/b"), false));  // one that was not done is not taken for it
  }
}

TEST(HdfsFiles, TheRootIsNotRemoved) {
  HdfsService service;
  service.store("/a/x", "x");
  const auto files = files_of(service);
  const auto refused = files->remove(service.url("/"));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(has(refused.error().to_string(), "it is the root directory")) << refused.error().to_string();
  EXPECT_TRUE(service.has("/a/x")) << service.state();
}

TEST(HdfsSpool, KeepsWhatItMustAndForgetsTheRest) {
  test::ScratchDirectory directory;
  const std::uint64_t kPart = 64u << 20;
  auto spool = Spool::create(directory.path(), {.ahead = 3 * kPart, .kept = kPart}).value();
  auto body = Spool::body(spool).value();
  const std::string part(kPart, 'p');
  std::string got(kPart, '\0');
  const auto take = [&] {
    const auto taken = body->take(got.data(), got.size()).value();
    return taken.end ? std::string("end") : got.substr(0, taken.bytes);
  };
  EXPECT_EQ(take(), "");
  ASSERT_TRUE(spool->append(as_bytes(part)));
  EXPECT_TRUE(take() == part);
  body->ended();
  EXPECT_FALSE(spool->wait_for_room());
  body = Spool::body(spool).value();  // all of it again
  EXPECT_TRUE(take() == part);
  ASSERT_TRUE(spool->append(as_bytes(part)));
  EXPECT_TRUE(take() == part);
  ASSERT_TRUE(spool->append(as_bytes("rest")));
  spool->close();
  EXPECT_EQ(take(), "rest");
  EXPECT_EQ(take(), "end");
  EXPECT_TRUE(spool->wait_for_room());
  EXPECT_EQ(Spool::body(spool).error().code(), Code::resource_exhausted);
}

TEST(HdfsAnswers, ThatAreWrongAreErrors) {
  EXPECT_EQ(
      parse_status(R"({"FileStatus":{"type":"FILE","length":7,"modificationTime":9,"fileId":3,"x":[{}]}})", "f").value().length,
      7u);
  for (const char* wrong : {"", "{}", "[]", R"({"FileStatus":{}})", R"({"FileStatus":{"type":"FILE","length":-1}})",
                            R"({"FileStatus":{"type":"FILE","pathSuffix":"../a"}})", R"({"FileStatus":{"type":"FILE")"})
    EXPECT_FALSE(parse_status(wrong, "f")) << wrong;
  EXPECT_FALSE(parse_listing(R"({"FileStatuses":{}})", "f"));
  EXPECT_TRUE(parse_listing(R"({"FileStatuses":{"FileStatus":[]}})", "f"));
  const auto blocks = [](const std::string& list, std::uint64_t length) {
    return parse_blocks(R"({"BlockLocations":{"BlockLocation":[)" + list + "]}}", length, "f").has_value();
  };
  EXPECT_TRUE(blocks(R"({"offset":0,"length":4,"hosts":["b","a"]},{"offset":4,"length":1})", 5));
  EXPECT_FALSE(blocks(R"({"offset":0,"length":4})", 5));
  EXPECT_TRUE(blocks(R"({"offset":0,"length":6})", 5)) << "it grew";
  EXPECT_TRUE(blocks(R"({"offset":0,"length":6},{"offset":6,"length":6})", 5)) << "it grew";
  EXPECT_FALSE(blocks(R"({"offset":1,"length":4})", 5));
  EXPECT_FALSE(blocks(R"({"offset":0,"length":4},{"offset":5,"length":1})", 5));
  EXPECT_FALSE(parse_exception("<html>"));
  EXPECT_EQ(parse_exception(R"({"RemoteException":{"exception":"E","message":"first\nsecond"}})")->message, "first");
  EXPECT_EQ(parse_location(R"({"Location":"http://d/"})"), "http://d/");
  EXPECT_EQ(parse_location("no"), "");
}

TEST(HdfsSettings, ComeFromVariables) {
  std::map<std::string, std::string> variables;
  const auto settings = [&] {
    return hdfs_settings([&](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
  };
  using Urls = std::vector<std::string>;
  EXPECT_FALSE(settings().value().user.empty());
  EXPECT_EQ(name_nodes_of(settings().value(), "nn").value(), Urls{"http://nn:9870"});
  EXPECT_EQ(name_nodes_of(settings().value(), "nn:8020").value(), Urls{"http://nn:8020"});
  EXPECT_FALSE(name_nodes_of(settings().value(), ""));
  variables = {{"HADOOP_USER_NAME", "ada"},
               {"WEFT_HDFS_DELEGATION_TOKEN", "T"},
               {"WEFT_HDFS_HTTP", " prod=nn1,https://nn2:50470  nn3:8020=nn3:50070 https://nn4"}};
  const HdfsSettings found = settings().value();
  EXPECT_EQ(found.user + found.token, "adaT");
  EXPECT_EQ(name_nodes_of(found, "prod").value(), (Urls{"http://nn1:9870", "https://nn2:50470"}));
  EXPECT_EQ(name_nodes_of(found, "nn3:8020").value(), Urls{"http://nn3:50070"});
  EXPECT_EQ(name_nodes_of(found, "").value(), Urls{"https://nn4:9871"});
  for (const char* wrong : {"prod=", "prod=nn:0", "prod=nn:70000", "a b=c/d"}) {
    variables["WEFT_HDFS_HTTP"] = wrong;
    EXPECT_FALSE(settings()) << wrong;
  }
  variables = {{"HADOOP_USER_NAME", "a\nb"}};
  EXPECT_FALSE(settings());
}

TEST(HdfsPaths, AreTakenAsTheyAre) {
  EXPECT_EQ(url_of(parse_hdfs("hdfs://nn:1//a///b%20c/").value()), "hdfs://nn:1/a/b%20c");
  EXPECT_EQ(url_of(parse_hdfs("webhdfs://nn").value()), "webhdfs://nn/");
  for (const char* wrong : {"hdfs://", "hdfs://nn/../a", "s3://a/b"}) EXPECT_FALSE(parse_hdfs(wrong)) << wrong;
  EXPECT_FALSE(parse_hdfs("hdfs://nn/" + std::string(9'000, 'x')));
}

}  // namespace
}  // namespace weft::storage::hdfs
