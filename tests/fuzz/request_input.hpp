// Requests as a client of the HTTP server writes them, behind the parser of libmicrohttpd: paths, queries, bodies and the headers
// that decide who may. Each is answered with a status that there is, and with JSON where it is of the REST interface.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/assert.hpp"
#include "base/file.hpp"
#include "base/http/request.hpp"
#include "base/json_reader.hpp"
#include "engine/tools/web/pages.hpp"
#include "engine/tools/web/routes.hpp"
#include "tests/engine/tools/history/lines.hpp"

namespace weft::fuzz {

/// Up to `end`, which is taken, too; all of it when there is no end.
inline std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return taken;
}

/// As libmicrohttpd does: a % that no two digits follow stays.
inline std::string decoded(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
  };
  std::string made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    made += escape ? static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])) : text[i];
    if (escape) i += 2;
  }
  return made;
}

/// Two jobs and two workers of a cluster that is gone: what answers needs no master.
inline web::Cluster& past_cluster() {
  static web::Cluster cluster([] {
    history::WrittenLog written;
    written.worker(0, 1, "w1", "h1");
    written.worker(0, 2, "w2", "h2");
    written.job(10, 1, "nightly");
    written.stage(11, 1, 0, 4);
    for (std::uint32_t task = 0; task < 4; ++task) written.launch(20, 1, 0, task, 0, 1 + task % 2);
    for (std::uint32_t task = 0; task < 3; ++task) written.finish(900, 1, 0, task, 0, 1 + task % 2, {100, 200});
    written.fail(950, 1, 0, 3, 0, 2, "user_code", "a \"quoted\" reason\n\x01");
    written.end(1500, 1, "job_failed");
    written.job(1600, 2);
    static const TempDir directory = TempDir::create().value();  // jobs are read from there when they are asked for
    WEFT_ASSERT(write_file(directory.path() / "log", written.log).has_value());
    return history::PastJobs::open(directory.path()).value();
  }());
  return cluster;
}

/// "METHOD TARGET", lines of headers, an empty line, the body.
inline void read_request(std::string_view text) {
  std::string_view line = take_until(text, '\n');
  http::Request request;
  request.method = take_until(line, ' ');
  request.path = decoded(take_until(line, '?'));
  while (!line.empty()) {
    std::string_view parameter = take_until(line, '&');
    const std::string name = decoded(take_until(parameter, '='));
    request.query[name] = decoded(parameter);
  }
  http::Guarded guarded{.method = request.method};
  for (line = take_until(text, '\n'); !line.empty(); line = take_until(text, '\n')) {
    const std::string_view name = take_until(line, ':');
    const std::string value(line.substr(std::min<std::size_t>(line.size(), line.starts_with(' ') ? 1 : 0)));
    if (name == "Host") guarded.host = value;
    if (name == "Origin") guarded.origin = value;
    if (name == "Content-Type") guarded.content_type = value;
    if (name == "X-Weft") guarded.custom = value;
  }
  request.body = text;

  static const std::set<int> kStatuses{200, 400, 403, 404, 405, 409, 421, 429, 500, 503, 504};
  const auto check = [](const http::Response& response) {
    WEFT_ASSERT(kStatuses.contains(response.status) && !response.body.empty());
    if (response.type != "application/json") return;
    JsonReader json(response.body, "answer");
    WEFT_ASSERT(json.skip().has_value() && json.finish().has_value());
  };
  for (const bool loopback : {true, false})
    if (const auto refusal = http::refused(guarded, loopback, {"node.example"})) check(*refusal);
  if (request.method == "HEAD") request.method = "GET";
  check(request.path.starts_with(web::kApi) ? web::answer(past_cluster(), request) : web::page(request.path));
}

}  // namespace weft::fuzz
