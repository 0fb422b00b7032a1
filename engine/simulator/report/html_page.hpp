// The frame of the report's page: style and script, all inline.
#pragma once

#include <string>
#include <string_view>

namespace weft::simulator::report {

/// `body` is HTML.
std::string html_page(std::string_view title, std::string_view body);

}  // namespace weft::simulator::report
