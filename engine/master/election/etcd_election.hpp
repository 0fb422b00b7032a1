// An election in etcd (3.4 or later, through its JSON gateway).
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "engine/master/election/election.hpp"

namespace weft::master {

struct EtcdOptions {
  std::vector<std::string> urls;  // http:// or https://HOST:PORT of members of one etcd cluster, tried one after the other
  std::string prefix = "/weft";   // of the keys PREFIX/leader and PREFIX/state
  std::string member;             // id of this master
  Duration lease = std::chrono::seconds(3);     // from kShortestLease to kLongestLease
  Duration patience = std::chrono::seconds(1);  // of a call, with all URLs that it tries
  std::string certificates{};                   // file of the authorities that are trusted; empty: those of the system
  std::string user{}, password{};               // of etcd; no user: without a login

  // For errors: what sets them.
  std::string url_setting = "--etcd";
  std::string certificate_setting = "--etcd-certificates";
  std::string login_setting = "WEFT_ETCD_USER and WEFT_ETCD_PASSWORD";
};

/// Asks nothing yet. invalid_argument: a URL, the prefix, the lease or the patience cannot be; not_found: libcurl is not installed.
Result<std::unique_ptr<Election>> etcd_election(EtcdOptions options);

}  // namespace weft::master
