#include "engine/master/election/lease_client.hpp"

namespace weft::master {
namespace {

using storage::http::HttpResponse;

Result<std::optional<LeaseObject>> lease_in(HttpResponse response) {
  auto object = parse_lease(std::move(response.body));
  if (!object)
    return fail(std::move(object).error().wrap(Code::unavailable, "the API server of Kubernetes answers what makes no sense"));
  return *std::move(object);
}

}  // namespace

LeaseClient::LeaseClient(std::unique_ptr<ApiServer> server, const std::string& lease)
    : server_(std::move(server)),
      object_{"Lease", lease, "get, create and update for the resource leases of the group coordination.k8s.io"},
      collection_("/apis/coordination.k8s.io/v1/namespaces/" + server_->name_space() + "/leases") {}

Result<std::optional<LeaseObject>> LeaseClient::get(const CallTime& time) {
  WEFT_ASSIGN(HttpResponse response, server_->ask("GET", collection_ + "/" + object_.name, "", time));
  if (response.status == 404) return std::nullopt;
  if (response.status != 200) return fail(server_->refusal(response, object_));
  return lease_in(std::move(response));
}

Result<std::optional<LeaseObject>> LeaseClient::put(const LeaseObject& base, const LeaseFields& fields, const CallTime& time) {
  const bool fresh = base.version.empty();
  WEFT_ASSIGN(const std::string text, changed_lease(base, fields));
  WEFT_ASSIGN(HttpResponse response,
              server_->ask(fresh ? "POST" : "PUT", fresh ? collection_ : collection_ + "/" + object_.name, text, time));
  if (response.status == 409 || (response.status == 404 && !fresh)) return std::nullopt;
  if (response.status != 200 && response.status != 201) return fail(server_->refusal(response, object_));
  return lease_in(std::move(response));
}

}  // namespace weft::master
