#include "base/http/server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <strings.h>
#include <sys/eventfd.h>

#include "base/fd.hpp"
#include "base/http/deadlines.hpp"
#include "base/http/encryption.hpp"
#include "base/http/sign_in.hpp"
#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/rpc/credentials.hpp"
#include "base/rpc/peer_user.hpp"
#include "base/rpc/socket.hpp"
#include "base/text.hpp"

namespace weft::http {

namespace {

/// A request as it comes in, and its answer. Belongs to its connection, which is suspended while one of our threads has it.
struct Exchange {
  MHD_Connection* connection = nullptr;
  Request request{};
  std::optional<Response> response{};
  ShownIdentity shown{};  // where it had to be
};

/// A stream that is open, and whose it is.
struct OpenStream {
  std::weak_ptr<EventStream> events;
  ShownIdentity shown;
};

/// Makes the thread that runs the daemon look at its connections. libmicrohttpd 0.9.75 does not wake a thread that is not its own.
class Bell {
 public:
  Bell() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  int fd() const { return fd_.get(); }
  void ring() const { (void)::eventfd_write(fd_.get(), 1); }
  void silence() const {
    eventfd_t rung = 0;
    (void)::eventfd_read(fd_.get(), &rung);
  }

 private:
  Fd fd_;
};

/// Keeps a stream's connection, and notices that its reader is gone.
struct StreamReader {
  std::shared_ptr<EventStream> events;
  MHD_Connection* connection = nullptr;
  const Bell& bell;
};

std::optional<std::string> header(MHD_Connection* connection, const char* name) {
  const char* value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

MHD_Result note_parameter(void* into, MHD_ValueKind, const char* name, const char* value) {
  static_cast<Request*>(into)->query[name] = value == nullptr ? "" : value;
  return MHD_YES;
}

/// How many headers give the length of the body. Where two do, servers in a row may disagree on where the next request begins.
MHD_Result count_lengths(void* count, MHD_ValueKind, const char* name, const char*) {
  const bool length =
      ::strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0 || ::strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0;
  *static_cast<int*>(count) += length ? 1 : 0;
  return MHD_YES;
}

ssize_t read_events(void* reader, std::uint64_t, char* into, std::size_t room) {
  auto* const stream = static_cast<StreamReader*>(reader);
  std::size_t taken = 0;
  const auto took = stream->events->take(
      into, room, taken, [stream] { MHD_suspend_connection(stream->connection); },
      [connection = stream->connection, &bell = stream->bell] {
        MHD_resume_connection(connection);
        bell.ring();
      });
  return took == EventStream::Took::end ? MHD_CONTENT_READER_END_OF_STREAM : static_cast<ssize_t>(taken);
}

void end_reading(void* reader) {
  const std::unique_ptr<StreamReader> stream(static_cast<StreamReader*>(reader));
  stream->events->abandon();
}

void log_nothing(void*, const char*, va_list) {}

/// Of the header Authorization; without one, of a browser that has signed in. Empty where there is none.
std::string token_of(MHD_Connection* connection) {
  constexpr std::string_view kBearer = "Bearer ";
  const auto authorization = header(connection, MHD_HTTP_HEADER_AUTHORIZATION);
  if (!authorization) {
    const char* const kept = MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, kTokenCookie);
    return kept == nullptr ? "" : kept;
  }
  const std::string& said = *authorization;
  const bool bearer = said.size() > kBearer.size() && ::strncasecmp(said.data(), kBearer.data(), kBearer.size()) == 0;
  return bearer ? std::string(trim(std::string_view(said).substr(kBearer.size()))) : std::string();
}

/// Null where nothing is encrypted.
gnutls_session_t session_of(MHD_Connection* connection) {
  const MHD_ConnectionInfo* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  return info == nullptr ? nullptr : static_cast<gnutls_session_t>(info->tls_session);
}

/// A listening socket, and how clients write its address.
struct Listening {
  Fd fd;
  std::string address;
  bool loopback = false;
  std::string host;
};

Result<Listening> listen(const std::string& text) {
  WEFT_ASSIGN(const auto parts, rpc::split_endpoint(text));
  if (!parts.path.empty()) return fail(Code::invalid_argument, fmt::format("{} is no HOST:PORT", text));
  WEFT_ASSIGN(const auto addresses, rpc::resolve_blocking(parts));
  Result<Fd> fd = fail(Code::unavailable, fmt::format("{} has no address", text));
  for (const rpc::Address& address : addresses) {
    fd = rpc::listen_on(address);
    if (fd) break;
  }
  if (!fd) return fail(std::move(fd).error());
  const std::string bound = rpc::local_address(fd->get()).to_string();
  const bool v6 = parts.host.find(':') != std::string::npos;
  std::string address = fmt::format("{}{}{}{}", v6 ? "[" : "", parts.host, v6 ? "]" : "", bound.substr(bound.rfind(':')));
  return Listening{std::move(*fd), std::move(address), bound.starts_with("127.") || bound.starts_with("[::1]"), parts.host};
}

}  // namespace

constexpr MHD_UNSIGNED_LONG_LONG kLongestWait = 100;  // milliseconds
constexpr Duration kCheckStreams = std::chrono::seconds(2);

/// One thread reads and writes all connections, by libmicrohttpd; `threads` answer; one looks at deadlines.
class ServerImpl final : public Server {
 public:
  ServerImpl(ServerOptions options, Answer answer) : options_(std::move(options)), answer_(std::move(answer)) {}
  ~ServerImpl() override;
  Result<void> begin();
  const std::string& address() const override { return address_; }
  std::string url() const override { return (options_.security.encrypted() ? "https://" : "http://") + address_; }

 private:
  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* url, const char* method, const char* version,
                               const char* data, std::size_t* size, void** slot);
  static void on_completed(void* self, MHD_Connection* connection, void** slot, MHD_RequestTerminationCode why);
  static void on_connection(void* self, MHD_Connection* connection, void** slot, MHD_ConnectionNotificationCode what);

  MHD_Result receive(Exchange& exchange, const char* data, std::size_t* size);
  std::optional<Response> refusal(MHD_Connection* connection, const char* method) const;
  Result<void> check_peer(Exchange& exchange) const;
  void report(const Exchange& exchange, const Response& answer) const;
  std::vector<MHD_OptionItem> encryption();
  void show_certificate(MHD_Connection* connection, void** slot);
  void end_refused_streams(std::unique_lock<std::mutex>& lock);
  MHD_Result reply(Exchange& exchange);
  void allow(MHD_Connection* connection, Duration time);
  void answer_requests();
  Response answer_to(const Request& request);
  bool is_sign_in(const Request& request) const { return options_.security.encrypted() && request.path == kSignInPath; }
  void watch(const std::stop_token& ended);
  void run_daemon(const std::stop_token& ended);

  const ServerOptions options_;
  const Answer answer_;
  std::string address_;
  bool loopback_ = true;
  std::vector<std::string> names_;
  std::optional<Encryption> encryption_;
  std::shared_ptr<const ShownCertificate> first_shown_;  // that the daemon was started with
  Deadlines deadlines_;
  std::mutex mutex_;                 // of what follows
  std::condition_variable asked_;    // or stopping
  std::condition_variable stopped_;  // stopping
  std::deque<Exchange*> queue_;
  std::list<OpenStream> streams_;
  bool stopping_ = false;
  const Bell bell_;
  MHD_Daemon* daemon_ = nullptr;
  std::vector<std::jthread> threads_;
  std::jthread connections_;  // runs the daemon
};

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, Answer answer) {
  auto server = std::make_unique<ServerImpl>(std::move(options), std::move(answer));
  WEFT_TRY(server->begin());
  return std::unique_ptr<Server>(std::move(server));
}

Result<void> ServerImpl::begin() {
  WEFT_ASSIGN(Listening listening, listen(options_.listen));
  if (!listening.loopback && !options_.security.encrypted() && !options_.security.insecure)
    return fail(
        Code::invalid_argument,
        fmt::format("the page at {} could be read from other machines, by everybody: give --security DIR (`weft security init` "
                    "makes one), or --insecure on a network that nobody else reaches",
                    listening.address));
  address_ = listening.address;
  loopback_ = listening.loopback;
  names_ = options_.names;
  names_.push_back(listening.host);
  if (options_.security.encrypted()) {
    WEFT_ASSIGN(encryption_, Encryption::open(options_.security.credentials));
  }
  std::vector<MHD_OptionItem> encryption = this->encryption();
  const unsigned tls = options_.security.encrypted() ? MHD_USE_TLS : 0;
  daemon_ = MHD_start_daemon(
      MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | tls, 0, nullptr, nullptr, &ServerImpl::on_request, this,
      MHD_OPTION_EXTERNAL_LOGGER, &log_nothing, nullptr, MHD_OPTION_LISTEN_SOCKET, listening.fd.get(), MHD_OPTION_CONNECTION_LIMIT,
      options_.connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, options_.header_bytes, MHD_OPTION_CONNECTION_TIMEOUT,
      static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(std::max(options_.request, options_.keep_alive)).count()) * 2u,
      MHD_OPTION_NOTIFY_COMPLETED, &ServerImpl::on_completed, this, MHD_OPTION_NOTIFY_CONNECTION, &ServerImpl::on_connection, this,
      MHD_OPTION_ARRAY, encryption.data(), MHD_OPTION_END);
  if (daemon_ == nullptr) return fail(Code::resource_exhausted, fmt::format("no HTTP server could be started on {}", address_));
  (void)listening.fd.release();  // the daemon closes it
  for (unsigned i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { answer_requests(); });
  threads_.emplace_back([this](const std::stop_token& ended) { watch(ended); });
  connections_ = std::jthread([this](const std::stop_token& ended) { run_daemon(ended); });
  return {};
}

/// The wait is ours, because libmicrohttpd 0.9.75 asks epoll once more, and may wait for as long, when it got exactly as many
/// events (128) as it takes at a time, before it handles any of them: all connections would stand still while they have something
/// to read.
void ServerImpl::run_daemon(const std::stop_token& ended) {
  const int epoll = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
  while (!ended.stop_requested()) {
    MHD_UNSIGNED_LONG_LONG wait = kLongestWait;
    if (MHD_get_timeout(daemon_, &wait) != MHD_YES || wait > kLongestWait) wait = kLongestWait;
    std::array<pollfd, 2> awaited{{{epoll, POLLIN, 0}, {bell_.fd(), POLLIN, 0}}};
    (void)::poll(awaited.data(), awaited.size(), static_cast<int>(wait));
    bell_.silence();
    MHD_run(daemon_);
  }
}

/// A daemon ends only when none of its connections is suspended, and none is suspended any more once `stopping_` is set.
ServerImpl::~ServerImpl() {
  if (daemon_ == nullptr) return;
  const MHD_socket listening = MHD_quiesce_daemon(daemon_);
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const OpenStream& stream : streams_)
      if (const auto events = stream.events.lock()) events->close();
  }
  asked_.notify_all();
  stopped_.notify_all();
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
  connections_ = std::jthread();
  MHD_stop_daemon(daemon_);
  const Fd closed(listening);
}

MHD_Result ServerImpl::on_request(void* self, MHD_Connection* connection, const char* url, const char* method, const char*,
                                  const char* data, std::size_t* size, void** slot) {
  auto& server = *static_cast<ServerImpl*>(self);
  if (*slot != nullptr) return server.receive(*static_cast<Exchange*>(*slot), data, size);
  auto* const exchange = new Exchange{connection};
  *slot = exchange;  // on_completed() deletes it
  exchange->request.method = std::string_view(method) == "HEAD" ? "GET" : method;
  exchange->request.path = url;
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, &note_parameter, &exchange->request);
  if (auto allowed = server.check_peer(*exchange); !allowed)
    exchange->response = error_response(server.options_.security.encrypted() ? 401 : 403, allowed.error().to_string());
  else
    exchange->response = server.refusal(connection, method);
  if (!exchange->response) return MHD_YES;
  server.report(*exchange, *exchange->response);
  return server.reply(*exchange);
}

/// To on_refused, where it is a refusal.
void ServerImpl::report(const Exchange& exchange, const Response& answer) const {
  if (!options_.on_refused || (answer.status != 401 && answer.status != 403)) return;
  const Request& request = exchange.request;
  const MHD_ConnectionInfo* const info = MHD_get_connection_info(exchange.connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  options_.on_refused({answer.status, info == nullptr ? "" : rpc::peer_address(info->connect_fd).to_string(), request.peer,
                       request.method, request.path, answer.error});
}

std::vector<MHD_OptionItem> ServerImpl::encryption() {
  std::vector<MHD_OptionItem> items;
  if (encryption_) {
    first_shown_ = encryption_->current();
    const rpc::Credentials::Texts& texts = first_shown_->texts();
    const auto add = [&](MHD_OPTION option, const char* text) { items.push_back({option, 0, const_cast<char*>(text)}); };
    add(MHD_OPTION_HTTPS_MEM_KEY, texts.identity.c_str());
    add(MHD_OPTION_HTTPS_MEM_CERT, texts.identity.c_str());
    add(MHD_OPTION_HTTPS_MEM_TRUST, texts.authority.c_str());
    add(MHD_OPTION_HTTPS_PRIORITIES, "NORMAL:-VERS-ALL:+VERS-TLS1.3");
  }
  items.push_back({MHD_OPTION_END, 0, nullptr});
  return items;
}

/// Whether this peer may ask for anything. The error says what it lacks.
Result<void> ServerImpl::check_peer(Exchange& exchange) const {
  if (options_.security.insecure || options_.open(exchange.request.path)) return {};
  if (is_sign_in(exchange.request)) return {};
  if (!options_.security.encrypted()) {
    const MHD_ConnectionInfo* const info = MHD_get_connection_info(exchange.connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    const auto user = info == nullptr ? std::nullopt : rpc::user_of_peer(info->connect_fd);
    if (rpc::may_talk(user, rpc::Side::accepted)) {
      exchange.request.peer = rpc::Identity{rpc::Role::user, user_name(*user)};
      return {};
    }
    return fail(Code::invalid_argument, "this page is for the user who runs the process; --insecure opens it to all");
  }
  const gnutls_session_t session = session_of(exchange.connection);
  ShownIdentity shown;
  if (auto certificate = session == nullptr ? std::nullopt : peer_certificate(session))
    shown.certificate = *std::move(certificate);
  else
    shown.token = token_of(exchange.connection);
  if (shown.certificate.empty() && shown.token.empty())
    return fail(
        Code::invalid_argument,
        "show a certificate of this cluster (curl --cert and --key; weft security issue makes one), or a token in the header "
        "Authorization (weft security token issue)");
  WEFT_ASSIGN(exchange.request.peer, shown.check(*options_.security.credentials));
  exchange.shown = std::move(shown);
  return {};
}

/// What is known to be refused before the body has come.
std::optional<Response> ServerImpl::refusal(MHD_Connection* connection, const char* method) const {
  int lengths = 0;
  MHD_get_connection_values(connection, MHD_HEADER_KIND, &count_lengths, &lengths);
  if (lengths > 1) return error_response(400, "the request says more than once how long it is");
  if (const auto length = header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH))
    if (parse_number<std::uint64_t>(*length).value_or(UINT64_MAX) > options_.body_bytes)
      return error_response(413, fmt::format("a request has at most {}", human_bytes(options_.body_bytes)));
  return refused({method, header(connection, MHD_HTTP_HEADER_HOST), header(connection, MHD_HTTP_HEADER_ORIGIN),
                  header(connection, MHD_HTTP_HEADER_CONTENT_TYPE), header(connection, "X-Weft"),
                  header(connection, "Sec-Fetch-Site"), options_.security.encrypted()},
                 loopback_, names_);
}

MHD_Result ServerImpl::receive(Exchange& exchange, const char* data, std::size_t* size) {
  if (*size > 0) {
    if (exchange.request.body.size() + *size > options_.body_bytes) return MHD_NO;  // in chunks, so there was no length to refuse
    exchange.request.body.append(data, *size);
    *size = 0;
    return MHD_YES;
  }
  if (exchange.response) return reply(exchange);
  const std::lock_guard lock(mutex_);
  if (stopping_ || queue_.size() >= options_.queued) {
    exchange.response = error_response(503, stopping_ ? "the server ends" : "too many requests wait; try again");
    return reply(exchange);
  }
  deadlines_.forget(exchange.connection);  // now it waits for us
  MHD_suspend_connection(exchange.connection);
  queue_.push_back(&exchange);
  asked_.notify_one();
  return MHD_YES;
}

MHD_Result ServerImpl::reply(Exchange& exchange) {
  Response& answer = *exchange.response;
  MHD_Response* response = nullptr;
  if (answer.events) {
    deadlines_.forget(exchange.connection);
    response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16u << 10, &read_events,
                                                 new StreamReader{answer.events, exchange.connection, bell_}, &end_reading);
    answer.type = "text/event-stream";
  } else {
    allow(exchange.connection, options_.response);
    response = MHD_create_response_from_buffer(answer.body.size(), answer.body.data(), MHD_RESPMEM_MUST_COPY);
  }
  if (response == nullptr) return MHD_NO;
  for (const auto& [name, value] :
       {std::pair(MHD_HTTP_HEADER_CONTENT_TYPE, answer.type.c_str()), std::pair("Cache-Control", "no-store"),
        std::pair("X-Content-Type-Options", "nosniff"), std::pair("X-Frame-Options", "DENY"),
        std::pair("Referrer-Policy", "no-referrer"),
        std::pair("Content-Security-Policy",
                  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
                  "'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")})
    MHD_add_response_header(response, name, value);
  if (!answer.cookie.empty()) MHD_add_response_header(response, MHD_HTTP_HEADER_SET_COOKIE, answer.cookie.c_str());
  if (answer.status == 401) MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
  if (answer.status == 400) MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");  // what follows is unknown
  if (answer.status == 405) MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD, POST, DELETE");
  const MHD_Result queued = MHD_queue_response(exchange.connection, static_cast<unsigned>(answer.status), response);
  MHD_destroy_response(response);
  return queued;
}

void ServerImpl::on_completed(void* self, MHD_Connection* connection, void** slot, MHD_RequestTerminationCode) {
  delete static_cast<Exchange*>(*slot);
  *slot = nullptr;
  auto& server = *static_cast<ServerImpl*>(self);
  server.allow(connection, server.options_.request);
}

void ServerImpl::on_connection(void* self, MHD_Connection* connection, void** slot, MHD_ConnectionNotificationCode what) {
  auto& server = *static_cast<ServerImpl*>(self);
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    server.allow(connection, server.options_.request);
    if (server.encryption_) server.show_certificate(connection, slot);
  } else {
    server.deadlines_.forget(connection);
    delete static_cast<std::shared_ptr<const ShownCertificate>*>(*slot);
    *slot = nullptr;
  }
}

/// The daemon would go on with what it was started with. The connection keeps what it shows.
void ServerImpl::show_certificate(MHD_Connection* connection, void** slot) {
  const gnutls_session_t session = session_of(connection);
  if (session == nullptr) return;
  auto* const shown = new std::shared_ptr<const ShownCertificate>(encryption_->current());
  (*shown)->use_in(session);
  *slot = shown;
}

void ServerImpl::allow(MHD_Connection* connection, Duration time) {
  const MHD_ConnectionInfo* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  if (info != nullptr) deadlines_.set(connection, info->connect_fd, SystemClock().now() + time);
}

void ServerImpl::answer_requests() {
  std::unique_lock lock(mutex_);
  while (true) {
    asked_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Exchange& exchange = *queue_.front();
    queue_.pop_front();
    const bool stopping = stopping_;
    lock.unlock();
    Response response = stopping ? error_response(503, "the server ends") : answer_to(exchange.request);
    if (is_sign_in(exchange.request)) report(exchange, response);
    lock.lock();
    if (response.events) {
      std::erase_if(streams_, [](const OpenStream& stream) { return stream.events.expired(); });
      streams_.push_back({response.events, exchange.shown});
      if (stopping_) response.events->close();
    }
    exchange.response = std::move(response);
    MHD_resume_connection(exchange.connection);  // from here on the exchange is the daemon's
    bell_.ring();
  }
}

Response ServerImpl::answer_to(const Request& request) {
  try {
    if (is_sign_in(request)) return sign_in(request, *options_.security.credentials);
    return answer_(request);
  } catch (const std::exception& error) {
    Log("http").error("{} {}: {}", request.method, escaped(request.path), error.what());
    return error_response(500, "the server failed; its log tells why");
  }
}

void ServerImpl::watch(const std::stop_token& ended) {
  const Duration step = std::min<Duration>(std::chrono::milliseconds(250), options_.request / 4);
  TimePoint alive = SystemClock().now(), checked = alive;
  std::unique_lock lock(mutex_);
  while (!ended.stop_requested() && !stopping_) {
    stopped_.wait_for(lock, step, [this] { return stopping_; });
    const TimePoint now = SystemClock().now();
    deadlines_.enforce(now);
    if (encryption_ && now - checked >= kCheckStreams) {
      checked = now;
      end_refused_streams(lock);
    }
    if (now - alive < options_.keep_alive) continue;
    alive = now;
    for (const OpenStream& stream : streams_)
      if (const auto events = stream.events.lock()) events->keep_alive();
  }
}

/// Requests are checked one by one, but a stream is one request, however long it lasts. The checks are made without the lock.
void ServerImpl::end_refused_streams(std::unique_lock<std::mutex>& lock) {
  const std::list<OpenStream> open = streams_;
  lock.unlock();
  for (const OpenStream& stream : open) {
    if (stream.shown.check(*options_.security.credentials)) continue;
    if (const auto events = stream.events.lock()) events->close();
  }
  lock.lock();
}

}  // namespace weft::http
