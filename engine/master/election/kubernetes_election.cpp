#include "engine/master/election/kubernetes_election.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "base/text.hpp"
#include "base/unguessable.hpp"
#include "engine/master/election/leader_record.hpp"
#include "engine/master/election/lease_client.hpp"
#include "engine/master/election/lease_object.hpp"
#include "engine/master/election/store_options.hpp"

namespace weft::master {
namespace {

constexpr int kMostTries = 8;  // each but the first needs a change of others to the object meanwhile

/// Of this object, whatever its member did before: a process that starts again does not hold the lease of its predecessor.
std::string identity_of(const std::string& member) { return fmt::format("{}_{:016x}", member, unguessable_number()); }

class KubernetesElection final : public Election {
 public:
  KubernetesElection(std::unique_ptr<LeaseClient> client, KubernetesOptions options)
      : client_(std::move(client)), options_(std::move(options)), identity_(identity_of(options_.member)) {}

  Result<Seen> look() override;
  Result<bool> take(const Seen& seen, const LeaderRecord& record) override;
  Result<bool> renew() override { return update({}); }
  Result<bool> replace(const LeaderRecord& record) override { return update(text_of(record)); }
  void resign() override;

 private:
  Result<void> refresh(const CallTime& time);
  Result<bool> put(const LeaseObject& base, LeaseFields fields, const CallTime& time);
  Result<bool> has_taken(const std::string& record, const CallTime& time);
  Result<bool> update(std::optional<std::string> record);
  bool is_led(const LeaseObject& object);
  bool is_ours() const { return object_ && object_->fields.holder == identity_; }
  TimePoint now() const { return options_.clock == nullptr ? SystemClock().now() : options_.clock->now(); }

  const std::unique_ptr<LeaseClient> client_;
  const KubernetesOptions options_;
  const std::string identity_;
  std::optional<LeaseObject> object_;  // as it was read or written last; none: it was not there, or nothing is known
  bool certain_ = true;                // whether all answers to what was written have come
  std::string seen_version_;           // for is_led()
  TimePoint seen_at_{};
};

Result<Election::Seen> KubernetesElection::look() {
  const CallTime time(options_.patience);
  WEFT_TRY(refresh(time));
  Seen seen;
  if (!object_) return seen;
  seen.version = object_->version;
  seen.led = is_led(*object_);
  if (object_->fields.record) {
    WEFT_ASSIGN(seen.record, parse_leader_record(*object_->fields.record, fmt::format("the annotation {} of the Lease {}",
                                                                                      kRecordAnnotation, client_->name())));
  }
  return seen;
}

/// By this process's own clock, from when it first saw the object as it is: times in the object are of other machines' clocks.
bool KubernetesElection::is_led(const LeaseObject& object) {
  if (seen_version_ != object.version) {
    seen_version_ = object.version;
    seen_at_ = now();
  }
  const std::int64_t longest = lease_seconds(kLongestLease);
  const std::int64_t said = object.fields.seconds == 0 ? lease_seconds(options_.lease) : object.fields.seconds;
  return !object.fields.holder.empty() && now() - seen_at_ < std::chrono::seconds(std::min(said, longest));
}

Result<bool> KubernetesElection::take(const Seen& seen, const LeaderRecord& record) {
  const CallTime time(options_.patience);
  const std::string text = text_of(record);
  if (!certain_ || is_ours()) {
    WEFT_ASSIGN(const bool taken, has_taken(text, time));
    if (taken) return true;
  }
  if (seen.led) return false;
  if (!seen.version.empty() && (!object_ || object_->version != seen.version)) {
    WEFT_TRY(refresh(time));
    if (!object_ || object_->version != seen.version) return false;
  }
  const LeaseObject base = seen.version.empty() ? client_->fresh() : *object_;
  LeaseFields fields = base.fields;
  fields.holder = identity_;
  fields.record = text;
  fields.transitions += seen.version.empty() ? 0 : 1;
  fields.acquired = lease_time_now();
  WEFT_ASSIGN(const bool taken, put(base, std::move(fields), time));
  return taken ? true : has_taken(text, time);  // a lost answer may have been of a try that libcurl repeated
}

/// Whether an earlier call of take() with this record was carried out.
Result<bool> KubernetesElection::has_taken(const std::string& record, const CallTime& time) {
  WEFT_TRY(refresh(time));
  return is_ours() && object_->fields.record == record;
}

/// Writes the object with a new time, and with the record if one is given, as long as this member holds it. Whatever else changed
/// in it is kept.
Result<bool> KubernetesElection::update(std::optional<std::string> record) {
  if (certain_ && !is_ours()) return false;
  const CallTime time(options_.patience);
  for (int tries = 0; tries < kMostTries; ++tries) {
    if (!certain_ || tries > 0) WEFT_TRY(refresh(time));
    if (!is_ours()) return false;
    LeaseFields fields = object_->fields;
    if (record) fields.record = record;
    WEFT_ASSIGN(const bool written, put(*object_, std::move(fields), time));
    if (written) return true;
  }
  return fail(Code::unavailable,
              fmt::format("the Lease {} changes again and again; does something else write it?", client_->name()));
}

void KubernetesElection::resign() {
  const CallTime time(options_.patience);
  for (int tries = 0; tries < 2; ++tries) {
    if ((!certain_ || tries > 0) && !refresh(time)) break;
    if (!is_ours()) break;
    LeaseFields fields = object_->fields;
    fields.holder.clear();
    const auto written = put(*object_, std::move(fields), time);
    if (!written || *written) break;
  }
  object_.reset();
  certain_ = true;
}

/// Compare-and-swap: false when the object is not any more what `base` is.
Result<bool> KubernetesElection::put(const LeaseObject& base, LeaseFields fields, const CallTime& time) {
  fields.seconds = lease_seconds(options_.lease);
  fields.renewed = lease_time_now();
  certain_ = false;
  WEFT_ASSIGN(auto written, client_->put(base, fields, time));
  certain_ = true;
  if (!written) return false;
  object_ = std::move(written);
  return true;
}

/// Afterwards `object_` is what the API server has.
Result<void> KubernetesElection::refresh(const CallTime& time) {
  WEFT_ASSIGN(object_, client_->get(time));
  certain_ = true;
  return {};
}

}  // namespace

Result<std::unique_ptr<Election>> kubernetes_election(KubernetesOptions options) {
  WEFT_TRY(check_member(options.member, options.lease, options.patience));
  if (!is_kubernetes_name(options.lease_name))
    return fail(Code::invalid_argument, "\"" + escaped(options.lease_name) + "\" is no name of a Lease of Kubernetes");
  WEFT_ASSIGN(auto server, ApiServer::open(options));
  auto client = std::make_unique<LeaseClient>(std::move(server), options.lease_name);
  return std::make_unique<KubernetesElection>(std::move(client), std::move(options));
}

}  // namespace weft::master
