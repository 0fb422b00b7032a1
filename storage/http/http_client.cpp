#include "storage/http/http_client.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/log.hpp"
#include "base/text.hpp"
#include "storage/http/adaptive_limit.hpp"
#include "storage/http/backoff.hpp"
#include "storage/http/body_pool.hpp"
#include "storage/http/curl_request.hpp"

namespace weft::storage::http {
namespace {

constexpr Duration kLongestPoll = std::chrono::seconds(1);

/// One exchange with all its tries. The client's thread works on it until it has an outcome.
struct ExchangeState {
  ExchangeState(const Curl& library, const HttpOptions& options, HttpRequest wanted) : curl(library, options, std::move(wanted)) {}

  CurlRequest curl;
  std::uint32_t tries = 0;
  TimePoint began{};
  std::atomic<bool> cancelled{false};

  std::mutex mutex;
  std::condition_variable finished;
  std::optional<Result<HttpResponse>> outcome;  // guarded by mutex

  void finish(Result<HttpResponse> with) {
    end_stream();
    const std::lock_guard lock(mutex);
    outcome = std::move(with);
    finished.notify_all();
  }
  void end_stream() {
    if (curl.streams()) curl.wanted().stream->ended();
  }
};

bool may_pass(const HttpResponse& answer, const HttpRequest& wanted) {
  const long status = answer.status;
  return is_throttled(status) || status == 408 || status == 500 || status == 502 || status == 504 ||
         (wanted.is_passing != nullptr && wanted.is_passing(answer));
}

class CurlClient final : public HttpClient {
 public:
  CurlClient(const Curl& curl, HttpOptions options)
      : curl_(curl), options_(std::move(options)), limit_(options_.most_in_flight), backoff_(options_) {}
  ~CurlClient() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    if (thread_.joinable()) {
      wake();
      thread_.join();
    }
    for (CURL* handle : idle_) curl_.easy_cleanup(handle);
    if (multi_ != nullptr) curl_.multi_cleanup(multi_);
  }
  Result<void> begin() {
    multi_ = curl_.multi_init();
    if (multi_ == nullptr) return fail(no_memory());
    curl_.multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(options_.most_in_flight));
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& error) {
      return fail(Code::resource_exhausted, std::string("cannot start a thread for network connections: ") + error.what());
    }
    return {};
  }
  std::unique_ptr<HttpExchange> start(HttpRequest request) override {
    auto exchange = std::make_shared<ExchangeState>(curl_, options_, std::move(request));
    {
      const std::lock_guard lock(mutex_);
      arrived_.push_back(exchange);
    }
    wake();
    return std::make_unique<Exchange>(*this, std::move(exchange));
  }
  void wake() override { curl_.multi_wakeup(multi_); }
  void recycle(std::string body) override { bodies_.put(std::move(body)); }

 private:
  class Exchange final : public HttpExchange {
   public:
    Exchange(CurlClient& client, std::shared_ptr<ExchangeState> state) : client_(client), state_(std::move(state)) {}
    ~Exchange() override {
      if (waited_) return;
      state_->cancelled = true;
      client_.wake();
    }
    Result<HttpResponse> wait() override {
      std::unique_lock lock(state_->mutex);
      state_->finished.wait(lock, [&] { return state_->outcome.has_value(); });  // the tries have deadlines
      waited_ = true;
      return *std::move(state_->outcome);
    }
    const std::string& reached() const override { return state_->curl.reached(); }
    bool done() const override {
      const std::lock_guard lock(state_->mutex);
      return state_->outcome.has_value();
    }

   private:
    CurlClient& client_;
    const std::shared_ptr<ExchangeState> state_;
    bool waited_ = false;
  };

  void run() {
    while (take_arrivals()) {
      launch();
      keep_streaming();
      int running = 0;
      curl_.multi_perform(multi_, &running);
      const bool ended = end_tries();
      drop_cancelled();
      if (!ended) curl_.multi_poll(multi_, nullptr, 0, milliseconds_to_poll(), nullptr);
    }
    for (auto& [handle, exchange] : active_) release(*exchange);
  }
  bool take_arrivals() {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    for (auto& exchange : arrived_) {
      exchange->began = now();
      waiting_.push_back(std::move(exchange));
    }
    arrived_.clear();
    return true;
  }
  bool is_full() const { return active_.size() >= limit_.limit() + streams_; }
  void launch() {
    while (!is_full()) {
      const auto next = take_next();
      if (!next) return;
      if (next->cancelled)
        next->end_stream();
      else
        begin_try(next);
    }
  }
  /// Those whose pause is over come first: they have waited longest.
  std::shared_ptr<ExchangeState> take_next() {
    std::shared_ptr<ExchangeState> next;
    if (!paused_.empty() && paused_.begin()->first <= now()) {
      next = std::move(paused_.begin()->second);
      paused_.erase(paused_.begin());
    } else if (!waiting_.empty()) {
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    return next;
  }
  int milliseconds_to_poll() const {  // or until something happens
    const Duration pause = paused_.empty() || is_full() ? kLongestPoll : paused_.begin()->first - now();
    const auto count = std::chrono::duration_cast<std::chrono::milliseconds>(std::min(pause, kLongestPoll)).count() + 1;
    return static_cast<int>(std::max<std::int64_t>(count, 0));
  }
  void keep_streaming() {
    if (streams_ == 0) return;
    std::vector<CURL*> stalled;
    for (auto& [handle, exchange] : active_)
      if (exchange->curl.streams() && !exchange->curl.keep_streaming()) stalled.push_back(handle);
    for (CURL* const handle : stalled) end_try(handle, CURLE_OPERATION_TIMEDOUT);
  }
  bool end_tries() {
    bool ended = false;
    int left = 0;
    while (const CURLMsg* message = curl_.multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      end_try(message->easy_handle, message->data.result);
      ended = true;
    }
    return ended;
  }
  void drop_cancelled() {
    std::erase_if(active_, [&](auto& entry) {
      if (!entry.second->cancelled) return false;
      release(*entry.second);
      entry.second->end_stream();
      return true;
    });
  }

  void begin_try(const std::shared_ptr<ExchangeState>& exchange) {
    CURL* const handle = idle_.empty() ? curl_.easy_init() : idle_.back();
    if (!idle_.empty()) idle_.pop_back();
    if (handle == nullptr) return exchange->finish(fail(no_memory()));
    ++exchange->tries;
    if (exchange->curl.streams()) ++streams_;
    const HttpRequest& wanted = exchange->curl.wanted();
    exchange->curl.begin(multi_, handle, bodies_.take(std::min(wanted.likely_bytes, wanted.most_bytes)));
    active_.emplace(handle, exchange);
  }
  void release(ExchangeState& exchange) {
    if (exchange.curl.streams()) --streams_;
    idle_.push_back(exchange.curl.end(multi_));
  }

  void end_try(CURL* handle, CURLcode code) {
    const auto node = active_.extract(handle);
    if (!node) return;
    const std::shared_ptr<ExchangeState> exchange = node.mapped();
    release(*exchange);
    HttpResponse& response = exchange->curl.response();
    const bool answered = code == CURLE_OK;
    if (answered) limit_.answered(response.status, now());
    if (answered ? may_pass(response, exchange->curl.wanted()) : http::may_pass(code)) {
      if (pause_for_another_try(exchange, code)) return;
    } else if (answered) {
      known_ = true;
    }
    response.tries = exchange->tries;
    exchange->finish(answered ? Result<HttpResponse>(std::move(response)) : fail(exchange->curl.failure(code)));
  }
  /// False when it is given up.
  bool pause_for_another_try(const std::shared_ptr<ExchangeState>& exchange, CURLcode code) {
    const bool answered = code == CURLE_OK;
    const HttpRequest& wanted = exchange->curl.wanted();
    if (exchange->curl.streams() || exchange->tries == wanted.most_tries) return false;
    const Duration pause = pause_after(*exchange);
    if (now() - exchange->began + pause >= patience_with(options_, known_ || answered)) return false;
    Log("http").debug("{} {} is tried again: {}", wanted.method, wanted.url.substr(0, wanted.url.find('?')),
                      answered ? std::to_string(exchange->curl.response().status) : curl_.easy_strerror(code));
    paused_.emplace(now() + pause, exchange);
    return true;
  }
  Duration pause_after(ExchangeState& exchange) {
    const Duration drawn = backoff_.draw(exchange.tries), longest = backoff_.longest(exchange.tries);
    const auto asked = parse_number<std::uint32_t>(exchange.curl.response().header("retry-after"));
    // MinIO says a minute whatever the reason.
    return asked ? std::min<Duration>(std::chrono::seconds(*asked), longest) + drawn / 4 : drawn;
  }

  static Error no_memory() { return {Code::resource_exhausted, "there is no memory for network connections"}; }
  static TimePoint now() { return SystemClock().now(); }

  const Curl& curl_;
  const HttpOptions options_;
  CURLM* multi_ = nullptr;
  std::thread thread_;
  BodyPool bodies_;

  std::mutex mutex_;  // guards these two
  std::deque<std::shared_ptr<ExchangeState>> arrived_;
  bool stopping_ = false;

  // The client's thread only.
  std::deque<std::shared_ptr<ExchangeState>> waiting_;
  std::multimap<TimePoint, std::shared_ptr<ExchangeState>> paused_;
  std::map<CURL*, std::shared_ptr<ExchangeState>> active_;
  std::vector<CURL*> idle_;
  AdaptiveLimit limit_;  // of those in active_ that do not stream
  Backoff backoff_;
  std::size_t streams_ = 0;  // in active_
  bool known_ = false;       // the server has answered before
};

}  // namespace

std::string HttpResponse::header(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& header) { return header.first == name; });
  return found == headers.end() ? std::string() : found->second;
}

Result<std::unique_ptr<HttpClient>> HttpClient::open(HttpOptions options) {
  WEFT_ASSIGN(const Curl* const curl, load_curl());
  auto client = std::make_unique<CurlClient>(*curl, std::move(options));
  WEFT_TRY(client->begin());
  return std::unique_ptr<HttpClient>(std::move(client));
}

}  // namespace weft::storage::http
