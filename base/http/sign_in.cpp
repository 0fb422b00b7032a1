#include "base/http/sign_in.hpp"

#include <fmt/core.h>

#include "base/http/encryption.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace weft::http {
namespace {

constexpr std::size_t kMostTokenBytes = 1024;

/// Until the browser ends, or `more` says otherwise. The prefix __Host- makes browsers insist on these attributes.
std::string cookie(std::string_view token, std::string_view more = {}) {
  return fmt::format("{}={}; Path=/; Secure; HttpOnly; SameSite=Strict{}", kTokenCookie, token, more);
}

}  // namespace

Response sign_in(const Request& request, rpc::Credentials& credentials) {
  if (request.method == "DELETE") return {.body = "{}\n", .cookie = cookie("", "; Max-Age=0")};
  if (request.method != "POST") return error_response(405, "a token is sent here by POST, and given up by DELETE");
  const std::string token(trim(request.body));
  if (token.empty() || token.size() > kMostTokenBytes)
    return error_response(401, "that is no token: weft security token issue writes one into the file `token`");
  const auto who = ShownIdentity{.certificate = {}, .token = token}.check(credentials);
  if (!who) return error_response(401, who.error().to_string());
  JsonWriter user;
  user.begin_object().member("user", who->name).end_object();
  return {.body = user.text() + "\n", .cookie = cookie(token)};
}

}  // namespace weft::http
