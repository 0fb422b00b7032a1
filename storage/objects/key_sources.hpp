// Services that give keys which expire: of web identities (STS), of containers, of instances. None is asked before fetch().
#pragma once

#include <memory>
#include <string>

#include "storage/objects/s3_credentials.hpp"

namespace weft::storage::objects {

/// A role that is taken with the token of an identity provider (AssumeRoleWithWebIdentity).
struct WebIdentity {
  std::string token_file;    // read for each fetch, because it is replaced before it expires
  std::string role;          // its ARN
  std::string session_name;  // the name of this program in the service's logs
  std::string endpoint;      // of the service of tokens
  std::string certificates;  // file of trusted authorities; empty: those of the system
};
std::shared_ptr<KeySource> web_identity_keys(WebIdentity identity);

/// The service that a container was given for its keys.
struct ContainerService {
  std::string url;
  std::string token_file;  // of the authorization token, read for each fetch; empty: `token`
  std::string token;       // empty: nothing
};
std::shared_ptr<KeySource> container_keys(ContainerService service);

/// The metadata service of an instance (IMDSv2). On a machine without one, fetch() fails within two seconds with `otherwise`, which
/// says what to do.
std::shared_ptr<KeySource> instance_keys(std::string endpoint, std::string otherwise);

}  // namespace weft::storage::objects
