#include "engine/tools/cli/master_group.hpp"

#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/machine.hpp"
#include "base/rpc/credentials.hpp"
#include "base/rpc/rpc.hpp"
#include "base/text.hpp"
#include "engine/master/election/etcd_election.hpp"
#include "engine/master/election/kubernetes_election.hpp"
#include "engine/master/election/store_options.hpp"
#include "engine/tools/cli/command.hpp"

namespace weft::tools {

namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

Result<std::unique_ptr<master::Election>> election(const MasterGroupOptions& options, const std::string& member) {
  if (options.etcd.empty()) {
    master::KubernetesOptions kubernetes;
    kubernetes.lease_name = options.kubernetes_lease;
    kubernetes.server = options.kubernetes_server;
    kubernetes.member = member;
    kubernetes.lease = options.lease;
    return master::kubernetes_election(std::move(kubernetes));
  }
  master::EtcdOptions etcd;
  etcd.urls = options.etcd;
  etcd.prefix = options.etcd_prefix;
  etcd.certificates = options.etcd_certificates;
  etcd.user = environment("WEFT_ETCD_USER");
  etcd.password = environment("WEFT_ETCD_PASSWORD");
  etcd.member = member;
  etcd.lease = options.lease;
  return master::etcd_election(std::move(etcd));
}

bool is_any(std::string_view host) { return host == "0.0.0.0" || host == "[::]"; }

/// The host by which others reach a port that listens on that one.
std::string host_for(const MasterGroupOptions& options, const std::string& listening) {
  const std::string& host = options.advertise.empty() ? listening : options.advertise;
  return is_any(host) ? machine_name() : host;
}

/// Host and port by which other masters reach this one.
Result<std::string> advertised(const MasterGroupOptions& options, const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  const std::string address = host_for(options, listen.substr(0, colon)) + listen.substr(colon);
  if (!rpc::Endpoint::parse(address))
    return fail(Code::invalid_argument,
                fmt::format("--advertise: '{}' is no host; name one, or an address, without a port", escaped(options.advertise)));
  return address;
}

/// Http or https, a host, perhaps a port, and nothing that a page or a terminal could take for more.
bool is_page_url(std::string_view url) {
  const std::size_t host = url.find("://");
  if (host == std::string_view::npos || (url.substr(0, host) != "http" && url.substr(0, host) != "https")) return false;
  const std::string_view rest = url.substr(host + 3);
  return !rest.empty() &&
         rest.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-:[]") == std::string_view::npos;
}

}  // namespace

void add_group_options(CLI::App& command, MasterGroupOptions& options) {
  add_value(command, "--etcd", options.etcd, "URL[,URL...]",
            "One of several masters: this etcd decides which one leads; the others follow, and take over (needs --data-dir)")
      ->delimiter(',');
  add_value(command, "--etcd-prefix", options.etcd_prefix, "KEY", "Of the keys in etcd; masters of one cluster have the same")
      ->capture_default_str();
  add_value(command, "--etcd-certificates", options.etcd_certificates, "FILE",
            "Authorities that are trusted with an https:// URL of etcd (default: those of the system)");
  add_value(command, "--kubernetes-lease", options.kubernetes_lease, "NAME",
            "The same without an etcd of one's own: this Lease object in the pod's namespace decides which one leads");
  add_value(command, "--kubernetes-server", options.kubernetes_server, "URL",
            "Of the API server, outside of a pod: that of `kubectl proxy` (default: that of the pod)");
  command.add_flag("--standby", options.standby,
                   "Where no master has led yet, wait until another leads, because this one has nothing to begin with");
  add_value(command, "--advertise", options.advertise, "HOST",
            "Host name or address by which other masters reach this one (default: as in --listen)");
  add_value(command, "--page-url", options.page_url, "URL",
            "Where browsers find this master's page when it leads, for links on the pages of the others: http(s)://HOST[:PORT]\n"
            "(default: as in --http, if that is given)");
  add_duration_option(command, "--leader-lease", options.lease, Zero::refused,
                      "After how much silence of the one that leads another takes over, from 2s on (default: 3s)");
}

Result<void> check(const MasterGroupOptions& options, const std::string& data_directory) {
  if (!options.etcd.empty() && !options.kubernetes_lease.empty())
    return fail(Code::invalid_argument, "--etcd and --kubernetes-lease are two ways to decide who leads; name one of them");
  if (!options.wanted() &&
      (options.standby || !options.advertise.empty() || !options.kubernetes_server.empty() || !options.page_url.empty()))
    return fail(Code::invalid_argument,
                fmt::format("{} is for one of several masters; name where they meet by --etcd or --kubernetes-lease",
                            options.standby                      ? "--standby"
                            : !options.advertise.empty()         ? "--advertise"
                            : !options.kubernetes_server.empty() ? "--kubernetes-server"
                                                                 : "--page-url"));
  if (!options.page_url.empty() && !is_page_url(options.page_url))
    return fail(Code::invalid_argument,
                fmt::format("--page-url: '{}' is no address of a page; write http://HOST:PORT or https://HOST:PORT",
                            escaped(options.page_url)));
  for (const std::string& url : options.etcd) WEFT_TRY(master::checked_url(url, "--etcd", false).map([](const std::string&) {}));
  if (options.etcd_prefix.find_first_not_of('/') == std::string::npos)
    return fail(Code::invalid_argument, "--etcd-prefix: the keys in etcd need one, such as /weft");
  if (options.lease < master::kShortestLease || options.lease > master::kLongestLease)
    return fail(Code::invalid_argument,
                fmt::format("--leader-lease: {} is not from {} to {}", format_duration(options.lease),
                            format_duration(master::kShortestLease), format_duration(master::kLongestLease)));
  if (options.wanted() && data_directory.empty())
    return fail(Code::invalid_argument, "one of several masters needs a directory for its copy: name it by --data-dir");
  return {};
}

std::string page_url(const MasterGroupOptions& options, const std::string& http, bool encrypted) {
  if (!options.page_url.empty()) return options.page_url;
  const std::size_t colon = http.rfind(':');
  if (colon == std::string::npos || http.substr(colon) == ":0") return {};
  const std::string host = http.substr(0, colon);  // one that listens on loopback is found there only
  return fmt::format("{}://{}{}", encrypted ? "https" : "http", is_any(host) ? host_for(options, host) : host, http.substr(colon));
}

Result<void> try_to_listen(const std::string& where, const rpc::Security& security) {
  WEFT_ASSIGN(const rpc::Endpoint endpoint, rpc::Endpoint::parse(where));
  const auto reactor = rpc::Reactor::start("weft-listen", security);
  Result<void> tried;
  reactor->run([&] {
    auto listener = reactor->listen(endpoint, {}, [](const rpc::ConnectionPtr&) { return rpc::Handler(); });
    if (listener)
      (*listener)->close();
    else
      tried = fail(std::move(listener).error());
  });
  reactor->stop();
  return tried;
}

Result<std::unique_ptr<master::GroupMember>> join_group(const MasterGroupOptions& options, const std::string& listen,
                                                        std::string page, const std::string& data_directory,
                                                        const master::StorePaths& paths) {
  master::GroupOptions group;
  group.data_directory = data_directory;
  group.paths = paths;
  group.standby = options.standby;
  group.page = std::move(page);
  group.lease = options.lease;
  WEFT_ASSIGN(group.security, rpc::security_of_environment());
  WEFT_ASSIGN(group.address, advertised(options, listen));
  group.can_serve = [listen, security = group.security] { return try_to_listen(listen, security); };
  return master::GroupMember::open(std::move(group), [&](const std::string& member) { return election(options, member); });
}

}  // namespace weft::tools
