// The REST interface (docs/rest.md): one table of what can be asked for and what each answers with. Answers are the JSON that the
// commands of `weft` print with --json, made by the same code.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/http/request.hpp"
#include "base/result.hpp"
#include "engine/tools/web/cluster.hpp"

namespace weft::web {

/// A request on its way to the route that answers it.
struct ApiCall {
  const http::Request& request;
  std::vector<std::string> names{};  // what stands in the places of the path, in their order: {job}

  /// A place that is a number; not_found when it is none, because then there is no such thing.
  Result<std::uint64_t> number(std::size_t place) const;
};

/// A parameter of the query, or a member of the body of what is posted.
struct Parameter {
  const char* name;
  const char* type;  // of JSON; "array": of texts
  const char* meaning;
};

struct Route {
  const char* method;
  const char* path;  // below /api/v1, with places such as {job}
  const char* summary;
  const char* command;  // that prints the same; empty: none does
  std::vector<Parameter> parameters;
  /// The JSON of the answer.
  Result<std::string> (*answer)(Cluster& cluster, const ApiCall& call);
  const char* schema;  // of the answer, in schemas.json
};
using Answer = decltype(Route::answer);

inline constexpr std::string_view kApi = "/api/v1";

/// All routes; those of the same path stand together.
std::span<const Route> routes();

/// Answers a request whose path begins with kApi: 404 where no route has the path, 405 where none has the method.
http::Response answer(Cluster& cluster, const http::Request& request);

/// The JSON that such a request is answered with; not_found where there is none.
Result<std::string> ask(Cluster& cluster, const http::Request& request);

/// The table as an OpenAPI 3.0 document.
std::string openapi_json();

// The parts of the table.
std::vector<Route> read_routes();
std::vector<Route> change_routes();

}  // namespace weft::web
