// Requests about one Lease object to the API server of Kubernetes. Private to engine/master/election.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "engine/master/election/kubernetes_election.hpp"
#include "engine/master/election/lease_object.hpp"
#include "engine/master/election/store_options.hpp"
#include "storage/http/http_client.hpp"

namespace weft::master {

/// One thread. What is sent may reach the API server twice, or later than its answer is waited for.
class LeaseClient {
 public:
  /// The options are checked and complete.
  static Result<std::unique_ptr<LeaseClient>> open(KubernetesOptions options);

  /// "NAMESPACE/NAME".
  const std::string& name() const { return name_; }
  /// Nothing when there is none.
  Result<std::optional<LeaseObject>> get(const CallTime& time);
  /// Compare-and-swap: replaces `base` by one with these fields, or makes it when it has no version. Nothing when the object has
  /// another version, is gone, or is there already.
  Result<std::optional<LeaseObject>> put(const LeaseObject& base, const LeaseFields& fields, const CallTime& time);

 private:
  explicit LeaseClient(KubernetesOptions options);
  Result<storage::http::HttpResponse> ask(const char* method, const std::string& url, const std::string& body,
                                          const CallTime& time);
  Result<std::string> authorization() const;
  Error refusal(const storage::http::HttpResponse& response) const;

  const KubernetesOptions options_;
  const std::string name_, collection_;
  std::unique_ptr<storage::http::HttpClient> http_;
};

}  // namespace weft::master
