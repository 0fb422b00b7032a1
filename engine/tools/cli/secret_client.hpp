// Secrets of Kubernetes (v1): files with what must not be read by everybody.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "engine/master/election/api_server.hpp"

namespace weft::tools {

struct Secret {
  std::string version;                       // another one after each change; empty: it is not there
  std::map<std::string, std::string> files;  // by name
};

/// Corrupt when the text is none.
Result<Secret> parse_secret(const std::string& text);
/// With the version that it replaces, if it has one. `instance` becomes its label app.kubernetes.io/instance.
std::string secret_text(const Secret& secret, const std::string& name_space, const std::string& name, const std::string& instance);

/// One thread; each call takes as long as the API server's patience at most.
class SecretClient {
 public:
  SecretClient(std::unique_ptr<master::ApiServer> server, Duration patience) : server_(std::move(server)), patience_(patience) {}

  /// Without a version when there is none.
  Result<Secret> get(const std::string& name);
  /// Compare-and-swap: makes it, or replaces the version. False when somebody else has changed it meanwhile.
  Result<bool> put(const std::string& name, const std::string& instance, const Secret& secret);

 private:
  std::string collection() const { return "/api/v1/namespaces/" + server_->name_space() + "/secrets"; }

  const std::unique_ptr<master::ApiServer> server_;
  const Duration patience_;
};

}  // namespace weft::tools
