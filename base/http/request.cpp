#include "base/http/request.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/core.h>

#include "base/json.hpp"
#include "base/text.hpp"

namespace weft::http {

namespace {

std::string lower(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return made;
}

/// "[::1]" of "[::1]:7078", "localhost" of "localhost:7078".
std::string without_port(std::string_view host) {
  if (host.starts_with('[')) return lower(host.substr(0, host.find(']') + 1));
  return lower(host.substr(0, host.find(':')));
}

bool is_loopback_name(const std::string& host) { return host == "localhost" || host == "127.0.0.1" || host == "[::1]"; }

bool is_address(const std::string& host) {
  return host.starts_with('[') || (!host.empty() && host.find_first_not_of("0123456789.") == std::string::npos);
}

bool is_own_name(const std::string& host, bool loopback, const std::vector<std::string>& names) {
  if (is_loopback_name(host)) return true;
  if (loopback || host.empty()) return false;
  return is_address(host) || host.find('.') == std::string::npos ||
         std::any_of(names.begin(), names.end(), [&host](const std::string& name) { return lower(name) == host; });
}

int status_of(Code code) {
  switch (code) {
    case Code::invalid_argument:
      return 400;
    case Code::permission_denied:
      return 403;
    case Code::not_found:
      return 404;
    case Code::already_exists:
    case Code::cancelled:
      return 409;
    case Code::resource_exhausted:
      return 429;
    case Code::unavailable:
      return 503;
    case Code::deadline_exceeded:
      return 504;
    default:
      return 500;
  }
}

Response error_body(int status, std::string_view message, std::string_view code) {
  JsonWriter json;
  json.begin_object().member("error", message).member("code", code).end_object();
  return {.status = status, .body = json.text() + "\n", .error = std::string(message)};
}

}  // namespace

std::string Request::parameter(const std::string& name) const {
  const auto found = query.find(name);
  return found == query.end() ? std::string() : found->second;
}

Result<std::uint64_t> Request::number(const std::string& name, std::uint64_t otherwise) const {
  const std::string text = parameter(name);
  if (text.empty()) return otherwise;
  if (const auto parsed = parse_number<std::uint64_t>(text)) return *parsed;
  return fail(Code::invalid_argument, fmt::format("{}={} is no number from 0 on", name, escaped(text)));
}

std::optional<Response> refused(const Guarded& headers, bool loopback, const std::vector<std::string>& names) {
  if (headers.method != "GET" && headers.method != "HEAD" && headers.method != "POST" && headers.method != "DELETE")
    return error_response(405, "this server knows GET, HEAD, POST and DELETE");
  if (!headers.host) return error_response(400, "the request has no header Host");
  if (!is_own_name(without_port(*headers.host), loopback, names))
    return error_response(421, loopback ? "this server answers to localhost, 127.0.0.1 and [::1] only"
                                        : "this server answers to addresses and to its own names only");
  if (headers.method == "GET" || headers.method == "HEAD") return std::nullopt;
  const std::string own = (headers.encrypted ? "https://" : "http://") + lower(*headers.host);
  if (headers.origin && lower(*headers.origin) != own)
    return error_response(403, "the request comes from a page of another server");
  if (headers.fetch_site && *headers.fetch_site != "same-origin" && *headers.fetch_site != "none")
    return error_response(403, "the request comes from a page of another server");
  if (headers.custom || (headers.content_type && lower(*headers.content_type).starts_with("application/json"))) return std::nullopt;
  return error_response(403, "what changes something needs the header X-Weft: 1, or Content-Type: application/json");
}

Response error_response(const Error& error) {
  return error_body(status_of(error.code()), error.to_string(), code_name(error.code()));
}

Response error_response(int status, std::string_view message) {
  return error_body(status, message,
                    status == 404   ? "not_found"
                    : status == 403 ? "permission_denied"
                    : status >= 500 ? "unavailable"
                                    : "invalid_argument");
}

}  // namespace weft::http
