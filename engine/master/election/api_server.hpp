// Requests to the API server of Kubernetes: by the service account of this process's pod, or through `kubectl proxy`.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "engine/master/election/store_options.hpp"
#include "storage/http/http_client.hpp"

namespace weft::master {

struct ApiServerOptions {
  std::string name_space{};                     // empty: that of the pod
  Duration patience = std::chrono::seconds(1);  // of a call
  std::string server{};                         // its URL; empty: that of the pod, by KUBERNETES_SERVICE_HOST and _PORT
  /// Where a pod has its token, its CA file and its namespace.
  std::string pod_directory = "/var/run/secrets/kubernetes.io/serviceaccount";
  std::string token_file{};    // read for each call, because tokens are replaced; empty: the pod's, if `server` is
  std::string certificates{};  // file of the authorities that are trusted; empty: the pod's, if `server` is

  // For errors: what sets it.
  std::string server_setting = "--kubernetes-server";
};

/// Of an object of Kubernetes: small letters, digits, dashes and dots, not more than `longest`.
bool is_kubernetes_name(std::string_view text, std::size_t longest = 253);

/// One thread. What is sent may reach the API server twice, or later than its answer is waited for.
class ApiServer {
 public:
  /// What `asked` is about, for errors: "Lease", and the right that it needs.
  struct Object {
    std::string kind, name;
    std::string right;  // "get, create and update for the resource leases of the group coordination.k8s.io"
  };

  /// Asks nothing yet. invalid_argument: not in a pod and no server named, or a value cannot be; not_found: libcurl is not
  /// installed.
  static Result<std::unique_ptr<ApiServer>> open(ApiServerOptions options);

  const std::string& name_space() const { return options_.name_space; }
  /// Sends it once. `path` begins with a slash. Any status is an answer; unavailable: there was none in time.
  Result<storage::http::HttpResponse> ask(const char* method, const std::string& path, const std::string& body,
                                          const CallTime& time);
  /// What an answer that refuses says, and what to do. unavailable: the same may succeed later.
  Error refusal(const storage::http::HttpResponse& response, const Object& object) const;

 private:
  explicit ApiServer(ApiServerOptions options) : options_(std::move(options)) {}
  Result<std::string> authorization() const;

  const ApiServerOptions options_;
  std::unique_ptr<storage::http::HttpClient> http_;
};

}  // namespace weft::master
