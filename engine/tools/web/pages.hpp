// The page and what belongs to it, from this program alone: nothing is loaded from elsewhere.
#pragma once

#include <string_view>

#include "base/http/request.hpp"

namespace weft::web {

/// The page for every view's path ("/", "/jobs/7"), its script and its style; 404 otherwise. `of`: "logs" or
/// "growing" logs, of which the page shows what they tell; empty: of a master.
http::Response page(std::string_view path, std::string_view of = "");

}  // namespace weft::web
