// The endpoint and the credentials of an S3 service, from the variables and files that all programs for S3 read.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "storage/environment.hpp"
#include "storage/objects/s3_credentials.hpp"

namespace weft::storage::objects {

struct S3Settings {
  std::string access_key, secret_key;
  std::string session_token;          // of credentials that expire; empty: none
  std::shared_ptr<KeySource> keys{};  // the source of other keys; null: there is none
  bool unsigned_requests = false;     // requests are not signed, for public buckets
  std::string region = "us-east-1";
  std::string endpoint;      // "https://host[:port]" without a slash at the end
  bool path_style = false;   // ENDPOINT/BUCKET/KEY instead of BUCKET.ENDPOINT/KEY
  std::string certificates;  // file of trusted authorities; empty: those of the system
};

/// Keys come from the first of these that is set: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; the web identity of
/// AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN, AWS_ROLE_SESSION_NAME; the profile AWS_PROFILE (default) of
/// AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials) and AWS_CONFIG_FILE (~/.aws/config), its keys or its web identity; a
/// container's AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or AWS_CONTAINER_CREDENTIALS_FULL_URI; the metadata service of the instance,
/// unless AWS_EC2_METADATA_DISABLED. With AWS_NO_SIGN_REQUEST none is used. Then AWS_REGION, AWS_DEFAULT_REGION;
/// AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL (and AWS_ENDPOINT_URL_STS); AWS_CA_BUNDLE; and from the files also region, endpoint_url,
/// ca_bundle and s3.addressing_style. Variables come first. With an endpoint of its own the style is path unless addressing_style
/// says virtual. Reads files and asks no service. invalid_argument, in one line that says what to set, when there are no
/// credentials or one of them is not usable.
Result<S3Settings> s3_settings(const Variables& variable = environment);

}  // namespace weft::storage::objects
