#include "engine/tools/web/routes.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "base/text.hpp"

namespace weft::web {

namespace {

/// What stands in the places of the route's path; nothing when the path is another one.
std::optional<std::vector<std::string>> places(std::string_view route, std::string_view path) {
  const auto wanted = split(route, '/'), given = split(path, '/');
  if (wanted.size() != given.size()) return std::nullopt;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool place = wanted[i].starts_with('{');
    if (place ? given[i].empty() : wanted[i] != given[i]) return std::nullopt;
    if (place) names.emplace_back(given[i]);
  }
  return names;
}

/// The route of a request; null with the methods that its path has, if any.
struct RouteMatch {
  const Route* route = nullptr;
  std::vector<std::string> names{};
  std::string methods{};
};

RouteMatch match(const http::Request& request) {
  const std::string_view path = std::string_view(request.path).substr(std::min(kApi.size(), request.path.size()));
  RouteMatch found;
  for (const Route& route : routes()) {
    auto names = places(route.path, path);
    if (!names) continue;
    if (request.method == route.method) return {&route, std::move(*names)};
    found.methods += (found.methods.empty() ? "" : ", ") + std::string(route.method);
  }
  return found;
}

std::vector<Route> all_routes() {
  std::vector<Route> all = read_routes(), changes = change_routes();
  std::move(changes.begin(), changes.end(), std::back_inserter(all));
  std::stable_sort(all.begin(), all.end(),
                   [](const Route& a, const Route& b) { return std::string_view(a.path) < std::string_view(b.path); });
  return all;
}

}  // namespace

Result<std::uint64_t> ApiCall::number(std::size_t place) const {
  if (const auto parsed = parse_number<std::uint64_t>(names.at(place))) return *parsed;
  return fail(Code::not_found, fmt::format("'{}' is no number", escaped(names.at(place))));
}

std::span<const Route> routes() {
  static const std::vector<Route> all = all_routes();
  return all;
}

Result<std::string> ask(Cluster& cluster, const http::Request& request) {
  RouteMatch found = match(request);
  if (found.route == nullptr)
    return fail(Code::not_found, fmt::format("there is no {}; /api/v1/openapi.json lists all resources", escaped(request.path)));
  return found.route->answer(cluster, ApiCall{request, std::move(found.names)});
}

http::Response answer(Cluster& cluster, const http::Request& request) {
  if (const RouteMatch found = match(request); found.route == nullptr && !found.methods.empty())
    return http::error_response(405, fmt::format("{} takes {}", escaped(request.path), found.methods));
  auto answered = ask(cluster, request);
  if (!answered) return http::error_response(answered.error());
  return {.body = std::move(*answered)};
}

}  // namespace weft::web
