#include "storage/http/http_client.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/log.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "storage/http/curl.hpp"

namespace weft::storage::http {
namespace {

constexpr Duration kPatienceWithStranger = std::chrono::seconds(5);
constexpr std::size_t kMostHeaders = 200;
constexpr std::size_t kSmallestSpare = 256u << 10;  // smaller ones the allocator keeps itself
constexpr std::size_t kMostSpares = 16, kMostSpareBytes = 32u << 20;

/// One request with all its tries. The engine's thread works on it; done, it belongs to who waits.
struct Job {
  explicit Job(HttpRequest wanted) : request(std::move(wanted)) {}

  HttpRequest request;
  HttpResponse response;
  std::size_t sent = 0;  // of the body
  bool paused = false;   // until a stream has more
  TimePoint moved{};     // when a stream last gave something, or had nothing to give
  std::optional<Error> stream_failure;
  bool too_long = false;
  CURL* handle = nullptr;
  curl_slist* header_list = nullptr;
  char error_text[CURL_ERROR_SIZE] = {};
  std::uint32_t tries = 0;
  TimePoint began{};
  std::atomic<bool> cancelled{false};

  std::mutex mutex;
  std::condition_variable finished;
  std::optional<Result<HttpResponse>> outcome;  // guarded by mutex
  std::string reached;                          // belongs to the thread with the outcome
};

std::size_t take_body(char* bytes, std::size_t, std::size_t count, void* context) {
  Job& job = *static_cast<Job*>(context);
  job.too_long = job.response.body.size() + count > job.request.most_bytes;
  if (job.too_long) return 0;
  job.response.body.append(bytes, count);
  return count;
}

std::size_t take_header(char* bytes, std::size_t, std::size_t count, void* context) {
  Job& job = *static_cast<Job*>(context);
  const std::string_view line(bytes, count);
  if (line.starts_with("HTTP/")) {  // of the last answer, when there are several (100, redirects)
    job.response.headers.clear();
    job.response.body.clear();
  }
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || job.response.headers.size() == kMostHeaders) return count;
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  job.response.headers.emplace_back(std::move(name), std::string(trim(line.substr(colon + 1))));
  return count;
}

std::size_t give_body(char* into, std::size_t size, std::size_t count, void* context) {
  Job& job = *static_cast<Job*>(context);
  const std::size_t some = std::min(size * count, job.request.body.bytes.size() - job.sent);
  std::memcpy(into, job.request.body.bytes.data() + job.sent, some);
  job.sent += some;
  return some;
}

std::size_t give_stream(char* into, std::size_t size, std::size_t count, void* context) {
  Job& job = *static_cast<Job*>(context);
  const auto taken = job.request.stream->take(into, size * count);
  if (!taken) {
    job.stream_failure = taken.error();
    return CURL_READFUNC_ABORT;
  }
  job.moved = SystemClock().now();
  if (taken->bytes != 0 || taken->end) return taken->bytes;
  job.paused = true;
  return CURL_READFUNC_PAUSE;
}

/// After a redirect or on a connection that broke before the answer.
int rewind_body(void* context, curl_off_t offset, int origin) {
  if (origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
  static_cast<Job*>(context)->sent = static_cast<std::size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

long milliseconds(Duration duration) {
  return static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

bool asks_for_less(long status) { return status == 429 || status == 503; }
bool may_pass(long status) { return asks_for_less(status) || status == 408 || status == 500 || status == 502 || status == 504; }
bool may_pass(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return true;
    default:
      return false;
  }
}

class Engine final : public HttpClient {
 public:
  Engine(const Curl& curl, HttpOptions options) : curl_(curl), options_(std::move(options)), width_(options_.most_in_flight) {}
  ~Engine() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    if (thread_.joinable()) {
      curl_.multi_wakeup(multi_);
      thread_.join();
    }
    for (CURL* handle : idle_) curl_.easy_cleanup(handle);
    if (multi_ != nullptr) curl_.multi_cleanup(multi_);
  }
  Result<void> begin() {
    multi_ = curl_.multi_init();
    if (multi_ == nullptr) return fail(Code::resource_exhausted, "there is no memory for network connections");
    curl_.multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(options_.most_in_flight));
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& error) {
      return fail(Code::resource_exhausted, std::string("cannot start a thread for network connections: ") + error.what());
    }
    return {};
  }
  std::unique_ptr<HttpExchange> start(HttpRequest request) override {
    auto job = std::make_shared<Job>(std::move(request));
    {
      const std::lock_guard lock(mutex_);
      arrived_.push_back(job);
    }
    wake();
    return std::make_unique<Exchange>(*this, std::move(job));
  }
  void wake() override { curl_.multi_wakeup(multi_); }
  void recycle(std::string body) override {
    if (body.capacity() < kSmallestSpare) return;
    const std::lock_guard lock(mutex_);
    if (spares_.size() == kMostSpares || spare_bytes_ + body.capacity() > kMostSpareBytes) return;
    body.clear();
    spare_bytes_ += body.capacity();
    spares_.push_back(std::move(body));
  }

 private:
  class Exchange final : public HttpExchange {
   public:
    Exchange(Engine& engine, std::shared_ptr<Job> job) : engine_(engine), job_(std::move(job)) {}
    ~Exchange() override {
      if (waited_) return;
      job_->cancelled = true;
      engine_.curl_.multi_wakeup(engine_.multi_);
    }
    Result<HttpResponse> wait() override {
      std::unique_lock lock(job_->mutex);
      job_->finished.wait(lock, [&] { return job_->outcome.has_value(); });  // each try has a deadline, and so have all together
      waited_ = true;
      return *std::move(job_->outcome);
    }
    const std::string& reached() const override { return job_->reached; }
    bool done() const override {
      const std::lock_guard lock(job_->mutex);
      return job_->outcome.has_value();
    }

   private:
    Engine& engine_;
    const std::shared_ptr<Job> job_;
    bool waited_ = false;
  };

  void run() {
    while (take_arrivals()) {
      launch();
      resume_streams();
      int running = 0;
      curl_.multi_perform(multi_, &running);
      bool ended = false;
      int left = 0;
      while (const CURLMsg* message = curl_.multi_info_read(multi_, &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        end_try(message->easy_handle, message->data.result);
        ended = true;
      }
      drop_cancelled();
      if (!ended) curl_.multi_poll(multi_, nullptr, 0, pause(), nullptr);
    }
    for (auto& [handle, job] : active_) release(*job);
  }
  bool take_arrivals() {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    for (auto& job : arrived_) {
      job->began = now();
      waiting_.push_back(std::move(job));
    }
    arrived_.clear();
    return true;
  }
  /// Those whose pause is over first: they have waited longest.
  void launch() {
    while (active_.size() < static_cast<std::size_t>(width_) + streams_) {
      std::shared_ptr<Job> job;
      if (!paused_.empty() && paused_.begin()->first <= now()) {
        job = std::move(paused_.begin()->second);
        paused_.erase(paused_.begin());
      } else if (!waiting_.empty()) {
        job = std::move(waiting_.front());
        waiting_.pop_front();
      } else {
        return;
      }
      if (!job->cancelled)
        begin_try(std::move(job));
      else if (job->request.stream)
        job->request.stream->ended();
    }
  }
  int pause() const {
    if (paused_.empty() || active_.size() >= static_cast<std::size_t>(width_) + streams_)
      return 1000;  // or until something happens
    return static_cast<int>(std::clamp<std::int64_t>(milliseconds(paused_.begin()->first - now()) + 1, 0, 1000));
  }
  /// Asks those again that had nothing to send, and gives up those that have something and send nothing.
  void resume_streams() {
    if (streams_ == 0) return;
    std::vector<CURL*> stalled;
    for (auto& [handle, job] : active_) {
      if (!job->request.stream) continue;
      if (std::exchange(job->paused, false))
        curl_.easy_pause(handle, CURLPAUSE_CONT);  // asks the stream at once, and may pause again
      else if (now() - job->moved > options_.stall_timeout)
        stalled.push_back(handle);
    }
    for (CURL* const handle : stalled) end_try(handle, CURLE_OPERATION_TIMEDOUT);
  }
  void drop_cancelled() {
    for (auto at = active_.begin(); at != active_.end();) {
      if (at->second->cancelled) {
        release(*at->second);
        if (at->second->request.stream) at->second->request.stream->ended();
        at = active_.erase(at);
      } else {
        ++at;
      }
    }
  }

  void begin_try(std::shared_ptr<Job> job) {
    job->handle = idle_.empty() ? curl_.easy_init() : idle_.back();
    if (!idle_.empty()) idle_.pop_back();
    if (job->handle == nullptr) return finish(*job, fail(Code::resource_exhausted, "there is no memory for network connections"));
    ++job->tries;
    job->response = {};
    job->response.body = room_for(std::min(job->request.likely_bytes, job->request.most_bytes));
    job->sent = 0;
    job->too_long = false;
    job->error_text[0] = '\0';
    job->paused = false;
    job->moved = now();
    if (job->request.stream) ++streams_;
    set_options(*job);
    curl_.multi_add_handle(multi_, job->handle);
    active_.emplace(job->handle, std::move(job));
  }
  std::string room_for(std::uint64_t bytes) {
    if (bytes >= kSmallestSpare) {
      const std::lock_guard lock(mutex_);
      // The one that was read last: the processor's cache may still have it.
      const auto fits =
          std::find_if(spares_.rbegin(), spares_.rend(), [&](const std::string& spare) { return spare.capacity() >= bytes; });
      if (fits != spares_.rend()) {
        std::string spare = std::move(*fits);
        spares_.erase(std::next(fits).base());
        spare_bytes_ -= spare.capacity();
        return spare;
      }
    }
    std::string fresh;
    fresh.reserve(bytes);
    return fresh;
  }
  void set_options(Job& job) {
    CURL* const handle = job.handle;
    const auto set = [&](CURLoption option, auto value) { curl_.easy_setopt(handle, option, value); };
    curl_.easy_reset(handle);
    set(CURLOPT_URL, job.request.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_FOLLOWLOCATION, job.request.follow ? 1L : 0L);
    set(CURLOPT_MAXREDIRS, 5L);
    set(CURLOPT_FRESH_CONNECT, job.request.fresh_connection ? 1L : 0L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_BUFFERSIZE, 128L << 10);  // what is received stays in the processor's cache until it is copied
    set(CURLOPT_UPLOAD_BUFFERSIZE, 512L << 10);
    set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(options_.connect_timeout));
    if (!job.request.stream) {  // those wait for their writer: resume_streams() looks after them
      set(CURLOPT_LOW_SPEED_LIMIT, 1L);
      set(CURLOPT_LOW_SPEED_TIME, std::max(1L, milliseconds(options_.stall_timeout) / 1000));
      set(CURLOPT_TIMEOUT_MS, std::max(300'000L, milliseconds(options_.patience)));
    }
    set(CURLOPT_ERRORBUFFER, job.error_text);
    set(CURLOPT_WRITEFUNCTION, &take_body);
    set(CURLOPT_WRITEDATA, static_cast<void*>(&job));
    set(CURLOPT_HEADERFUNCTION, &take_header);
    set(CURLOPT_HEADERDATA, static_cast<void*>(&job));
    if (!options_.certificates.empty()) set(CURLOPT_CAINFO, options_.certificates.c_str());
    if (options_.direct) set(CURLOPT_NOPROXY, "*");
    for (const std::string& header : job.request.headers) add_header(job, header);
    if (job.request.signer) sign(job, *job.request.signer);
    set(CURLOPT_HTTPHEADER, job.header_list);
    set_method(job);
  }
  void sign(Job& job, const Signer& signer) {
    const auto set = [&](CURLoption option, const std::string& value) { curl_.easy_setopt(job.handle, option, value.c_str()); };
    set(CURLOPT_AWS_SIGV4, "aws:amz:" + signer.region + ":s3");
    set(CURLOPT_USERNAME, signer.access_key);
    set(CURLOPT_PASSWORD, signer.secret_key);
    if (!signer.session_token.empty()) add_header(job, "x-amz-security-token: " + signer.session_token);
  }
  void add_header(Job& job, const std::string& header) { job.header_list = curl_.slist_append(job.header_list, header.c_str()); }
  void set_method(Job& job) {
    const auto set = [&](CURLoption option, auto value) { curl_.easy_setopt(job.handle, option, value); };
    const std::string& method = job.request.method;
    const auto size = static_cast<curl_off_t>(job.request.body.bytes.size());
    if (method == "HEAD") {
      set(CURLOPT_NOBODY, 1L);
    } else if (method == "PUT" && job.request.stream) {
      set(CURLOPT_UPLOAD, 1L);
      set(CURLOPT_READFUNCTION, &give_stream);
      set(CURLOPT_READDATA, static_cast<void*>(&job));
    } else if (method == "PUT") {
      set(CURLOPT_UPLOAD, 1L);
      set(CURLOPT_INFILESIZE_LARGE, size);
      set(CURLOPT_READFUNCTION, &give_body);
      set(CURLOPT_READDATA, static_cast<void*>(&job));
      set(CURLOPT_SEEKFUNCTION, &rewind_body);
      set(CURLOPT_SEEKDATA, static_cast<void*>(&job));
    } else if (method == "POST") {
      set(CURLOPT_POST, 1L);
      set(CURLOPT_POSTFIELDS, size == 0 ? "" : reinterpret_cast<const char*>(job.request.body.bytes.data()));
      set(CURLOPT_POSTFIELDSIZE_LARGE, size);
    } else if (method != "GET") {
      set(CURLOPT_CUSTOMREQUEST, method.c_str());
    }
  }
  void release(Job& job) {
    if (job.request.stream) --streams_;
    curl_.multi_remove_handle(multi_, job.handle);
    curl_.slist_free_all(std::exchange(job.header_list, nullptr));
    idle_.push_back(std::exchange(job.handle, nullptr));
  }

  void end_try(CURL* handle, CURLcode code) {
    const auto node = active_.extract(handle);
    if (!node) return;
    const std::shared_ptr<Job> job = node.mapped();
    curl_.easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &job->response.status);
    const char* reached = nullptr;
    curl_.easy_getinfo(handle, CURLINFO_EFFECTIVE_URL, &reached);
    job->reached = reached == nullptr ? job->request.url : without_user(reached);
    release(*job);
    const bool answered = code == CURLE_OK;
    if (answered && !may_pass(job->response.status)) known_ = true;
    adapt(answered ? job->response.status : 0);
    const bool last = job->request.stream != nullptr || job->tries == job->request.most_tries;
    const bool again = !last && (answered ? may_pass(job->response.status) : may_pass(code));
    const Duration patience = known_ || answered ? options_.patience : std::min(options_.patience, kPatienceWithStranger);
    const Duration wait = pause_before_next(*job);
    if (again && now() - job->began + wait < patience) {
      Log("http").debug("{} {} is tried again: {}", job->request.method, job->request.url.substr(0, job->request.url.find('?')),
                        answered ? std::to_string(job->response.status) : curl_.easy_strerror(code));
      paused_.emplace(now() + wait, job);
      return;
    }
    job->response.tries = job->tries;
    if (answered) return finish(*job, std::move(job->response));
    finish(*job, fail(failure(*job, code)));
  }
  /// Additive increase, multiplicative decrease; at most once in the time that those under way take to hear of it.
  void adapt(long status) {
    if (asks_for_less(status)) {
      if (now() - slowed_ < std::chrono::milliseconds(200)) return;
      slowed_ = now();
      width_ = std::max(1.0, width_ / 2);
    } else if (status != 0 && width_ < options_.most_in_flight) {
      width_ += 1 / width_;
    }
  }
  Duration pause_before_next(const Job& job) {
    const auto doubled = options_.first_pause * (std::int64_t{1} << std::min(job.tries, 12u));
    const Duration most = std::min<Duration>(doubled, options_.longest_pause);
    const Duration drawn(static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most.count()) + 1)));
    const auto asked = parse_number<std::uint32_t>(job.response.header("retry-after"));
    // MinIO says a minute whatever the reason.
    return asked ? std::min<Duration>(std::chrono::seconds(*asked), most) + drawn / 4 : drawn;
  }
  /// libcurl writes who signs, and the secret, into URLs that it was redirected to. Nobody shall see them.
  static std::string without_user(std::string url) {
    const auto host = url.find("://");
    if (host == std::string::npos) return url;
    const auto at = url.rfind('@', url.find_first_of("/?#", host + 3));
    if (at != std::string::npos && at > host) url.erase(host + 3, at - (host + 2));
    return url;
  }
  static std::string server_of(const std::string& url) { return url.substr(0, url.find('/', url.find("://") + 3)); }
  Error failure(const Job& job, CURLcode code) const {
    const std::string server = server_of(job.reached);
    const std::string why = job.error_text[0] != '\0' ? job.error_text : curl_.easy_strerror(code);
    if (job.stream_failure) return *job.stream_failure;
    if (job.too_long)
      return {Code::corrupt,
              server + " sends more than the " + std::to_string(job.request.most_bytes) + " bytes that were requested"};
    switch (code) {
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_SSL_CACERT_BADFILE:
        return {Code::invalid_argument, "the certificate of " + server + " is not trusted (" + why +
                                            "); name the file of its authority with " + options_.certificate_setting};
      case CURLE_TOO_MANY_REDIRECTS:
        return {Code::invalid_argument,
                server + " redirects again and again; check " + options_.server_setting + options_.redirect_hint};
      case CURLE_OPERATION_TIMEDOUT:
        return {Code::deadline_exceeded, server + " does not answer: " + why};
      case CURLE_COULDNT_RESOLVE_HOST:
      case CURLE_COULDNT_CONNECT:
        return {Code::unavailable,
                "cannot reach " + server + " (" + why + "); " + options_.server_setting + " says where the server is"};
      default:
        return {Code::unavailable, "the connection to " + server + " failed: " + why};
    }
  }
  static void finish(Job& job, Result<HttpResponse> outcome) {
    if (job.request.stream) job.request.stream->ended();
    const std::lock_guard lock(job.mutex);
    job.outcome = std::move(outcome);
    job.finished.notify_all();
  }
  static TimePoint now() { return SystemClock().now(); }

  const Curl& curl_;
  const HttpOptions options_;
  CURLM* multi_ = nullptr;
  std::thread thread_;

  std::mutex mutex_;  // guards these four
  std::deque<std::shared_ptr<Job>> arrived_;
  bool stopping_ = false;
  std::vector<std::string> spares_;  // empty, with room
  std::size_t spare_bytes_ = 0;

  // The engine's thread only.
  std::deque<std::shared_ptr<Job>> waiting_;
  std::multimap<TimePoint, std::shared_ptr<Job>> paused_;
  std::map<CURL*, std::shared_ptr<Job>> active_;
  std::vector<CURL*> idle_;
  Random random_{static_cast<std::uint64_t>(now().time_since_epoch().count())};
  double width_;             // so many may be under way
  std::size_t streams_ = 0;  // and these besides
  TimePoint slowed_{};       // when the server asked for less last
  bool known_ = false;       // it has answered before
};

}  // namespace

std::string HttpResponse::header(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& header) { return header.first == name; });
  return found == headers.end() ? std::string() : found->second;
}

Result<std::unique_ptr<HttpClient>> HttpClient::open(HttpOptions options) {
  WEFT_ASSIGN(const Curl* const curl, load_curl());
  auto engine = std::make_unique<Engine>(*curl, std::move(options));
  WEFT_TRY(engine->begin());
  return std::unique_ptr<HttpClient>(std::move(engine));
}

}  // namespace weft::storage::http
