// weft security init|issue|rotate|revoke|list (kubernetes is in security_kubernetes.cpp)
#include <chrono>
#include <ctime>
#include <map>
#include <optional>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/certificates/authority.hpp"
#include "base/machine.hpp"
#include "base/private_directory.hpp"
#include "base/text.hpp"
#include "engine/tools/cli/security_commands.hpp"
#include "engine/tools/display/json_members.hpp"
#include "engine/tools/display/standard_output.hpp"
#include "engine/tools/display/text_table.hpp"

namespace weft::tools {

namespace {

using certificates::Authority;
using certificates::Issued;
using certificates::Request;

constexpr std::uint32_t kLongestDays = 3650;

struct SecurityOptions {
  std::string directory, name;
  rpc::Role role = rpc::Role::user;
  std::vector<std::string> hosts;
  std::uint32_t days = 365;
  Duration ttl = std::chrono::hours(24) * 30;  // of a token
  bool all = false, authority = false, retire = false, json = false;

  Duration lifetime() const { return std::chrono::hours(24) * days; }
};

void tell(const std::string& path) { fmt::print("{}\n", path); }

/// Certificates of a master, of workers, and of the user who runs the command.
Result<void> init(const SecurityOptions& options) {
  keep_files_private();
  WEFT_ASSIGN(Authority authority, Authority::create(options.directory));
  const std::string user = options.name.empty() ? user_name() : options.name;
  for (const auto& [role, name] :
       {std::pair(rpc::Role::master, std::string("master")), {rpc::Role::worker, "worker"}, {rpc::Role::user, user}}) {
    const auto hosts = role == rpc::Role::user ? std::vector<std::string>() : options.hosts;
    WEFT_ASSIGN(const std::string path, authority.issue({role, name, hosts, options.lifetime()}));
    tell(path);
  }
  return {};
}

Result<void> issue(const SecurityOptions& options) {
  keep_files_private();
  WEFT_ASSIGN(Authority authority, Authority::open(options.directory));
  if (options.role == rpc::Role::user && !options.hosts.empty())
    return fail(Code::invalid_argument, "--host is for masters and workers: nobody connects to a user");
  WEFT_ASSIGN(const std::string path, authority.issue({options.role, options.name, options.hosts, options.lifetime()}));
  tell(path);
  return {};
}

/// What cannot be renewed does not keep the others from it; the error names each of these.
Result<void> rotate_all(Authority& authority, Duration lifetime) {
  WEFT_ASSIGN(const auto issued, authority.issued());
  std::map<std::string, bool> valid;  // by name: whether the newest is
  for (const Issued& one : issued)
    if (!one.token) valid[one.name] = !one.revoked;
  std::vector<std::string> failed;
  std::optional<Code> code;
  for (const auto& [name, renewed] : valid) {
    if (!renewed) continue;
    if (const auto rotated = authority.rotate(name, lifetime); !rotated) {
      failed.push_back(fmt::format("{}: {}", name, rotated.error().to_string()));
      code = code.value_or(rotated.error().code());
    }
  }
  if (!code) return {};
  return fail(*code, fmt::format("these certificates were not renewed, all others were: {}", join(failed, "; ")));
}

Result<void> rotate(const SecurityOptions& options) {
  keep_files_private();
  WEFT_ASSIGN(Authority authority, Authority::open(options.directory));
  const int wanted = int{!options.name.empty()} + int{options.all} + int{options.authority} + int{options.retire};
  if (wanted != 1)
    return fail(Code::invalid_argument, "name an identity, or give one of --all, --authority and --retire-authorities");
  if (options.authority) return authority.rotate_authority();
  if (options.retire) return authority.retire_authorities();
  if (!options.all) return authority.rotate(options.name, options.lifetime());
  return rotate_all(authority, options.lifetime());
}

Result<void> revoke(const SecurityOptions& options) {
  keep_files_private();
  WEFT_ASSIGN(Authority authority, Authority::open(options.directory));
  return authority.revoke(options.name);
}

Result<void> list(const SecurityOptions& options) {
  WEFT_ASSIGN(const Authority authority, Authority::open(options.directory));
  WEFT_ASSIGN(const auto issued, authority.issued());
  if (options.json) {
    JsonWriter json;
    json.begin_array();
    for (const Issued& one : issued) {
      json.begin_object();
      members(json, "serial", one.serial, "role", name_of(one.role), "token", one.token, "name", one.name, "expires", one.expires,
              "hosts", one.hosts, "revoked", one.revoked);
      json.end_object();
    }
    return print(json.end_array().text() + "\n");
  }
  TextTable table({"ROLE", "NAME", "EXPIRES", "HOSTS", "STATE"});
  for (const Issued& one : issued)
    table.row(one.token ? "token" : name_of(one.role), one.name,
              fmt::format("{:%Y-%m-%d}", fmt::gmtime(static_cast<std::time_t>(one.expires))),
              one.hosts.empty() ? "any" : join(one.hosts, ","), one.revoked ? "revoked" : "valid");
  return print(table.text());
}

Result<void> issue_token(const SecurityOptions& options) {
  keep_files_private();
  WEFT_ASSIGN(Authority authority, Authority::open(options.directory));
  WEFT_ASSIGN(const std::string path, authority.issue_token(options.name, options.ttl));
  tell(path);
  return {};
}

Result<void> revoke_token(const SecurityOptions& options) {
  keep_files_private();
  WEFT_ASSIGN(Authority authority, Authority::open(options.directory));
  return authority.revoke_tokens(options.name);
}

CLI::Validator days() { return CLI::Range(1U, kLongestDays); }

void add_lifetime(Command<SecurityOptions>& command) {
  command.value("--days", &SecurityOptions::days, "DAYS", "How long the certificate is valid, at most 3650 (default: 365)");
  command.app().get_option("--days")->check(days());
}

void add_hosts(Command<SecurityOptions>& command, const char* of) {
  add_value(command.app(), "--host", command.options().hosts, "HOST",
            fmt::format("Name, *.NAME or address under which {} reached; may be repeated (default: any)", of))
      ->take_all()
      ->allow_extra_args(false);
}

void add_init(CLI::App& security, Action& action) {
  Command<SecurityOptions> command(security, action, "init",
                                   "Make an authority in a new directory, and certificates of the master, the workers and a user",
                                   init);
  command.argument("DIR", &SecurityOptions::directory, "Where; its ca.key belongs on no machine of the cluster");
  command.value("--user", &SecurityOptions::name, "NAME", "The user (default: the one that runs this)");
  add_hosts(command, "the master and the workers are");
  add_lifetime(command);
}

void add_issue(CLI::App& security, Action& action) {
  Command<SecurityOptions> command(security, action, "issue", "Make another certificate; prints its directory, for --security",
                                   issue);
  command.argument("DIR", &SecurityOptions::directory, "The authority's directory");
  command.argument("NAME", &SecurityOptions::name, "Of the user, the worker or the master");
  const auto set = [&options = command.options()](const std::string& text) {
    options.role = text == "master" ? rpc::Role::master : text == "worker" ? rpc::Role::worker : rpc::Role::user;
  };
  command.app()
      .add_option_function<std::string>("--role", set, "user, worker or master (default: user)")
      ->type_name("ROLE")
      ->check(CLI::IsMember({"user", "worker", "master"}));
  add_hosts(command, "it is");
  add_lifetime(command);
}

void add_rotate(CLI::App& security, Action& action) {
  Command<SecurityOptions> command(security, action, "rotate",
                                   "Renew a certificate and its key; processes that run read the new one by themselves", rotate);
  command.argument("DIR", &SecurityOptions::directory, "The authority's directory");
  command.app().add_option("NAME", command.options().name, "Of the user, the worker or the master");
  command.flag("--all", &SecurityOptions::all, "Renew all that are valid")
      .flag("--authority", &SecurityOptions::authority,
            "Begin a new authority, which is trusted beside those before; --all comes next")
      .flag("--retire-authorities", &SecurityOptions::retire, "Trust the newest authority only");
  add_lifetime(command);
}

void add_token(CLI::App& security, Action& action) {
  CLI::App& token = add_group(security, "token", "Lines of text by which whoever has one is a user of the cluster, for a time");
  Command<SecurityOptions> issue(token, action, "issue",
                                 "Make a token; prints the directory with it, for --security, and in its file `token` for HTTP",
                                 issue_token);
  issue.argument("DIR", &SecurityOptions::directory, "The authority's directory");
  issue.value("--user", &SecurityOptions::name, "NAME", "Whose it is").app().get_option("--user")->required();
  add_duration_option(issue.app(), "--ttl", issue.options().ttl, Zero::refused, "How long it is valid, such as 12h (default: 30d)");
  Command<SecurityOptions> revoke(token, action, "revoke", "Have all tokens of a user refused, and end their connections",
                                  revoke_token);
  revoke.argument("DIR", &SecurityOptions::directory, "The authority's directory");
  revoke.value("--user", &SecurityOptions::name, "NAME", "Whose they are").app().get_option("--user")->required();
}

}  // namespace

void add_security(CLI::App& app, Action& action) {
  CLI::App& security = add_group(app, "security", "Certificates by which the processes and users of a cluster know each other");
  add_init(security, action);
  add_issue(security, action);
  add_rotate(security, action);
  add_token(security, action);
  Command<SecurityOptions>(security, action, "revoke",
                           "Have the certificate and the tokens of a name refused, and end their connections", revoke)
      .argument("DIR", &SecurityOptions::directory, "The authority's directory")
      .argument("NAME", &SecurityOptions::name, "Of the user, the worker or the master");
  add_security_kubernetes(security, action);
  Command<SecurityOptions>(security, action, "list", "Which certificates and tokens there are, and until when they are valid", list)
      .argument("DIR", &SecurityOptions::directory, "The authority's directory")
      .json();
}

}  // namespace weft::tools
