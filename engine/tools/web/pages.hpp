// The page and what belongs to it, from this program alone: nothing is loaded from elsewhere.
#pragma once

#include <string_view>

#include "base/http/request.hpp"

namespace weft::web {

/// The page for every view's path ("/", "/jobs/7"), its scripts and its style; 404 otherwise. `of`: "logs" or
/// "growing" logs, whose jobs the page shows; empty: those of a master.
http::Response page(std::string_view path, std::string_view of = "", bool insecure = false);

}  // namespace weft::web
