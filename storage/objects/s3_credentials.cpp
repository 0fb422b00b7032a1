#include "storage/objects/s3_credentials.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "storage/objects/s3_errors.hpp"

namespace weft::storage::objects {
namespace {

using http::HttpClient;
using http::HttpExchange;
using http::HttpRequest;
using http::HttpResponse;
using http::Signer;

constexpr Duration kMostEarly = std::chrono::minutes(5);      // before they expire
constexpr Duration kAfterFailure = std::chrono::seconds(10);  // at most
constexpr Duration kBetweenForced = std::chrono::seconds(1);

std::shared_ptr<const Signer> signer_of(S3Keys keys, const std::string& region) {
  if (keys.access_key.empty()) return nullptr;
  return std::make_shared<const Signer>(
      Signer{std::move(keys.access_key), std::move(keys.secret_key), std::move(keys.session_token), "aws:amz:" + region + ":s3"});
}

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

/// A request for which there were no keys.
class FailedExchange final : public HttpExchange {
 public:
  explicit FailedExchange(Error error) : error_(std::move(error)) {}
  Result<HttpResponse> wait() override { return fail(std::move(error_)); }
  const std::string& reached() const override { return nowhere_; }
  bool done() const override { return true; }

 private:
  Error error_;
  const std::string nowhere_{};
};

/// Whether other keys may help: services say it in several ways when they know the keys no longer.
bool keys_are_refused(const HttpResponse& answer, const HttpRequest& request) {
  if (answer.status != 400 && answer.status != 401 && answer.status != 403) return false;
  if (request.method == "HEAD") return false;  // its answer does not say why
  const std::string word = s3_error_code(answer);
  if (word == "ExpiredToken" || word == "TokenRefreshRequired") return true;
  return !request.signer->session_token.empty() &&
         (word == "InvalidToken" || word == "InvalidTokenId" || word == "InvalidAccessKeyId");
}

/// A request that is sent once more when its keys have expired and there are others.
class RenewingExchange final : public HttpExchange {
 public:
  RenewingExchange(HttpClient& http, S3Credentials& credentials, HttpRequest request)
      : http_(http), credentials_(credentials), request_(std::move(request)), under_way_(http.start(request_)) {}
  Result<HttpResponse> wait() override {
    auto answer = under_way_->wait();
    if (!answer || !request_.signer || !keys_are_refused(*answer, request_)) return answer;
    auto other = credentials_.after(request_.signer);
    if (!other) return fail(std::move(other).error().wrap("the keys have expired and there are no new ones"));
    if (!*other) return answer;
    request_.signer = *std::move(other);
    under_way_ = http_.start(request_);
    return under_way_->wait();
  }
  const std::string& reached() const override { return under_way_->reached(); }
  bool done() const override { return under_way_->done(); }

 private:
  HttpClient& http_;
  S3Credentials& credentials_;
  HttpRequest request_;
  std::unique_ptr<HttpExchange> under_way_;
};

}  // namespace

S3Credentials::S3Credentials(S3Keys keys, std::string region)
    : region_(std::move(region)), clock_(system_clock()), signer_(signer_of(std::move(keys), region_)) {}

S3Credentials::S3Credentials(std::shared_ptr<KeySource> source, std::string region, const Clock& clock)
    : source_(std::move(source)), region_(std::move(region)), clock_(clock) {}

Result<std::shared_ptr<const Signer>> S3Credentials::signer() {
  std::unique_lock lock(mutex_);
  if (!source_) return signer_;
  while (true) {
    const TimePoint now = clock_.now();
    const bool good = signer_ && !expired(now);
    if (good && (fetching_ || !expires_ || now < fetch_again_)) return signer_;
    if (!fetching_) return fetched(lock);
    fetch_ended_.wait(lock);  // a fetch has deadlines
  }
}

std::unique_ptr<HttpExchange> S3Credentials::start(HttpClient& http, HttpRequest request) {
  auto now = signer();
  if (!now) return std::make_unique<FailedExchange>(std::move(now).error());
  request.signer = *std::move(now);
  if (!source_) return http.start(std::move(request));
  return std::make_unique<RenewingExchange>(http, *this, std::move(request));
}

Result<std::shared_ptr<const Signer>> S3Credentials::after(const std::shared_ptr<const Signer>& refused) {
  std::unique_lock lock(mutex_);
  if (!source_ || !refused) return nullptr;
  while (fetching_) fetch_ended_.wait(lock);
  const TimePoint now = clock_.now();
  if (signer_ == refused && (!last_forced_ || now - *last_forced_ >= kBetweenForced)) {
    last_forced_ = now;
    expires_ = now;
    WEFT_TRY(fetched(lock));
  }
  if (signer_ == refused || !signer_) return nullptr;
  return signer_->access_key == refused->access_key && signer_->session_token == refused->session_token ? nullptr : signer_;
}

Result<std::shared_ptr<const Signer>> S3Credentials::fetched(std::unique_lock<std::mutex>& lock) {
  fetching_ = true;
  lock.unlock();
  Result<S3Keys> keys = source_->fetch();
  lock.lock();
  fetching_ = false;
  fetch_ended_.notify_all();
  const TimePoint now = clock_.now();
  if (!keys) {
    if (!signer_ || expired(now)) return fail(std::move(keys).error());
    Log("objects").warn("{}; the keys that expire in {} s are used meanwhile", keys.error().to_string(),
                        static_cast<std::int64_t>(in_seconds(*expires_ - now)));
    fetch_again_ = now + std::min(kAfterFailure, (*expires_ - now) / 2);
    return signer_;
  }
  expires_.reset();
  if (keys->lifetime) {
    expires_ = now + *keys->lifetime;
    fetch_again_ = *expires_ - std::min(kMostEarly, *keys->lifetime / 4);
  }
  signer_ = signer_of(*std::move(keys), region_);
  return signer_;
}

}  // namespace weft::storage::objects
