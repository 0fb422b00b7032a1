// What a restarted master knows of the time before: the samples of the page, as JSON.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "base/json.hpp"
#include "base/json_reader.hpp"
#include "engine/tools/display/json_members.hpp"
#include "engine/tools/web/cluster_samples.hpp"

namespace weft::web {

std::string ClusterSamples::kept(TimePoint now, Duration unix) const {
  const std::lock_guard lock(mutex_);
  const auto bucket_of = [now](JsonWriter& json, const Bucket& bucket) {
    std::vector<double> sums(bucket.sum.sums.begin(), bucket.sum.sums.end());
    tools::members(json, "began_ago", in_seconds(now - bucket.began), "ended_ago", in_seconds(now - bucket.ended), "samples",
                   bucket.samples, "sums", sums);
    for (const auto& [name, of] : kByName) {
      json.key(name).begin_object();
      for (const auto& [one, value] : bucket.sum.*of) json.member(one, value);
      json.end_object();
    }
  };
  const auto span_of = [&](JsonWriter& json, const Span& span) {
    tools::members(json, "span", span.name, "samples", tools::objects(span.buckets, bucket_of));
  };
  const auto event_of = [now](JsonWriter& json, const Event& event) {
    tools::members(json, "ago", in_seconds(now - event.at), "kind", event.kind, "text", event.text, "job", event.job);
  };
  std::vector<std::string> series(kNames.begin(), kNames.end());
  return tools::json_line(tools::object("version", 1, "unix_seconds", in_seconds(unix), "series", series, "spans",
                                        tools::objects(spans_, span_of), "events", tools::objects(events_, event_of)));
}

/// Of what kept() wrote.
class ClusterSamples::Reader {
 public:
  Reader(std::string_view text, TimePoint now, Duration unix) : json_(text, "samples"), now_(now), unix_(in_seconds(unix)) {}

  Result<void> read() {
    WEFT_TRY(json_.object([this](std::string_view member) -> Result<void> {
      if (member == "unix_seconds") return since_kept();
      if (member == "series") return series();
      if (member == "spans") return json_.array([this] { return span(); });
      if (member == "events") return json_.array([this] { return event(); });
      return json_.skip();
    }));
    return json_.finish();
  }

  std::map<std::string, std::deque<Bucket>> spans;
  std::deque<Event> events;

 private:
  Result<void> since_kept() {
    WEFT_ASSIGN(const double then, json_.number());
    since_ = std::max(0.0, unix_ - then);
    return {};
  }
  /// Where each of the sums belongs; nothing: nowhere, in this release.
  Result<void> series() {
    return json_.array([this]() -> Result<void> {
      WEFT_ASSIGN(const std::string name, json_.text());
      const auto known = std::ranges::find(kNames, name);
      places_.push_back(known == kNames.end() ? std::optional<std::size_t>() : static_cast<std::size_t>(known - kNames.begin()));
      return {};
    });
  }
  Result<void> span() {
    std::string name;
    std::deque<Bucket> buckets;
    WEFT_TRY(json_.object([&](std::string_view member) -> Result<void> {
      if (member == "span") {
        WEFT_ASSIGN(name, json_.text());
        return {};
      }
      if (member != "samples") return json_.skip();
      return json_.array([&]() -> Result<void> {
        WEFT_ASSIGN(Bucket one, bucket());
        if (!buckets.empty() && one.began < buckets.back().ended) return fail(json_.error("a sample is older than the one before"));
        buckets.push_back(std::move(one));
        if (buckets.size() > kKept) buckets.pop_front();
        return {};
      });
    }));
    spans[name] = std::move(buckets);
    return {};
  }
  Result<TimePoint> ago() {
    WEFT_ASSIGN(const double seconds, json_.number());
    if (!(seconds >= 0 && seconds < 1e9)) return fail(json_.error("no time that has passed"));
    return now_ - Duration(std::llround((seconds + since_) * 1e9));
  }
  Result<Bucket> bucket() {
    Bucket made;
    WEFT_TRY(json_.object([&](std::string_view member) -> Result<void> {
      if (member == "began_ago" || member == "ended_ago") {
        WEFT_ASSIGN((member == "began_ago" ? made.began : made.ended), ago());
        return {};
      }
      if (member == "samples") {
        WEFT_ASSIGN(made.samples, json_.number());
        return made.samples >= 1 ? Result<void>() : fail(json_.error("no number of samples"));
      }
      if (member == "sums") return sums(made.sum);
      for (const auto& [name, of] : kByName)
        if (member == name) return named(made.sum.*of);
      return json_.skip();
    }));
    if (made.samples < 1 || made.ended < made.began) return fail(json_.error("no sample"));
    return made;
  }
  Result<void> sums(Sample& sample) {
    std::size_t at = 0;
    return json_.array([&]() -> Result<void> {
      WEFT_ASSIGN(const double value, json_.number());
      if (at < places_.size() && places_[at]) sample.sums[*places_[at]] = value;
      ++at;
      return {};
    });
  }
  Result<void> named(Slots& slots) {
    return json_.object([&](std::string_view name) -> Result<void> {
      WEFT_ASSIGN(slots[std::string(name)], json_.number());
      return {};
    });
  }
  Result<void> event() {
    Event made;
    WEFT_TRY(json_.object([&](std::string_view member) -> Result<void> {
      if (member == "ago") {
        WEFT_ASSIGN(made.at, ago());
      } else if (member == "kind") {
        WEFT_ASSIGN(made.kind, json_.text());
      } else if (member == "text") {
        WEFT_ASSIGN(made.text, json_.text());
      } else if (member == "job") {
        WEFT_ASSIGN(const std::int64_t job, json_.integer());
        made.job = static_cast<std::uint64_t>(job);
      } else {
        return json_.skip();
      }
      return {};
    }));
    events.push_back(std::move(made));
    if (events.size() > kMostEvents) events.pop_front();
    return {};
  }

  JsonReader json_;
  const TimePoint now_;
  const double unix_;
  double since_ = 0;  // seconds since they were kept
  std::vector<std::optional<std::size_t>> places_;
};

Result<void> ClusterSamples::restore(std::string_view text, TimePoint now, Duration unix) {
  Reader reader(text, now, unix);
  WEFT_TRY(reader.read());
  const std::lock_guard lock(mutex_);
  for (Span& span : spans_)
    if (const auto found = reader.spans.find(span.name); found != reader.spans.end()) span.buckets = std::move(found->second);
  events_ = std::move(reader.events);
  return {};
}

}  // namespace weft::web
