#include "storage/objects/s3_credentials.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"

namespace weft::storage::objects {
namespace {

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
