#include "engine/tools/web/pages.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "base/assert.hpp"
#include "engine/tools/web/embedded.hpp"

namespace weft::web {

namespace {

constexpr std::array<std::string_view, 6> kViews{"jobs", "nodes", "pools", "files", "tables", "scheduler"};

bool is_view(std::string_view path) {
  const std::string_view first = path.substr(1, path.find('/', 1) - 1);
  return first.empty() || std::find(kViews.begin(), kViews.end(), first) != kViews.end();
}

}  // namespace

http::Response page(std::string_view path, std::string_view of, bool insecure) {
  for (const auto& [name, script] : {std::pair("/weft.js", embedded::weft_js()), std::pair("/views.js", embedded::views_js()),
                                     std::pair("/job.js", embedded::job_js()), std::pair("/past.js", embedded::past_js()),
                                     std::pair("/scheduler.js", embedded::scheduler_js())})
    if (path == name) return {.type = "text/javascript; charset=utf-8", .body = std::string(script)};
  if (path == "/weft.css") return {.type = "text/css; charset=utf-8", .body = std::string(embedded::weft_css())};
  if (!path.starts_with('/') || !is_view(path)) return http::error_response(404, "there is no such page; / leads to all");
  std::string html(embedded::index_html());
  constexpr std::string_view kRoot = "<html lang=\"en\"";
  const std::size_t root = html.find(kRoot);
  WEFT_ASSERT(root != std::string::npos);
  if (!of.empty()) html.insert(root + kRoot.size(), fmt::format(" data-of=\"{}\"", of));
  constexpr std::string_view kMain = "<main ";
  if (insecure)
    html.insert(html.find(kMain),
                "<p class=\"insecure\" role=\"alert\">Insecure (--insecure): whoever reaches this cluster can run programs "
                "on it. `weft security init` closes it.</p>\n");
  return {.type = "text/html; charset=utf-8", .body = std::move(html)};
}

}  // namespace weft::web
