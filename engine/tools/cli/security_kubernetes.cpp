// weft security kubernetes: the certificates of a cluster as Secrets, made and renewed in a pod of it.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/certificates/authority.hpp"
#include "base/file.hpp"
#include "base/private_directory.hpp"
#include "base/rpc/credentials.hpp"
#include "base/text.hpp"
#include "engine/tools/cli/secret_client.hpp"
#include "engine/tools/cli/security_commands.hpp"

namespace weft::tools {
namespace {

namespace fs = std::filesystem;
using certificates::Authority;

constexpr Duration kApiPatience = std::chrono::seconds(20);
constexpr int kMostRounds = 5;  // each but the first needs another one who changes the Secrets meanwhile
constexpr std::uint32_t kMostDays = 3650;
constexpr const char* kUserOfCluster = "weft";

struct KubernetesSecurityOptions {
  std::string release, server, name_space, revoked;
  std::vector<std::string> users;
  std::uint32_t days = 365, renew_before = 90;
};

/// One Secret: what it was, and the directory with what it shall be.
struct Kept {
  std::string name;  // of the Secret
  rpc::Role role;
  std::string identity;  // the name in the certificate, and its directory
  Secret before;
};

Result<void> write_files(const fs::path& directory, const Secret& secret) {
  for (const auto& [name, bytes] : secret.files) {
    if (name.find('/') != std::string::npos || name.starts_with('.'))
      return fail(Code::corrupt, fmt::format("the Secret has a file with the name '{}'", escaped(name)));
    WEFT_TRY(write_file(directory / name, bytes));
  }
  return {};
}

Result<std::map<std::string, std::string>> files_of(const fs::path& directory) {
  std::map<std::string, std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (!entry.is_regular_file(error)) continue;
    WEFT_ASSIGN(files[entry.path().filename().string()], read_file(entry.path()));
  }
  if (error) return fail(Code::io, fmt::format("{}: {}", directory.string(), error.message()));
  return files;
}

/// All that happens between reading and writing the Secrets. In a directory of its own, which is removed with it.
class Round {
 public:
  Round(const KubernetesSecurityOptions& options, SecretClient& secrets) : options_(options), secrets_(secrets) {}

  /// False when somebody else has changed a Secret meanwhile: another round is needed.
  Result<bool> run();

 private:
  Result<void> read();
  Result<void> read_identity(std::string secret, rpc::Role role, std::string identity);
  bool ends_after(const Kept& kept, std::int64_t moment) const;
  Result<void> renew(Authority& authority, const Kept& kept) const;
  Result<bool> write(const std::string& name, const Secret& before, const fs::path& directory) const;
  std::string authority_name() const { return options_.release + "-authority"; }

  const KubernetesSecurityOptions& options_;
  SecretClient& secrets_;
  std::optional<TempDir> directory_;
  Secret authority_;
  std::vector<Kept> kept_;
};

Result<void> Round::read_identity(std::string secret, rpc::Role role, std::string identity) {
  WEFT_ASSIGN(Secret before, secrets_.get(secret));
  if (!before.version.empty() && authority_.version.empty())
    return fail(Code::already_exists,
                fmt::format("there is a Secret {}, but not the Secret {} that has made it; name another release, or remove it",
                            secret, authority_name()));
  if (before.files.contains(rpc::kIdentityFile)) {
    WEFT_TRY(make_private_directory(directory_->path() / identity));
    WEFT_TRY(write_files(directory_->path() / identity, before));
  }
  kept_.push_back({std::move(secret), role, std::move(identity), std::move(before)});
  return {};
}

Result<void> Round::read() {
  WEFT_ASSIGN(directory_, TempDir::create("weft-security-"));
  WEFT_ASSIGN(authority_, secrets_.get(authority_name()));
  WEFT_TRY(write_files(directory_->path(), authority_));
  WEFT_TRY(read_identity(options_.release + "-master", rpc::Role::master, "master"));
  WEFT_TRY(read_identity(options_.release + "-worker", rpc::Role::worker, "worker"));
  WEFT_TRY(read_identity(options_.release + "-user", rpc::Role::user, kUserOfCluster));
  for (const std::string& user : options_.users)
    WEFT_TRY(read_identity(fmt::format("{}-user-{}", options_.release, user), rpc::Role::user, user));
  return {};
}

/// By the certificate that is there: what the authority has noted last may never have come into this Secret.
bool Round::ends_after(const Kept& kept, std::int64_t moment) const {
  const auto there = rpc::Credentials::open((directory_->path() / kept.identity).string());
  return there && (*there)->expires() > moment;
}

/// A certificate that is not there, or ends soon, is made.
Result<void> Round::renew(Authority& authority, const Kept& kept) const {
  WEFT_ASSIGN(const auto issued, authority.issued());
  const auto last = std::find_if(issued.rbegin(), issued.rend(),
                                 [&](const certificates::Issued& one) { return one.name == kept.identity && !one.token; });
  const bool valid = last != issued.rend() && !last->revoked;
  if (valid && last->role != kept.role)
    return fail(Code::already_exists,
                fmt::format("{} is the name of a {}; give the user another one", kept.identity, name_of(last->role)));
  const std::int64_t soon = std::time(nullptr) + std::int64_t{options_.renew_before} * 24 * 3600;
  if (valid && ends_after(kept, soon)) return {};
  const Duration lifetime = std::chrono::hours(24) * options_.days;
  if (valid) return authority.rotate(kept.identity, lifetime);
  WEFT_TRY(authority.issue({kept.role, kept.identity, {}, lifetime}));
  return {};
}

Result<bool> Round::write(const std::string& name, const Secret& before, const fs::path& directory) const {
  Secret now{before.version, {}};
  WEFT_ASSIGN(now.files, files_of(directory));
  if (now.files == before.files) return true;
  WEFT_ASSIGN(const bool written, secrets_.put(name, options_.release, now));
  if (written) fmt::print("Secret {} {}\n", name, before.version.empty() ? "made" : "changed");
  return written;
}

Result<bool> Round::run() {
  WEFT_TRY(read());
  WEFT_ASSIGN(Authority authority, authority_.version.empty() ? Authority::create(directory_->path().string())
                                                              : Authority::open(directory_->path().string()));
  if (!options_.revoked.empty()) WEFT_TRY(authority.revoke(options_.revoked));
  for (const Kept& kept : kept_)
    if (kept.identity != options_.revoked) WEFT_TRY(renew(authority, kept));
  // The authority is the first: what the others show is signed by its key, and noted in its list.
  WEFT_ASSIGN(const bool first, write(authority_name(), authority_, directory_->path()));
  if (!first) return false;
  for (const Kept& kept : kept_) {
    if (!fs::exists(directory_->path() / kept.identity)) continue;  // revoked, and not there
    WEFT_ASSIGN(const bool written, write(kept.name, kept.before, directory_->path() / kept.identity));
    if (!written) return false;
  }
  return true;
}

Result<void> keep_secrets(const KubernetesSecurityOptions& options) {
  keep_files_private();
  for (const std::string& name : {options.release + "-authority", options.release + "-user-" + join(options.users, "-")})
    if (!master::is_kubernetes_name(name))
      return fail(Code::invalid_argument,
                  fmt::format("'{}' is no name of a Secret: small letters, digits and dashes", escaped(name)));
  master::ApiServerOptions api;
  api.server = options.server;
  api.name_space = options.name_space;
  api.patience = kApiPatience;
  WEFT_ASSIGN(auto server, master::ApiServer::open(std::move(api)));
  SecretClient secrets(std::move(server), kApiPatience);
  for (int rounds = 0; rounds < kMostRounds; ++rounds) {
    WEFT_ASSIGN(const bool done, Round(options, secrets).run());
    if (done) return {};
  }
  return fail(Code::unavailable,
              fmt::format("the Secrets of {} change again and again; does something else write them?", options.release));
}

}  // namespace

void add_security_kubernetes(CLI::App& security, Action& action) {
  Command<KubernetesSecurityOptions> command(
      security, action, "kubernetes",
      "Keep an authority and certificates in Secrets of Kubernetes: make what is missing, renew what ends soon", keep_secrets);
  command.argument("RELEASE", &KubernetesSecurityOptions::release,
                   "The Secrets are RELEASE-authority, RELEASE-master, RELEASE-worker and RELEASE-user");
  add_value(command.app(), "--user", command.options().users, "NAME", "Also of this user, in RELEASE-user-NAME; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  command.value("--revoke", &KubernetesSecurityOptions::revoked, "NAME", "Have the certificates of this name refused, too");
  command.value("--days", &KubernetesSecurityOptions::days, "DAYS", "How long certificates are valid (default: 365)");
  command.value("--renew-before", &KubernetesSecurityOptions::renew_before, "DAYS",
                "Renew those that end within this time (default: 90)");
  command.app().get_option("--days")->check(CLI::Range(1U, kMostDays));
  command.app().get_option("--renew-before")->check(CLI::Range(0U, kMostDays));
  command.value("--kubernetes-server", &KubernetesSecurityOptions::server, "URL",
                "Of the API server, outside of a pod: that of `kubectl proxy` (default: that of the pod)");
  command.value("--kubernetes-namespace", &KubernetesSecurityOptions::name_space, "NAME",
                "Of the Secrets (default: that of the pod)");
}

}  // namespace weft::tools
