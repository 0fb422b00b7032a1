#include "base/certificates/authority.hpp"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <optional>
#include <set>

#include <fmt/core.h>
#include <sys/stat.h>

#include "base/certificates/x509.hpp"
#include "base/file.hpp"
#include "base/private_directory.hpp"
#include "base/rpc/credentials.hpp"
#include "base/rpc/token.hpp"
#include "base/text.hpp"
#include "base/unguessable.hpp"

namespace weft::certificates {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKeyFile = "ca.key";
constexpr const char* kIssuedFile = "issued";
constexpr Duration kAuthorityLifetime = std::chrono::hours(24) * 3650, kLongest = kAuthorityLifetime;
constexpr const char* kTokensDirectory = "tokens";
constexpr std::string_view kTokenRole = "token";  // in the place of a role; releases without tokens take it for a user
constexpr std::size_t kMostName = 64, kMostHosts = 100;
constexpr std::string_view kEndOfCertificate = "-----END CERTIFICATE-----\n";

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

Result<void> check_name(const std::string& name) {
  const auto fits = [](char c) { return is_letter_or_digit(c) || c == '.' || c == '_' || c == '@' || c == '-'; };
  if (!name.empty() && name.size() <= kMostName && is_letter_or_digit(name.front()) && std::all_of(name.begin(), name.end(), fits))
    return {};
  return fail(Code::invalid_argument,
              fmt::format("'{}' is no name of an identity: letters and digits, and . _ @ - behind the first, {} at most",
                          escaped(name), kMostName));
}

/// Whose directory would have the name of one of the authority's own files.
Result<void> check_not_reserved(const std::string& name) {
  for (const char* const own : {kKeyFile, rpc::kAuthorityFile, kIssuedFile, rpc::kRevokedFile, kTokensDirectory})
    if (name == own)
      return fail(Code::invalid_argument, fmt::format("'{}' is the name of a file of the authority; choose another one", name));
  return {};
}

Result<void> check(const Request& request) {
  WEFT_TRY(check_name(request.name));
  WEFT_TRY(check_not_reserved(request.name));
  if (request.lifetime <= Duration(0) || request.lifetime > kLongest)
    return fail(Code::invalid_argument, "a certificate is valid for more than no time, and for 3650 days at most");
  if (request.hosts.size() > kMostHosts) return fail(Code::invalid_argument, fmt::format("more than {} hosts", kMostHosts));
  for (const std::string& host : request.hosts) {
    const auto fits = [](char c) { return is_letter_or_digit(c) || c == '.' || c == '-' || c == ':' || c == '*' || c == '_'; };
    if (host.empty() || host.size() > 253 || !std::all_of(host.begin(), host.end(), fits))
      return fail(Code::invalid_argument, fmt::format("'{}' is neither a host name nor an address", escaped(host)));
  }
  return {};
}

std::int64_t now() { return std::time(nullptr); }

std::optional<Issued> parse(std::string_view line) {
  const auto words = split(line, ' ');
  if (words.size() != 5) return std::nullopt;
  Issued one;
  one.serial = words[0];
  for (const rpc::Role role : {rpc::Role::user, rpc::Role::worker, rpc::Role::master})
    if (rpc::name_of(role) == words[1]) one.role = role;
  one.token = words[1] == kTokenRole;
  one.name = words[2];
  one.expires = parse_number<std::int64_t>(words[3]).value_or(0);
  if (words[4] != "-")
    for (const std::string_view host : split(words[4], ',')) one.hosts.emplace_back(host);
  return one;
}

/// For the owner only, whatever the umask of the process: it is in force while a file is made.
Result<void> write_private(const fs::path& path, const std::string& text) {
  const mode_t before = ::umask(077);
  auto written = write_file(path, text);
  ::umask(before);
  return written;
}

/// The first certificate of the file: that of the newest key.
Result<std::string> newest(const std::string& certificates) {
  const auto end = certificates.find(kEndOfCertificate);
  if (end == std::string::npos) return fail(Code::invalid_argument, "ca.crt holds no certificate in PEM");
  return certificates.substr(0, end + kEndOfCertificate.size());
}

std::string authority_name() { return fmt::format("weft {:016x}", unguessable_number()); }

}  // namespace

Result<Authority> Authority::create(const std::string& directory) {
  Authority authority(directory);
  std::error_code ignored;
  if (fs::exists(authority.path(kKeyFile), ignored) || fs::exists(authority.path(rpc::kAuthorityFile), ignored))
    return fail(Code::already_exists,
                fmt::format("{} has an authority already; issue certificates by `weft security issue`, or name "
                            "another directory",
                            directory));
  WEFT_TRY(make_private_directory(directory));
  WEFT_TRY(authority.make_key());
  return authority;
}

Result<Authority> Authority::open(const std::string& directory) {
  Authority authority(directory);
  std::error_code ignored;
  if (!fs::exists(authority.path(kKeyFile), ignored))
    return fail(Code::not_found,
                fmt::format("{} has no authority's key; name the directory that `weft security init` has made", directory));
  return authority;
}

/// Replaces the key; the certificates of those before stay behind that of the new one.
Result<void> Authority::make_key() {
  WEFT_ASSIGN(const Pair made, make_authority(authority_name(), kAuthorityLifetime));
  std::error_code ignored;
  std::string before;
  if (fs::exists(path(rpc::kAuthorityFile), ignored)) {
    WEFT_ASSIGN(before, read_file(path(rpc::kAuthorityFile)));
  }
  // Trusted first: a crash between the two must not leave a key whose certificates nobody accepts.
  WEFT_TRY(write_private(path(rpc::kAuthorityFile), made.certificate + before));
  WEFT_TRY(write_private(path(kKeyFile), made.key));
  return distribute();
}

Result<std::vector<Issued>> Authority::read_issued() const {
  std::vector<Issued> all;
  std::error_code ignored;
  if (!fs::exists(path(kIssuedFile), ignored)) return all;
  WEFT_ASSIGN(const std::string text, read_file(path(kIssuedFile)));
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    auto one = parse(line);
    if (!one)
      return fail(Code::corrupt,
                  fmt::format("{} has a line that is none of a certificate: '{}'", path(kIssuedFile), escaped(line)));
    all.push_back(std::move(*one));
  }
  std::set<std::string, std::less<>> revoked;
  if (fs::exists(path(rpc::kRevokedFile), ignored)) {
    WEFT_ASSIGN(const std::string list, read_file(path(rpc::kRevokedFile)));
    for (const std::string_view line : split(list, '\n')) revoked.emplace(split(line, ' ').front());
  }
  for (Issued& one : all) one.revoked = revoked.contains(one.serial);
  return all;
}

Result<void> Authority::write_issued(const std::vector<Issued>& all) const {
  std::string text;
  for (const Issued& one : all)
    if (one.expires > now())
      text += fmt::format("{} {} {} {} {}\n", one.serial, one.token ? kTokenRole : name_of(one.role), one.name, one.expires,
                          one.hosts.empty() ? "-" : join(one.hosts, ","));
  return write_private(path(kIssuedFile), text);
}

Result<std::vector<Issued>> Authority::issued() const {
  WEFT_ASSIGN(auto all, read_issued());
  std::erase_if(all, [](const Issued& one) { return one.expires <= now(); });
  return all;
}

Result<Pair> Authority::newest_authority() const {
  WEFT_ASSIGN(const std::string authorities, read_file(path(rpc::kAuthorityFile)));
  Pair authority;
  WEFT_ASSIGN(authority.key, read_file(path(kKeyFile)));
  WEFT_ASSIGN(authority.certificate, newest(authorities));
  return authority;
}

Result<void> Authority::make_identity(const Request& request) {
  WEFT_ASSIGN(const Pair authority, newest_authority());
  const Subject subject{std::string(rpc::kRolePrefix) + std::string(name_of(request.role)), request.name, request.hosts,
                        request.role != rpc::Role::user};
  WEFT_ASSIGN(const Pair made, make_certificate(authority, subject, request.lifetime));
  WEFT_TRY(make_private_directory(path(request.name)));
  // Noted before it can be used: what is not in the list could not be revoked.
  WEFT_ASSIGN(auto all, read_issued());
  all.push_back({made.serial, request.role, request.name, made.expires, request.hosts, false, false});
  WEFT_TRY(write_issued(all));
  WEFT_TRY(write_private(path(request.name) + "/" + rpc::kIdentityFile, made.key + made.certificate));
  return distribute();
}

/// Every identity's directory has what its processes trust.
Result<void> Authority::distribute() const {
  WEFT_TRY(distribute_to(directory_, rpc::kIdentityFile));
  return distribute_to(path(kTokensDirectory), rpc::kTokenFile);
}

/// To the directories in there that have the file.
Result<void> Authority::distribute_to(const std::string& directory, const char* owned) const {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (!fs::exists(entry.path() / owned, error)) continue;
    for (const char* file : {rpc::kAuthorityFile, rpc::kRevokedFile}) {
      if (!fs::exists(path(file), error)) continue;
      WEFT_ASSIGN(const std::string text, read_file(path(file)));
      const auto there = read_file(entry.path() / file);
      if (!there || *there != text) WEFT_TRY(write_private(entry.path() / file, text));
    }
  }
  return {};
}

Result<std::string> Authority::issue(const Request& request) {
  WEFT_TRY(check(request));
  WEFT_ASSIGN(const auto all, issued());
  for (const Issued& one : all)
    if (one.name == request.name && !one.revoked && !one.token)
      return fail(Code::already_exists,
                  fmt::format("there is a valid certificate of {} {}; renew it by `weft security rotate`, or revoke "
                              "it first",
                              name_of(one.role), one.name));
  WEFT_TRY(make_identity(request));
  return path(request.name);
}

Result<void> Authority::rotate(const std::string& name, Duration lifetime) {
  WEFT_TRY(check_name(name));
  WEFT_ASSIGN(const auto all, read_issued());
  const auto last = std::find_if(all.rbegin(), all.rend(), [&](const Issued& one) { return one.name == name && !one.token; });
  if (last == all.rend() || last->revoked)
    return fail(Code::not_found,
                fmt::format("there is no certificate of {} that could be renewed; issue one (weft security issue)", name));
  const Request request{last->role, name, last->hosts, lifetime};
  WEFT_TRY(check(request));
  return make_identity(request);
}

Result<std::string> Authority::issue_token(const std::string& user, Duration lifetime) {
  WEFT_TRY(check({rpc::Role::user, user, {}, lifetime}));
  WEFT_ASSIGN(auto all, read_issued());
  for (const Issued& one : all)
    if (one.name == user && !one.revoked && one.role != rpc::Role::user && one.expires > now())
      return fail(Code::already_exists, fmt::format("{} is the name of a {}; give the user another one", user, name_of(one.role)));
  WEFT_ASSIGN(const Pair authority, newest_authority());
  WEFT_ASSIGN(const std::string serial, random_serial());
  const rpc::Token token{serial, now() + std::chrono::ceil<std::chrono::seconds>(lifetime).count(), user};
  const std::string payload = rpc::payload_of(token);
  WEFT_ASSIGN(const std::string signature, sign(authority, rpc::signed_text(payload)));
  // Noted before it can be used, as certificates are.
  all.push_back({token.serial, rpc::Role::user, user, token.expires, {}, false, true});
  WEFT_TRY(write_issued(all));
  const std::string directory = path(kTokensDirectory) + "/" + user;
  WEFT_TRY(make_private_directory(directory));
  WEFT_TRY(write_private(directory + "/" + rpc::kTokenFile, rpc::written_token(payload, signature) + "\n"));
  WEFT_TRY(distribute());
  return directory;
}

Result<void> Authority::revoke(const std::string& name) {
  WEFT_TRY(check_name(name));
  WEFT_ASSIGN(const auto all, issued());
  return revoke_if(all, name, false);
}

Result<void> Authority::revoke_tokens(const std::string& user) {
  WEFT_TRY(check_name(user));
  WEFT_ASSIGN(const auto all, issued());
  return revoke_if(all, user, true);
}

Result<void> Authority::revoke_if(const std::vector<Issued>& all, const std::string& name, bool tokens_only) {
  std::string lines;
  bool known = false;
  for (const Issued& one : all) {
    if (one.name != name || (tokens_only && !one.token)) continue;
    known = true;
    if (!one.revoked) lines += fmt::format("{} {}\n", one.serial, name);
  }
  if (!known)
    return fail(Code::not_found, fmt::format("there is no valid {} of {}; weft security list shows them",
                                             tokens_only ? "token" : "certificate", name));
  std::error_code ignored;
  std::string before;
  if (fs::exists(path(rpc::kRevokedFile), ignored)) {
    WEFT_ASSIGN(before, read_file(path(rpc::kRevokedFile)));
  }
  WEFT_TRY(write_private(path(rpc::kRevokedFile), before + lines));
  return distribute();
}

Result<void> Authority::rotate_authority() { return make_key(); }

Result<void> Authority::retire_authorities() {
  WEFT_ASSIGN(const std::string all, read_file(path(rpc::kAuthorityFile)));
  WEFT_ASSIGN(const std::string last, newest(all));
  WEFT_TRY(write_private(path(rpc::kAuthorityFile), last));
  return distribute();
}

}  // namespace weft::certificates
