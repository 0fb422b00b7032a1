// Secrets in what a job tells others.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace weft::client {

/// Whoever sees the job, or the processes of a worker's machine, sees its arguments. So invalid_argument when one of them has a URL
/// of S3 or HDFS with a password, or a key such as AWS_SECRET_ACCESS_KEY=…; it says which one, and not the secret.
Result<void> refuse_secrets(const std::vector<std::string>& arguments);

}  // namespace weft::client
