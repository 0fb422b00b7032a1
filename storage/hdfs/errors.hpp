// What refusals of HDFS mean to the user of a job.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "storage/http/http_client.hpp"

namespace weft::storage::hdfs {

/// What to do after an answer.
enum class Verdict {
  done,
  standby,    // of a NameNode that is not the active one: another may be
  safe_mode,  // passes when the datanodes have reported their blocks, or an administrator ends it
  later,      // passes soon: busy, restarting
  seldom,     // may pass: worth a few tries
  refused,
};
/// A redirect is an answer that is done.
Verdict verdict_of(const http::HttpResponse& answer);

/// The error of an answer that is no success: "cannot read hdfs://nn/path: …", one line, cause and remedy. `doing` is the verb,
/// `user` the one that the request named.
Error hdfs_error(const http::HttpResponse& answer, std::string_view doing, const std::string& url, const std::string& user);

}  // namespace weft::storage::hdfs
