// Requests about one Lease object to the API server of Kubernetes. Private to engine/master/election.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "engine/master/election/api_server.hpp"
#include "engine/master/election/lease_object.hpp"

namespace weft::master {

/// One thread. What is sent may reach the API server twice, or later than its answer is waited for.
class LeaseClient {
 public:
  LeaseClient(std::unique_ptr<ApiServer> server, const std::string& lease);

  /// "NAMESPACE/NAME".
  std::string name() const { return server_->name_space() + "/" + object_.name; }
  /// One that is not there yet.
  LeaseObject fresh() const { return new_lease(server_->name_space(), object_.name); }
  /// Nothing when there is none.
  Result<std::optional<LeaseObject>> get(const CallTime& time);
  /// Compare-and-swap: replaces `base` by one with these fields, or makes it when it has no version. Nothing when the object has
  /// another version, is gone, or is there already.
  Result<std::optional<LeaseObject>> put(const LeaseObject& base, const LeaseFields& fields, const CallTime& time);

 private:
  const std::unique_ptr<ApiServer> server_;
  const ApiServer::Object object_;
  const std::string collection_;
};

}  // namespace weft::master
