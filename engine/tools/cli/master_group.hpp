// Options of a master that is one of several, and how it joins them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "engine/master/standby/group_member.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace weft::tools {

struct MasterGroupOptions {
  std::vector<std::string> etcd;
  std::string etcd_prefix = "/weft", etcd_certificates;
  std::string kubernetes_lease, kubernetes_server;
  bool standby = false;
  std::string advertise;  // host; empty: that of the address where it listens
  std::string page_url;   // where browsers find this one's page; empty: as --http says
  Duration lease = std::chrono::seconds(3);

  bool wanted() const { return !etcd.empty() || !kubernetes_lease.empty(); }
};

void add_group_options(CLI::App& command, MasterGroupOptions& options);
/// invalid_argument when an option cannot be, or options contradict one another; `data_directory` is --data-dir.
Result<void> check(const MasterGroupOptions& options, const std::string& data_directory);
/// URL of the page of a master that serves it at `http` (--http), for the pages of the others; empty where it cannot be known
/// before.
std::string page_url(const MasterGroupOptions& options, const std::string& http, bool encrypted);
/// Listens there for a moment. An error says why a master with that security could not. Blocks while the name is looked up.
Result<void> try_to_listen(const std::string& where, const rpc::Security& security);
/// `listen` is where the master listens when it leads, `page` the URL of its page then.
Result<std::unique_ptr<master::GroupMember>> join_group(const MasterGroupOptions& options, const std::string& listen,
                                                        std::string page, const std::string& data_directory,
                                                        const master::StorePaths& paths);

}  // namespace weft::tools
