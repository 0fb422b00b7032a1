// Files of page/ and schemas.json as they were when this was built (cmake/Embed.cmake).
#pragma once

#include <string_view>

namespace weft::web::embedded {

std::string_view index_html();
std::string_view schemas_json();
std::string_view weft_css();
std::string_view weft_js();
std::string_view views_js();
std::string_view job_js();
std::string_view past_js();
std::string_view scheduler_js();

}  // namespace weft::web::embedded
