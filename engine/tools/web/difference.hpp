// What has become different of a list, for clients that have the list as it was.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft::web {

/// {"new":[…],"changed":[…],"gone":[…]}: how `now` is made of `before`. Both are JSON lists of objects whose first member is the
/// name or number of each. `new` has objects that were not there, or that have other members than they had; `changed` the first
/// member and those top-level members that are different; `gone` the first members of objects that are not there any more. Objects
/// of which nothing but the time has gone on (submitted_seconds_ago, …) are in none of them. Empty text: no difference. Nothing:
/// the difference of such texts cannot be told.
std::optional<std::string> difference(std::string_view before, std::string_view now);

}  // namespace weft::web
