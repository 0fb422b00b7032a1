// What a browser or a program asks an HTTP server, what it is answered, and which requests are refused whatever they ask for. All
// functions are pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::http {

class EventStream;

struct Request {
  std::string method;  // GET (of HEAD, too), POST or DELETE
  std::string path;    // decoded; begins with /
  std::map<std::string, std::string> query;
  std::string body;
  /// The peer that asks: by its certificate or token where the server encrypts, otherwise the user of this machine who has the
  /// other end. Nothing where nobody was asked to say (insecure servers, open paths).
  std::optional<rpc::Identity> peer{};

  /// A parameter of the query; empty when it is not there.
  std::string parameter(const std::string& name) const;
  /// A parameter that is a number; `otherwise` when it is not there. The error names the parameter.
  Result<std::uint64_t> number(const std::string& name, std::uint64_t otherwise) const;
};

struct Response {
  int status = 200;
  std::string type = "application/json";  // MIME
  std::string body{};
  std::string cookie{};                   // to be kept by the browser: what Set-Cookie says; empty: none
  std::shared_ptr<EventStream> events{};  // instead of a body: it stays open until one side closes it
  std::string error{};                    // why it is refused or failed, as the body of error_response() says; otherwise empty
};

/// The headers that decide whether a request is refused.
struct Guarded {
  std::string method{};
  std::optional<std::string> host{}, origin{}, content_type{}, custom{};  // `custom`: X-Weft
  std::optional<std::string> fetch_site{};                                // Sec-Fetch-Site, of newer browsers
  bool encrypted = false;
};

/// Which names of this server a request may use, and whether a foreign web page may have made it. Nothing when it
/// is served. Against DNS rebinding: a server of the loopback interface answers to names of loopback only, another one to
/// addresses, to names without a dot, and to `names`. Against forms and scripts of other pages: what changes something has the
/// header X-Weft or is JSON, which browsers send to another site only with that site's consent; an Origin is the server's own; and
/// a browser that says where a request comes from (Sec-Fetch-Site) says that it is this server's page, or the user himself.
std::optional<Response> refused(const Guarded& headers, bool loopback, const std::vector<std::string>& names);

/// {"error":"…","code":"not_found"} with the status for that code.
Response error_response(const Error& error);
Response error_response(int status, std::string_view message);

}  // namespace weft::http
