#include "base/rpc/credentials.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/rpc/credentials_impl.hpp"
#include "base/text.hpp"

namespace weft::rpc {
namespace {

constexpr std::uint64_t kMostFileBytes = 1u << 20;
constexpr Duration kLookAgain = std::chrono::seconds(1);
constexpr std::size_t kMostName = 128;
constexpr long kMostChainBytes = 16l << 10;  // of certificates that a peer sends before it is known
constexpr std::size_t kReceiveAhead = std::size_t{4} * (SSL3_RT_MAX_ENCRYPTED_LENGTH + SSL3_RT_HEADER_LENGTH);

using Text = std::unique_ptr<BIO, Freed<BIO, &OpenSsl::BIO_free>>;

/// The rule of PostgreSQL for its keys, which volumes of Kubernetes follow, too: the user's own may be read by nobody else, one of
/// root's by a group.
Result<void> check_private(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return fail(errno_error(path, errno));
    return fail(Code::not_found, fmt::format("there is no {}; name the directory that `weft security issue` has made", path));
  }
  if (info.st_uid != ::geteuid() && info.st_uid != 0)
    return fail(Code::invalid_argument, fmt::format("{} belongs to another user: give it to the one who uses it (chown)", path));
  const mode_t forbidden = info.st_uid == ::geteuid() ? 077 : 027;
  if ((info.st_mode & forbidden) != 0)
    return fail(Code::invalid_argument,
                fmt::format("others can read the key in {} (its mode is {:o}): chmod 600 it, and issue it again if they have", path,
                            info.st_mode & 07777u));
  return {};
}

Text open_text(const OpenSsl& openssl, const std::string& pem) {
  return Text(openssl.BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), {&openssl});
}

/// All certificates in a file.
std::vector<Certificate> read_certificates(const OpenSsl& openssl, const std::string& pem) {
  std::vector<Certificate> found;
  const Text text = open_text(openssl, pem);
  while (X509* one = openssl.PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr))
    found.emplace_back(one, Freed<X509, &OpenSsl::X509_free>{&openssl});
  openssl.ERR_clear_error();  // the end of the file is one
  return found;
}

std::int64_t expiry_of(const OpenSsl& openssl, const X509* certificate) {
  std::tm time{};
  return openssl.ASN1_TIME_to_tm(openssl.X509_get0_notAfter(certificate), &time) == 1 ? ::timegm(&time) : 0;
}

/// A password would be asked for on the terminal.
int no_password(char*, int, int, void*) { return 0; }

Result<Key> read_key(const OpenSsl& openssl, const std::string& path, const std::string& pem) {
  const Text text = open_text(openssl, pem);
  Key key(openssl.PEM_read_bio_PrivateKey(text.get(), nullptr, &no_password, nullptr), {&openssl});
  openssl.ERR_clear_error();
  if (!key) return fail(Code::invalid_argument, fmt::format("{} holds no key in PEM that needs no password", path));
  return key;
}

void set_up(const OpenSsl& openssl, SSL_CTX* context) {
  openssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_3_VERSION, nullptr);
  openssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, TLS1_3_VERSION, nullptr);
  openssl.SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  openssl.SSL_CTX_ctrl(context, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY, nullptr);
  // Each connection shows a certificate that is looked at: a session that is resumed would not.
  openssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, nullptr);
  openssl.SSL_CTX_set_num_tickets(context, 0);
  openssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_CERT_LIST, kMostChainBytes, nullptr);
  openssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_READ_AHEAD, 1, nullptr);
  openssl.SSL_CTX_set_default_read_buffer_len(context, kReceiveAhead);
  openssl.SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
}

/// From now on the context shows them. False: they do not belong together.
bool shows(const Trust& trust, const Certificate& certificate, const Key& key) {
  const OpenSsl& openssl = trust.openssl;
  const bool fits = openssl.SSL_CTX_use_certificate(trust.context, certificate.get()) == 1 &&
                    openssl.SSL_CTX_use_PrivateKey(trust.context, key.get()) == 1 &&
                    openssl.SSL_CTX_check_private_key(trust.context) == 1;
  openssl.ERR_clear_error();
  return fits;
}

std::set<std::string> read_revoked(const std::string& text) {
  std::set<std::string> serials;
  for (const std::string_view line : split(text, '\n'))
    if (const auto serial = split(trim(line), ' ').front(); !serial.empty() && !serial.starts_with('#')) serials.emplace(serial);
  return serials;
}

}  // namespace

Trust::~Trust() { openssl.SSL_CTX_free(context); }

std::optional<Identity> identity_of(const OpenSsl& openssl, const X509* certificate) {
  const auto* const subject = openssl.X509_get_subject_name(certificate);
  const auto field = [&](int nid) {
    std::array<char, kMostName + 1> text{};
    const int size =
        openssl.X509_NAME_get_text_by_NID(const_cast<X509_NAME*>(subject), nid, text.data(), static_cast<int>(text.size()));
    return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : std::string();
  };
  const std::string name = field(NID_commonName), organization = field(NID_organizationName);
  if (name.empty() || !organization.starts_with(kRolePrefix)) return std::nullopt;
  for (const Role role : {Role::user, Role::worker, Role::master})
    if (name_of(role) == organization.substr(kRolePrefix.size())) return Identity{role, escaped(name)};
  return std::nullopt;
}

std::string serial_of(const OpenSsl& openssl, X509* certificate) {
  BIGNUM* const number = openssl.ASN1_INTEGER_to_BN(openssl.X509_get_serialNumber(certificate), nullptr);
  char* const digits = number == nullptr ? nullptr : openssl.BN_bn2hex(number);
  std::string serial = digits == nullptr ? "" : digits;
  openssl.CRYPTO_free(digits, __FILE__, __LINE__);
  openssl.BN_free(number);
  return serial;
}

std::string describe_verification(const OpenSsl& openssl, int error) {
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "it has expired; renew it (weft security rotate)";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "it is not valid yet; compare the clocks of the two machines";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "it is of another authority than the one in ca.crt, so of another cluster";
    case X509_V_ERR_INVALID_PURPOSE:
      return "it is not for that side of a connection";
    default:
      return openssl.X509_verify_cert_error_string(error);
  }
}

Credentials::Impl::Stamp Credentials::Impl::stamp() const {
  Stamp stamp;
  for (std::size_t i = 0; const char* name : {kAuthorityFile, kIdentityFile, kRevokedFile, kTokenFile}) {
    struct stat info {};
    if (::stat((directory_ + "/" + name).c_str(), &info) == 0)
      stamp[i] = {info.st_ino, info.st_size, info.st_ctim.tv_sec * 1'000'000'000 + info.st_ctim.tv_nsec};
    ++i;
  }
  return stamp;
}

bool Credentials::Impl::has_token() const {
  struct stat info {};
  return ::stat((directory_ + "/" + kIdentityFile).c_str(), &info) != 0 &&
         ::stat((directory_ + "/" + kTokenFile).c_str(), &info) == 0;
}

Result<std::shared_ptr<const Trust>> Credentials::Impl::read() const {
  const std::string authority = directory_ + "/" + kAuthorityFile;
  const bool token = has_token();
  WEFT_TRY(check_private(directory_ + "/" + (token ? kTokenFile : kIdentityFile)));
  WEFT_ASSIGN(const OpenSsl* const openssl, load_openssl());
  WEFT_ASSIGN(const std::string authority_text, read_file(authority, kMostFileBytes));
  auto revoked_text = read_file(directory_ + "/" + kRevokedFile, kMostFileBytes);
  if (!revoked_text && revoked_text.error().code() != Code::not_found) return fail(std::move(revoked_text).error());

  auto trust = std::make_shared<Trust>(*openssl);
  trust->texts.authority = authority_text;
  trust->authorities = read_certificates(*openssl, authority_text);
  if (trust->authorities.empty()) return fail(Code::invalid_argument, authority + " holds no certificate in PEM");
  if (revoked_text) trust->revoked = read_revoked(*revoked_text);
  trust->context = openssl->SSL_CTX_new(openssl->TLS_method());
  if (trust->context == nullptr) return fail(Code::internal, "OpenSSL cannot make a context");
  set_up(*openssl, trust->context);
  for (const Certificate& one : trust->authorities)
    openssl->X509_STORE_add_cert(openssl->SSL_CTX_get_cert_store(trust->context), one.get());
  WEFT_TRY(token ? read_token(*trust) : read_identity(*trust));
  return trust;
}

Result<void> Credentials::Impl::read_identity(Trust& trust) const {
  const OpenSsl& openssl = trust.openssl;
  const std::string identity = directory_ + "/" + kIdentityFile;
  WEFT_ASSIGN(trust.texts.identity, read_file(identity, kMostFileBytes));
  const auto own = read_certificates(openssl, trust.texts.identity);
  if (own.empty()) return fail(Code::invalid_argument, identity + " holds no certificate in PEM");
  WEFT_ASSIGN(const Key key, read_key(openssl, identity, trust.texts.identity));
  const auto who = identity_of(openssl, own.front().get());
  if (!who)
    return fail(
        Code::invalid_argument,
        identity + ": its certificate says no role (an organisation such as weft:worker); make it by `weft security issue`");
  trust.own = *who;
  trust.expires = expiry_of(openssl, own.front().get());
  if (trust.expires <= std::time(nullptr))
    return fail(Code::invalid_argument,
                fmt::format("the certificate in {} has expired; renew it (weft security rotate)", identity));
  if (shows(trust, own.front(), key)) return {};
  return fail(Code::invalid_argument, identity + ": the key and the certificate do not belong together");
}

/// Whether it is good is for the other side to say; what can be said here already spares a connection.
Result<void> Credentials::Impl::read_token(Trust& trust) const {
  const std::string path = directory_ + "/" + kTokenFile;
  WEFT_ASSIGN(const std::string text, read_file(path, kMostFileBytes));
  Token token;
  if (const int error = trust.check_token(trim(text), token); error != X509_V_OK)
    return fail(Code::invalid_argument, fmt::format("{}: {}", path, describe_token_error(error)));
  trust.own = {Role::user, escaped(token.name)};
  trust.expires = token.expires;
  const Key key(trust.openssl.EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"), {&trust.openssl});
  if (!key) return fail(Code::internal, "OpenSSL cannot make a key");
  WEFT_ASSIGN(const Certificate carrier, carry_token(trust.openssl, trim(text), key));
  if (shows(trust, carrier, key)) return {};
  return fail(Code::internal, path + ": OpenSSL cannot show the token");
}

Result<void> Credentials::Impl::load() {
  const std::lock_guard lock(mutex_);
  seen_ = stamp();
  looked_ = SystemClock().now();
  WEFT_ASSIGN(trust_, read());
  return {};
}

std::shared_ptr<const Trust> Credentials::Impl::trust() {
  const std::lock_guard lock(mutex_);
  const TimePoint now = SystemClock().now();
  if (now - looked_ < kLookAgain) return trust_;
  looked_ = now;
  const Stamp found = stamp();
  if (found == seen_) return trust_;
  seen_ = found;
  if (auto again = read(); again) {
    trust_ = *std::move(again);
    log_.info("read {} again: {} {}, {} certificates are revoked", directory_, name_of(trust_->own.role), trust_->own.name,
              trust_->revoked.size());
  } else {
    log_.error("{} has changed and cannot be used, what was read before stays in force: {}", directory_, again.error().to_string());
  }
  return trust_;
}

Credentials::Credentials(std::string directory) : directory_(std::move(directory)), impl_(std::make_unique<Impl>(directory_)) {}
Credentials::~Credentials() = default;

Result<std::shared_ptr<Credentials>> Credentials::open(const std::string& directory) {
  std::shared_ptr<Credentials> credentials(new Credentials(directory));
  if (auto loaded = credentials->impl_->load(); !loaded) return fail(std::move(loaded).error().wrap("security"));
  return credentials;
}

Identity Credentials::identity() { return impl_->trust()->own; }
Credentials::Texts Credentials::texts() { return impl_->trust()->texts; }

Result<Identity> Credentials::check(ByteView certificate) {
  const auto trust = impl_->trust();
  const OpenSsl& openssl = trust->openssl;
  const auto refuse = [](const std::string& why) { return fail(Code::invalid_argument, "the certificate is refused: " + why); };
  const auto* bytes = reinterpret_cast<const unsigned char*>(certificate.data());
  const Certificate parsed(openssl.d2i_X509(nullptr, &bytes, static_cast<long>(certificate.size())), {&openssl});
  X509_STORE_CTX* const context = openssl.X509_STORE_CTX_new();
  int error = X509_V_ERR_UNSPECIFIED;
  if (parsed && openssl.X509_STORE_CTX_init(context, openssl.SSL_CTX_get_cert_store(trust->context), parsed.get(), nullptr) == 1) {
    (void)openssl.X509_STORE_CTX_set_purpose(context, X509_PURPOSE_SSL_CLIENT);
    error = openssl.X509_verify_cert(context) == 1 ? X509_V_OK : openssl.X509_STORE_CTX_get_error(context);
  }
  openssl.X509_STORE_CTX_free(context);
  openssl.ERR_clear_error();
  if (error != X509_V_OK) return refuse(describe_verification(openssl, error));
  if (trust->revoked.contains(serial_of(openssl, parsed.get()))) return refuse("it is revoked");
  auto who = identity_of(openssl, parsed.get());
  if (!who) return refuse("it says no role; make it by weft security issue");
  return *std::move(who);
}

std::int64_t Credentials::expires() { return impl_->trust()->expires; }

std::string_view name_of(Role role) {
  switch (role) {
    case Role::user:
      return "user";
    case Role::worker:
      return "worker";
    case Role::master:
      break;
  }
  return "master";
}

Result<Security> security_of_environment() {
  const char* const variable = std::getenv(kSecurityVariable);
  const std::string named = variable == nullptr ? "" : variable;
  if (named.empty() || named == kInsecure) return Security{{}, !named.empty()};
  WEFT_ASSIGN(auto credentials, Credentials::open(named));
  return Security{std::move(credentials), false};
}

}  // namespace weft::rpc
