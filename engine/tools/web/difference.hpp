// How a list has changed, for clients that have its earlier state.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft::web {

/// {"new":[…],"changed":[…],"gone":[…]}: how `now` is made of `before`. Both are JSON lists of objects whose first member is the
/// name or number of each. `new` has objects that are new, or that have other members than before; `changed` the first member and
/// those top-level members that are different; `gone` the first members of objects that are missing. Objects in which only time has
/// passed (submitted_seconds_ago, …) are in none of them. Empty text: no difference. Nothing: the texts are no such lists.
std::optional<std::string> difference(std::string_view before, std::string_view now);

}  // namespace weft::web
