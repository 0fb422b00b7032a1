// What an S3 service's refusals mean to the user of a job.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "storage/http/http_client.hpp"
#include "storage/objects/s3_settings.hpp"

namespace weft::storage::objects {

/// The error of an answer that is no success: "cannot read s3://bucket/key: …", one line, cause and remedy. `doing` is the verb.
/// `now` is this machine's time in seconds since 1970, to tell how far its clock is off.
Error s3_error(const http::HttpResponse& answer, std::string_view doing, const std::string& url, const S3Settings& settings,
               std::int64_t now);
/// The word for what went wrong in the body of an answer ("NoSuchKey"), or nothing.
std::string s3_error_code(const http::HttpResponse& answer);

}  // namespace weft::storage::objects
