#include "engine/master/election/store_options.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>

#include <fmt/core.h>

#include "base/text.hpp"
#include "engine/master/election/election.hpp"

namespace weft::master {

Result<std::string> checked_url(const std::string& url, const std::string& setting, bool path) {
  const std::size_t scheme = url.starts_with("https://") ? 8 : url.starts_with("http://") ? 7 : 0;
  std::string checked = url;
  while (checked.size() > scheme && checked.ends_with('/')) checked.pop_back();
  const std::string rest = checked.substr(scheme);
  const bool odd = std::any_of(rest.begin(), rest.end(), [](unsigned char c) { return std::isgraph(c) == 0; }) ||
                   rest.find_first_of(path ? "?#@\\\"" : "?#@\\\"/") != std::string::npos;
  if (scheme == 0 || rest.empty() || rest.starts_with('/') || rest.starts_with(':') || odd)
    return fail(Code::invalid_argument,
                fmt::format("{}: \"{}\" is no URL like http://HOST:PORT or https://HOST:PORT", setting, escaped(url)));
  return checked;
}

Result<void> check_member(const std::string& member, Duration lease, Duration patience) {
  if (member.empty()) return fail(Code::invalid_argument, "a master that takes part in an election needs an id");
  if (lease < kShortestLease || lease > kLongestLease)
    return fail(Code::invalid_argument, fmt::format("a leader's lease is {}; it is from {} to {}", format_duration(lease),
                                                    format_duration(kShortestLease), format_duration(kLongestLease)));
  if (patience < std::chrono::milliseconds(10) || patience > lease)
    return fail(Code::invalid_argument,
                fmt::format("the patience with the store is {}; it is from 10ms to the length of the lease, {}",
                            format_duration(patience), format_duration(lease)));
  return {};
}

std::int64_t lease_seconds(Duration lease) { return std::chrono::ceil<std::chrono::seconds>(lease).count(); }

Duration CallTime::left() const { return std::max(end_ - SystemClock().now(), Duration::zero()); }

}  // namespace weft::master
