// How the web writes things: encoded names in URLs, bytes, and times. All are pure; any thread may call them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::storage::http {

/// As URLs and signatures need it: everything except letters, digits and "-_.~" as %XX; slashes too, unless `keep_slashes`.
std::string uri_encoded(std::string_view text, bool keep_slashes = false);
/// The opposite, with "+" for a space, as forms and listings have it. What is no %XX stays as it is.
std::string uri_decoded(std::string_view text);

/// Bytes as letters, digits and "+/", padded with "=" (RFC 4648, section 4).
std::string base64(std::string_view bytes);
/// The opposite. Nothing when the text is not exactly that.
std::optional<std::string> from_base64(std::string_view text);

/// Seconds since 1970 of "Tue, 24 Nov 2026 23:19:21 GMT".
std::optional<std::int64_t> seconds_of_http(const std::string& date);
/// Seconds since 1970 of "2026-11-24T23:19:21Z", or with a fraction of the second.
std::optional<std::int64_t> seconds_of_iso(const std::string& time);

}  // namespace weft::storage::http
