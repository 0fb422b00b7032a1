#include "engine/master/election/etcd_election.hpp"

#include <utility>

#include <fmt/core.h>

#include "base/text.hpp"
#include "engine/master/election/etcd_client.hpp"
#include "engine/master/election/leader_record.hpp"
#include "engine/master/election/store_options.hpp"

namespace weft::master {
namespace {

constexpr int kMostReplacements = 8;  // each but the first needs a write of our own that came late

class EtcdElection final : public Election {
 public:
  EtcdElection(std::unique_ptr<EtcdClient> client, const EtcdOptions& options)
      : client_(std::move(client)),
        leader_key_(options.prefix + "/leader"),
        state_key_(options.prefix + "/state"),
        member_(options.member),
        seconds_(lease_seconds(options.lease)),
        patience_(options.patience) {}

  Result<Seen> look() override;
  Result<bool> take(const Seen& seen, const LeaderRecord& record) override;
  Result<bool> renew() override;
  Result<bool> replace(const LeaderRecord& record) override;
  void resign() override;

 private:
  Result<void> obtain_lease(const CallTime& time);
  Result<bool> stop_leading(const CallTime& time);
  Result<EtcdOutcome> commit(EtcdTransaction transaction, const CallTime& time);
  bool leads_by(const EtcdOutcome& outcome) const { return outcome.values[0] && outcome.values[0]->lease == lease_; }

  const std::unique_ptr<EtcdClient> client_;
  const std::string leader_key_, state_key_, member_;
  const std::int64_t seconds_;
  const Duration patience_;
  std::int64_t lease_ = 0;     // with which this member leads, or tried to; 0: none
  std::int64_t revision_ = 0;  // of the state, as this member wrote it last
};

Result<Election::Seen> EtcdElection::look() {
  const CallTime time(patience_);
  WEFT_ASSIGN(const EtcdOutcome outcome, client_->commit(EtcdTransaction().then_get(leader_key_).then_get(state_key_), time));
  if (outcome.values.size() != 2) return fail(Code::unavailable, "etcd answers what was not asked");
  Seen seen;
  seen.led = outcome.values[0].has_value();
  if (const auto& state = outcome.values[1]) {
    seen.version = std::to_string(state->revision);
    WEFT_ASSIGN(seen.record, parse_leader_record(state->value, state_key_ + " of etcd"));
  }
  return seen;
}

Result<bool> EtcdElection::take(const Seen& seen, const LeaderRecord& record) {
  const auto revision = parse_number<std::int64_t>(seen.version.empty() ? "0" : seen.version);
  if (!revision) return fail(Code::invalid_argument, "\"" + escaped(seen.version) + "\" is no version of etcd");
  const CallTime time(patience_);
  WEFT_TRY(obtain_lease(time));
  const std::string text = text_of(record);
  WEFT_ASSIGN(const EtcdOutcome outcome, commit(EtcdTransaction()
                                                    .if_absent(leader_key_)
                                                    .if_revision(state_key_, *revision)
                                                    .then_put(leader_key_, member_, lease_)
                                                    .then_put(state_key_, text),
                                                time));
  if (outcome.held) {
    revision_ = outcome.revision;
    return true;
  }
  const auto& state = outcome.values[1];
  if (leads_by(outcome) && state && state->value == text) {  // an earlier try was carried out
    revision_ = state->revision;
    return true;
  }
  (void)stop_leading(time);  // else the lease ends by itself
  lease_ = 0;
  return false;
}

/// After a try without an answer it is the lease of that try, as long as it lasts: so what is carried out late is still ours.
Result<void> EtcdElection::obtain_lease(const CallTime& time) {
  if (lease_ != 0) {
    WEFT_ASSIGN(const bool kept, client_->keep_alive(lease_, time));
    if (kept) return {};
    lease_ = 0;
  }
  WEFT_ASSIGN(lease_, client_->grant(seconds_, time));
  return {};
}

/// The lease alone says too little: the try to lead with it may have been lost, or somebody may have removed the key.
Result<bool> EtcdElection::renew() {
  if (lease_ == 0) return false;
  const CallTime time(patience_);
  WEFT_ASSIGN(const bool kept, client_->keep_alive(lease_, time));
  if (!kept) {
    lease_ = 0;
    return false;
  }
  WEFT_ASSIGN(const EtcdOutcome outcome, commit(EtcdTransaction().if_lease(leader_key_, lease_), time));
  return outcome.held ? true : stop_leading(time);
}

/// It also compares the revision of the state: a replacement that was given up and comes late must not undo a later one.
Result<bool> EtcdElection::replace(const LeaderRecord& record) {
  if (lease_ == 0) return false;
  const CallTime time(patience_);
  const std::string text = text_of(record);
  for (int tries = 0; tries < kMostReplacements; ++tries) {
    WEFT_ASSIGN(
        const EtcdOutcome outcome,
        commit(EtcdTransaction().if_lease(leader_key_, lease_).if_revision(state_key_, revision_).then_put(state_key_, text),
               time));
    const auto& state = outcome.values.empty() ? std::nullopt : outcome.values[1];
    if (!outcome.held && !leads_by(outcome)) return stop_leading(time);
    revision_ = outcome.held ? outcome.revision : state ? state->revision : 0;
    if (outcome.held || (state && state->value == text)) return true;
  }
  return fail(Code::unavailable, state_key_ + " of etcd changes again and again; does something else write it?");
}

/// The lease ends, so that nothing which comes late can make this member the leader.
Result<bool> EtcdElection::stop_leading(const CallTime& time) {
  WEFT_TRY(client_->revoke(lease_, time));
  lease_ = 0;
  return false;
}

void EtcdElection::resign() {
  if (lease_ == 0) return;
  (void)client_->revoke(lease_, CallTime(patience_));
  lease_ = 0;
}

/// Both keys are read when the conditions do not hold, and nothing when they do.
Result<EtcdOutcome> EtcdElection::commit(EtcdTransaction transaction, const CallTime& time) {
  WEFT_ASSIGN(EtcdOutcome outcome, client_->commit(transaction.else_get(leader_key_).else_get(state_key_), time));
  if (outcome.values.size() != (outcome.held ? 0 : 2)) return fail(Code::unavailable, "etcd answers what was not asked");
  return outcome;
}

}  // namespace

Result<std::unique_ptr<Election>> etcd_election(EtcdOptions options) {
  if (options.urls.empty()) return fail(Code::invalid_argument, options.url_setting + " names no URL");
  for (std::string& url : options.urls) {
    WEFT_ASSIGN(url, checked_url(url, options.url_setting, false));
  }
  WEFT_TRY(check_member(options.member, options.lease, options.patience));
  while (options.prefix.ends_with('/')) options.prefix.pop_back();
  if (options.prefix.empty() || options.prefix.size() > 1024)
    return fail(Code::invalid_argument, "the prefix of the keys in etcd has 1 to 1024 characters besides slashes at its end");
  WEFT_ASSIGN(auto client, EtcdClient::open(options));
  return std::make_unique<EtcdElection>(std::move(client), options);
}

}  // namespace weft::master
