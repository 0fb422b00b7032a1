// The table of routes: what is found, what is refused before a master is asked, and the document that describes it.
#include "engine/tools/web/routes.hpp"

#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/json_reader.hpp"
#include "engine/tools/web/pages.hpp"

namespace weft::web {
namespace {

http::Response ask_nobody(const std::string& method, const std::string& path, const std::string& body = "",
                          std::map<std::string, std::string> query = {}) {
  Cluster nobody("127.0.0.1:1");
  http::Request request{method, path, std::move(query), body};
  return answer(nobody, request);
}

TEST(Routes, WhatIsNotThereIsSaid) {
  for (const char* path : {"/api/v1", "/api/v1/", "/api/v1/job", "/api/v1/jobs/", "/api/v1/jobs/x", "/api/v1/jobs/-1",
                           "/api/v1/jobs/99999999999999999999", "/api/v1/jobs/1/2/3", "/api/v1/../jobs", "/api/v1//jobs"})
    EXPECT_EQ(ask_nobody("GET", path).status, 404) << path;
  const auto wrong = ask_nobody("POST", "/api/v1/jobs");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_NE(wrong.body.find("takes GET"), std::string::npos) << wrong.body;
}

TEST(Routes, AMasterThatDoesNotAnswerIsUnavailable) {
  const auto answered = ask_nobody("GET", "/api/v1/jobs");
  EXPECT_EQ(answered.status, 503);
  EXPECT_NE(answered.body.find("127.0.0.1:1"), std::string::npos) << answered.body;
}

TEST(Routes, WrongParametersAreRefusedBeforeAnybodyIsAsked) {
  EXPECT_EQ(ask_nobody("GET", "/api/v1/jobs/1/logs", "", {{"bytes", "many"}}).status, 400);
  EXPECT_EQ(ask_nobody("GET", "/api/v1/jobs/1/logs", "", {{"bytes", "999999999"}}).status, 400);
  EXPECT_EQ(ask_nobody("POST", "/api/v1/scheduler").status, 400);
  EXPECT_EQ(ask_nobody("POST", "/api/v1/scheduler", "{\"scheduler\":3}").status, 400);
  EXPECT_EQ(ask_nobody("POST", "/api/v1/scheduler", "{\"scheduler\":\"fair\"} more").status, 400);
  EXPECT_EQ(ask_nobody("POST", "/api/v1/scheduler", std::string(100'000, '[')).status, 400);
  const auto unknown = ask_nobody("POST", "/api/v1/scheduler", "{\"shceduler\":\"fair\"}");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_NE(unknown.body.find("shceduler"), std::string::npos);
  EXPECT_EQ(ask_nobody("POST", "/api/v1/nodes/w1/capacity", "{\"capacity\":\"lots=2\"}").status, 400);
}

TEST(Routes, TheDocumentHasEveryRouteAndIsJson) {
  const std::string text = openapi_json();
  JsonReader json(text, "openapi");
  std::set<std::string> found;
  const auto read = json.object([&](std::string_view key) -> Result<void> {
    if (key != "paths") return json.skip();
    return json.object([&](std::string_view path) -> Result<void> {
      const std::string of(path);
      return json.object([&](std::string_view method) -> Result<void> {
        found.insert(of + " " + std::string(method));
        return json.skip();
      });
    });
  });
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_TRUE(json.finish());
  EXPECT_EQ(found.size(), routes().size());
  EXPECT_TRUE(found.contains("/jobs/{job} delete"));
  EXPECT_TRUE(found.contains("/nodes/{worker}/drain post"));
  for (const Route& route : routes())
    EXPECT_NE(text.find(std::string("\n\"") + route.schema + "\":"), std::string::npos) << route.schema;
}

TEST(Pages, ThereIsOneForEachView) {
  for (const char* path : {"/", "/jobs", "/jobs/7", "/nodes", "/pools", "/files", "/tables"}) {
    const auto answered = page(path);
    EXPECT_EQ(answered.status, 200) << path;
    EXPECT_TRUE(answered.type.starts_with("text/html"));
  }
  EXPECT_TRUE(page("/weft.js").type.starts_with("text/javascript"));
  EXPECT_TRUE(page("/weft.css").type.starts_with("text/css"));
  for (const char* path : {"/favicon.ico", "/etc/passwd", "/../weft.js", "", "/weft.js/"})
    EXPECT_EQ(page(path).status, 404) << path;
}

TEST(Pages, OfLogsSayThatTheyAre) {
  EXPECT_EQ(page("/jobs").body.find("data-of"), std::string::npos);
  EXPECT_NE(page("/jobs", "logs").body.find("<html lang=\"en\" data-of=\"logs\">"), std::string::npos);
}

TEST(Pages, AllOfItIsSmallAndLoadsNothingFromElsewhere) {
  std::size_t bytes = 0;
  for (const char* path : {"/", "/weft.js", "/views.js", "/job.js", "/weft.css"}) {
    const std::string body = page(path).body;
    bytes += body.size();
    for (const char* elsewhere : {"https://", "src=\"//", "@import"}) EXPECT_EQ(body.find(elsewhere), std::string::npos) << path;
  }
  EXPECT_LE(bytes, 300u << 10);
}

}  // namespace
}  // namespace weft::web
