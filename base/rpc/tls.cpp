#include "base/rpc/tls.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "base/assert.hpp"
#include "base/rpc/credentials_impl.hpp"
#include "base/text.hpp"

namespace weft::rpc {
namespace {

constexpr std::size_t kRecord = SSL3_RT_MAX_PLAIN_LENGTH;
constexpr std::size_t kBatch = 8 * kRecord;          // encrypted, and sent, at a time
constexpr std::size_t kMostUnsent = 2 * kBatch;      // what the peer makes this side say comes on top
constexpr int kAlertReasons = SSL_AD_REASON_OFFSET;  // an alert of the peer is this reason and its number

/// Says that TLS 1.3 is spoken here: a fatal alert (21) of two bytes, protocol_version (70).
constexpr std::array<unsigned char, 7> kSpeaksTls{21, 3, 3, 0, 2, 2, 70};

std::string of_alert(int alert, const char* reason) {
  const auto refused = [](const char* why) { return fmt::format("the peer refuses this side's certificate: {}", why); };
  switch (alert) {
    case SSL_AD_CERTIFICATE_REVOKED:
      return refused("it is revoked; ask for another one (weft security issue)");
    case SSL_AD_CERTIFICATE_EXPIRED:
      return refused("it has expired, or the clocks differ; renew it (weft security rotate)");
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_DECRYPT_ERROR:
      return refused("it is of another authority, so of another cluster");
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_HANDSHAKE_FAILURE:
      return refused("it has another role or name than is needed there");
    case TLS13_AD_CERTIFICATE_REQUIRED:
      return "the peer wants a certificate";
    case SSL_AD_PROTOCOL_VERSION:
      return "the peer speaks another version of TLS";
    default:
      return fmt::format("the peer ended the encrypted connection ({})", reason == nullptr ? "no reason" : reason);
  }
}

}  // namespace

struct Tls::Session {
  explicit Session(std::shared_ptr<const Trust> of) : trust(std::move(of)), ssl(trust->openssl.SSL_new(trust->context)) {}
  ~Session() { trust->openssl.SSL_free(ssl); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::shared_ptr<const Trust> trust;
  SSL* const ssl;
};

/// What OpenSSL calls.
struct TlsHooks {
  static Tls& of(BIO* bio) { return *static_cast<Tls*>(openssl().BIO_get_data(bio)); }
  static const OpenSsl& openssl() { return *load_openssl().value(); }

  static int read(BIO* bio, char* into, int room) {
    openssl().BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
    const int got = of(bio).read(into, room);
    if (got < 0) openssl().BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
    return got;
  }
  static int write(BIO* bio, const char* bytes, int size) {
    openssl().BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
    return of(bio).write(bytes, size);
  }
  static long control(BIO* bio, int command, long, void*) {
    if (command == BIO_CTRL_EOF) return of(bio).ended_ ? 1 : 0;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }
  static int verify(int ok, X509_STORE_CTX* context) {
    const OpenSsl& functions = openssl();
    void* const ssl = functions.X509_STORE_CTX_get_ex_data(context, functions.SSL_get_ex_data_X509_STORE_CTX_idx());
    return static_cast<Tls*>(functions.SSL_get_ex_data(static_cast<SSL*>(ssl), 0))->verify(ok, context);
  }
  /// Of a peer that has shown a certificate which carries a token, whatever else is wrong with that certificate: whether it is let
  /// in.
  static std::optional<int> verify_token(Tls& tls, X509_STORE_CTX* store) {
    const Trust& trust = *tls.session_->trust;
    X509* const shown = trust.openssl.X509_STORE_CTX_get_current_cert(store);
    if (tls.demand_.dialled || shown == nullptr || trust.openssl.X509_STORE_CTX_get_error_depth(store) != 0) return std::nullopt;
    const auto text = token_in(trust.openssl, shown);
    if (!text) return std::nullopt;
    Token token;
    const int error = trust.check_token(*text, token);
    trust.openssl.X509_STORE_CTX_set_error(store, error);
    if (error != X509_V_OK) {
      tls.refusal_ = "it carries a token, and " + describe_token_error(error);
      return 0;
    }
    tls.serial_ = token.serial;
    tls.peer_ = Identity{Role::user, escaped(token.name)};
    return 1;
  }
  static BIO_METHOD* method() {
    static BIO_METHOD* const made = [] {
      BIO_METHOD* const fresh = openssl().BIO_meth_new(BIO_TYPE_SOURCE_SINK | 100, "weft");
      openssl().BIO_meth_set_read(fresh, &TlsHooks::read);
      openssl().BIO_meth_set_write(fresh, &TlsHooks::write);
      openssl().BIO_meth_set_ctrl(fresh, &TlsHooks::control);
      return fresh;
    }();
    return made;
  }
};

Tls::Tls(Credentials& credentials, int fd, PeerDemand demand)
    : credentials_(credentials),
      fd_(fd),
      demand_(std::move(demand)),
      session_(std::make_unique<Session>(credentials.impl().trust())) {
  const OpenSsl& openssl = session_->trust->openssl;
  SSL* const ssl = session_->ssl;
  WEFT_ASSERT(ssl != nullptr);
  openssl.SSL_set_ex_data(ssl, 0, this);
  BIO* const bio = openssl.BIO_new(TlsHooks::method());
  openssl.BIO_set_data(bio, this);
  openssl.BIO_set_init(bio, 1);
  openssl.SSL_set_bio(ssl, bio, bio);
  openssl.SSL_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, &TlsHooks::verify);
  demand_.dialled ? openssl.SSL_set_connect_state(ssl) : openssl.SSL_set_accept_state(ssl);
}

Tls::~Tls() = default;

// ---- what OpenSSL calls

/// -1: nothing more for now. 0: the end, or broken_.
int Tls::read(char* into, int room) {
  if (ended_ || broken_) return 0;
  const iovec space{into, static_cast<std::size_t>(room)};
  auto received = rpc::receive(fd_, {&space, 1}, false);
  if (!received) {
    broken_ = std::move(received).error();
    return 0;
  }
  if (received->state == Received::State::would_block) return -1;
  ended_ = received->state == Received::State::end;
  heard_ = heard_ || !ended_;
  const std::size_t more = std::min(received->bytes, first_.size() - first_size_);
  std::memcpy(first_.data() + first_size_, into, more);
  first_size_ += more;
  return static_cast<int>(received->bytes);
}

int Tls::write(const char* bytes, int size) {
  if (out_.size() - out_begin_ > kMostUnsent) return 0;  // the peer makes this side answer, and does not read
  const auto* const first = reinterpret_cast<const std::byte*>(bytes);
  out_.insert(out_.end(), first, first + size);
  return size;
}

int Tls::verify(int ok, void* context) {
  const OpenSsl& openssl = session_->trust->openssl;
  auto* const store = static_cast<X509_STORE_CTX*>(context);
  if (const auto decided = TlsHooks::verify_token(*this, store)) return *decided;
  if (ok != 1) {
    refusal_ = describe_verification(openssl, openssl.X509_STORE_CTX_get_error(store));
    return 0;
  }
  if (openssl.X509_STORE_CTX_get_error_depth(store) != 0) return 1;
  X509* const certificate = openssl.X509_STORE_CTX_get_current_cert(store);
  serial_ = serial_of(openssl, certificate);
  if (session_->trust->revoked.contains(serial_)) {
    refusal_ = "it is revoked";
    openssl.X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REVOKED);
    return 0;
  }
  auto refusal = refusal_of(certificate);
  if (!refusal) return 1;
  refusal_ = std::move(*refusal);
  openssl.X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH);
  return 0;
}

/// Whether it is the certificate of the process that is wanted.
std::optional<std::string> Tls::refusal_of(void* of) {
  const OpenSsl& openssl = session_->trust->openssl;
  auto* const certificate = static_cast<X509*>(of);
  peer_ = identity_of(openssl, certificate);
  if (!peer_) return "it says no role; make it by weft security issue";
  const auto is_a = [&] { return fmt::format("it is that of {} {}", name_of(peer_->role), peer_->name); };
  if (demand_.role && peer_->role != *demand_.role) return fmt::format("{}, and a {} is wanted", is_a(), name_of(*demand_.role));
  if (!demand_.dialled) return std::nullopt;
  if (peer_->role == Role::user) return fmt::format("{}, and users serve nothing", is_a());
  if (demand_.host.empty() || openssl.X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1) < 0) return std::nullopt;
  const std::string& host = demand_.host;
  if (openssl.X509_check_ip_asc(certificate, host.c_str(), 0) == 1 ||
      openssl.X509_check_host(certificate, host.data(), host.size(), 0, nullptr) == 1)
    return std::nullopt;
  return fmt::format("{}, which is not for the host {}; issue it for that host, too", is_a(), escaped(host));
}

// ---- what failed

Error Tls::not_encrypted() {
  const std::string_view first(reinterpret_cast<const char*>(first_.data()), first_size_);
  if (std::string_view("WEFT").starts_with(first))
    return {Code::invalid_argument, demand_.dialled
                                        ? "the process there does not encrypt its connections: it runs without --security"
                                        : "the peer does not encrypt its connections: it needs --security DIR (or WEFT_SECURITY)"};
  return {Code::invalid_argument, fmt::format("the peer does not speak TLS (it sent \"{}\")", escaped(first))};
}

/// Peers that do not encrypt get an answer that they may understand.
void Tls::send_alert() {
  out_.clear();
  out_begin_ = 0;
  write(reinterpret_cast<const char*>(kSpeaksTls.data()), static_cast<int>(kSpeaksTls.size()));
}

Error Tls::failure(int error) {
  const OpenSsl& openssl = session_->trust->openssl;
  if (broken_) return *broken_;
  if (first_size_ != 0 && (first_[0] < SSL3_RT_CHANGE_CIPHER_SPEC || first_[0] > SSL3_RT_APPLICATION_DATA)) {
    if (!demand_.dialled) send_alert();
    return not_encrypted();
  }
  if (!refusal_.empty()) return {Code::invalid_argument, fmt::format("the peer's certificate is refused: {}", refusal_)};
  if (ended_ || error != SSL_ERROR_SSL) return {Code::unavailable, "the peer is gone (connection closed)"};
  const unsigned long code = openssl.ERR_get_error();
  const int reason = ERR_GET_REASON(code);
  const char* const text = openssl.ERR_reason_error_string(code);
  if (reason >= kAlertReasons) return {Code::invalid_argument, of_alert(reason - kAlertReasons, text)};
  if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) return {Code::invalid_argument, "the peer shows no certificate"};
  if (reason == SSL_R_UNSUPPORTED_PROTOCOL) return {Code::invalid_argument, "the peer does not speak TLS 1.3"};
  return {Code::corrupt, fmt::format("the encrypted connection failed ({})", text == nullptr ? "no reason" : text)};
}

// ---- the connection

Result<bool> Tls::shake_hands() {
  const OpenSsl& openssl = session_->trust->openssl;
  openssl.ERR_clear_error();
  const int done = openssl.SSL_do_handshake(session_->ssl);
  const int error = done == 1 ? SSL_ERROR_NONE : openssl.SSL_get_error(session_->ssl, done);
  std::optional<Error> why;
  if (done != 1 && error != SSL_ERROR_WANT_READ) why = failure(error);
  auto flushed = flush();
  if (why) return fail(std::move(*why));
  if (!flushed) return fail(std::move(flushed).error());
  open_ = done == 1 && peer_.has_value();
  return open_;
}

Result<Received> Tls::receive(std::span<const iovec> into) {
  const OpenSsl& openssl = session_->trust->openssl;
  std::size_t total = 0;
  for (const iovec& piece : into) {
    for (std::size_t filled = 0; filled < piece.iov_len;) {
      if (total == 0 || !broken_) openssl.ERR_clear_error();
      std::size_t got = 0;
      if (openssl.SSL_read_ex(session_->ssl, static_cast<char*>(piece.iov_base) + filled, piece.iov_len - filled, &got) == 1) {
        filled += got;
        total += got;
        continue;
      }
      const int error = openssl.SSL_get_error(session_->ssl, 0);
      if (total != 0) return Received{Received::State::data, total, {}};  // an error is found again
      if (error == SSL_ERROR_WANT_READ) return Received{};
      if (error == SSL_ERROR_ZERO_RETURN || (ended_ && !broken_)) return Received{Received::State::end, 0, {}};
      return fail(failure(error));
    }
  }
  return Received{Received::State::data, total, {}};
}

Result<Sent> Tls::send(std::span<const iovec> pieces) {
  const OpenSsl& openssl = session_->trust->openssl;
  WEFT_ASSIGN(const bool room, flush());
  if (!room) return Sent{0, true};
  openssl.ERR_clear_error();
  std::array<std::byte, kRecord> gathered;      // small pieces share a record
  std::size_t total = 0, piece = 0, taken = 0;  // `taken` of pieces[piece]
  while (total < kBatch && piece < pieces.size()) {
    const auto at = [&] { return static_cast<const std::byte*>(pieces[piece].iov_base) + taken; };
    const std::byte* record = at();
    std::size_t size = std::min(pieces[piece].iov_len - taken, kRecord);
    if (size == kRecord) {
      taken += size;
    } else {
      size = 0;
      for (record = gathered.data(); piece < pieces.size() && size < kRecord;) {
        const std::size_t step = std::min(pieces[piece].iov_len - taken, kRecord - size);
        std::memcpy(gathered.data() + size, at(), step);
        size += step;
        taken += step;
        if (taken == pieces[piece].iov_len) ++piece, taken = 0;
      }
    }
    if (piece < pieces.size() && taken == pieces[piece].iov_len) ++piece, taken = 0;
    std::size_t put = 0;
    if (size != 0 && openssl.SSL_write_ex(session_->ssl, record, size, &put) != 1) return fail(failure(SSL_ERROR_SSL));
    total += size;
  }
  WEFT_ASSIGN(const bool all, flush());
  return Sent{total, !all};
}

Result<bool> Tls::flush() {
  while (keeps_unsent()) {
    const iovec rest{out_.data() + out_begin_, out_.size() - out_begin_};
    WEFT_ASSIGN(const Sent sent, rpc::send(fd_, {&rest, 1}, {}));
    if (sent.blocked) return false;
    out_begin_ += sent.bytes;
  }
  out_.clear();
  out_begin_ = 0;
  return true;
}

bool Tls::revoked() { return credentials_.impl().trust()->revoked.contains(serial_); }

}  // namespace weft::rpc
