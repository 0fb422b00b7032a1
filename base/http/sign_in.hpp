// Signing in with a token by a browser, which sends no header Authorization by itself: it keeps the token as a cookie, which no
// script can read, and which is sent over HTTPS to this server only, and never with a request that another site makes.
#pragma once

#include <string>
#include <string_view>

#include "base/http/request.hpp"
#include "base/rpc/credentials.hpp"

namespace weft::http {

inline constexpr std::string_view kSignInPath = "/sign-in";
inline constexpr const char* kTokenCookie = "__Host-weft-token";

/// POST with a token as the body: 200 with the user's name, and the cookie; 401 with the reason when the token is not good now.
/// DELETE: the cookie goes. Any thread.
Response sign_in(const Request& request, rpc::Credentials& credentials);

}  // namespace weft::http
