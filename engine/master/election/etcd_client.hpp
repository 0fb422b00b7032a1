// Requests to etcd through the JSON gateway of its members (/v3/…, etcd 3.4 or later): transactions and leases. Private to
// engine/master/election.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "engine/master/election/etcd_election.hpp"
#include "engine/master/election/store_options.hpp"
#include "storage/http/http_client.hpp"

namespace weft::master {

/// What is stored under a key.
struct EtcdValue {
  std::string value;
  std::int64_t revision = 0;  // that changed it last
  std::int64_t lease = 0;     // with whose end it ends; 0: none
};

/// Conditions on keys, what is done when all of them hold, and what is read when one does not.
class EtcdTransaction {
 public:
  /// There is no such key.
  EtcdTransaction& if_absent(std::string_view key);
  /// The key was last changed in that revision; 0: there is no such key.
  EtcdTransaction& if_revision(std::string_view key, std::int64_t revision);
  /// There is such a key, and it ends with the lease.
  EtcdTransaction& if_lease(std::string_view key, std::int64_t lease);
  EtcdTransaction& then_put(std::string_view key, std::string_view value, std::int64_t lease = 0);
  EtcdTransaction& then_get(std::string_view key);
  EtcdTransaction& else_get(std::string_view key);
  /// As the gateway takes it.
  std::string text() const;

 private:
  struct Condition {
    std::string_view target, member;
    std::string key;
    std::int64_t value;
  };
  struct Operation {
    std::string key;
    std::optional<std::string> value;  // none: it is read
    std::int64_t lease = 0;
  };
  static void write(JsonWriter& json, const Operation& operation);

  std::vector<Condition> conditions_;
  std::vector<Operation> then_, else_;
};

struct EtcdOutcome {
  bool held = false;                             // the conditions
  std::int64_t revision = 0;                     // of everything in etcd, afterwards
  std::vector<std::optional<EtcdValue>> values;  // what was read, in order; none: no such key
};

/// One thread. What is sent may reach etcd several times, or later than its answer is waited for.
class EtcdClient {
 public:
  /// The options' URLs are checked.
  static Result<std::unique_ptr<EtcdClient>> open(EtcdOptions options);

  Result<EtcdOutcome> commit(const EtcdTransaction& transaction, const CallTime& time);
  /// A new lease of `seconds`, or more when etcd allows none as short.
  Result<std::int64_t> grant(std::int64_t seconds, const CallTime& time);
  /// False: there is no such lease.
  Result<bool> keep_alive(std::int64_t lease, const CallTime& time);
  /// Succeeds when there is no such lease afterwards.
  Result<void> revoke(std::int64_t lease, const CallTime& time);

 private:
  struct Answer {
    long status = 0;
    std::string body;
    std::int64_t code = 0;  // of gRPC, when it is an error
    std::string message{};
  };
  explicit EtcdClient(EtcdOptions options) : options_(std::move(options)) {}

  Result<std::string> call(std::string_view path, const std::string& body, const CallTime& time);
  Result<Answer> answer_to(std::string_view path, const std::string& body, const CallTime& time);
  Result<Answer> ask_somebody(std::string_view path, const std::string& body, const CallTime& time);
  Result<Answer> ask(const std::string& url, std::string_view path, const std::string& body, Duration timeout);
  Result<void> log_in(const CallTime& time);
  Error unreachable(Code code, const std::vector<std::string>& reasons) const;

  const EtcdOptions options_;
  std::unique_ptr<storage::http::HttpClient> http_;
  std::size_t first_ = 0;  // of the URLs: the one that answered last
  std::string token_;      // of the login; empty: none yet
};

}  // namespace weft::master
