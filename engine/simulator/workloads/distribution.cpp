#include "engine/simulator/workloads/distribution.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <fmt/core.h>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "engine/simulator/workloads/settings.hpp"

namespace weft::simulator::workloads {

namespace {

constexpr double kMost = 1e18;

Result<double> read_value(std::string_view text, Unit unit) {
  if (unit == Unit::bytes) {
    WEFT_ASSIGN(const auto bytes, parse_size(text));
    return static_cast<double>(bytes);
  }
  if (unit == Unit::seconds) {
    WEFT_ASSIGN(const Duration duration, parse_duration(text));
    return in_seconds(duration);
  }
  const auto value = parse_number<double>(trim(text));
  if (value && *value >= 0 && *value <= kMost) return *value;
  return fail(Code::invalid_argument, fmt::format("'{}' is not a number of at least 0", escaped(text)));
}

double standard_normal(Random& random) {  // Box and Muller
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

}  // namespace

Distribution Distribution::constant(double value) {
  Distribution distribution;
  distribution.values_ = {value};
  return distribution;
}

Result<Distribution> Distribution::parse(std::string_view text, Unit unit) {
  struct Form {
    std::string_view name;
    Kind kind;
    std::size_t least, most;
    bool plain_second;  // the second argument is a plain number
  };
  constexpr std::array<Form, 7> kForms{{{"choice", Kind::choice, 1, 1000, false},
                                        {"uniform", Kind::uniform, 2, 2, false},
                                        {"exponential", Kind::exponential, 1, 1, false},
                                        {"normal", Kind::normal, 2, 2, false},
                                        {"lognormal", Kind::lognormal, 2, 2, true},
                                        {"pareto", Kind::pareto, 2, 3, true},
                                        {"bins", Kind::bins, 1, 1000, false}}};
  Distribution result;
  if (text.find('(') == std::string_view::npos) {
    WEFT_ASSIGN(const double value, read_value(text, unit));
    return constant(value);
  }
  WEFT_ASSIGN(const Call call, parse_call(text));
  const auto form = std::find_if(kForms.begin(), kForms.end(), [&](const Form& one) { return one.name == call.name; });
  if (form == kForms.end() || call.arguments.size() < form->least || call.arguments.size() > form->most) {
    return fail(Code::invalid_argument,
                fmt::format("'{}' is no distribution (write 5, uniform(1,10), exponential(5), normal(5,1), lognormal(5,1.5), "
                            "pareto(1,1.5), choice(1,2,4) or bins(80:1..10,20:10..100))",
                            escaped(text)));
  }
  result.kind_ = form->kind;
  if (form->kind == Kind::bins) {
    WEFT_TRY(result.read_bins(call.arguments, unit));
    return result;
  }
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    WEFT_ASSIGN(const double value, read_value(call.arguments[i], i == 1 && form->plain_second ? Unit::number : unit));
    result.values_.push_back(value);
  }
  if (form->kind == Kind::uniform && result.values_[0] > result.values_[1]) {
    return fail(Code::invalid_argument, fmt::format("'{}': the first number must not be the larger one", escaped(text)));
  }
  if (form->kind == Kind::pareto && result.values_[1] <= 0) {
    return fail(Code::invalid_argument, fmt::format("'{}': alpha must be greater than 0", escaped(text)));
  }
  return result;
}

Result<void> Distribution::read_bins(const std::vector<std::string>& arguments, Unit unit) {
  double all = 0;
  for (const auto& argument : arguments) {
    const std::size_t colon = argument.find(':'), dots = argument.find("..");
    if (colon == std::string::npos || dots == std::string::npos || dots < colon) {
      return fail(Code::invalid_argument, fmt::format("'{}' is no bin: write WEIGHT:LOW..HIGH", escaped(argument)));
    }
    Bin bin;
    WEFT_ASSIGN(bin.weight, read_value(std::string_view(argument).substr(0, colon), Unit::number));
    WEFT_ASSIGN(bin.low, read_value(std::string_view(argument).substr(colon + 1, dots - colon - 1), unit));
    WEFT_ASSIGN(bin.high, read_value(std::string_view(argument).substr(dots + 2), unit));
    if (bin.low > bin.high) return fail(Code::invalid_argument, fmt::format("'{}': LOW is larger than HIGH", escaped(argument)));
    all += bin.weight;
    bins_.push_back(bin);
  }
  if (all <= 0) return fail(Code::invalid_argument, "the weights of bins must not all be 0");
  return {};
}

double Distribution::draw_bin(Random& random) const {
  double all = 0;
  for (const Bin& bin : bins_) all += bin.weight;
  double at = random.uniform() * all;
  const Bin* chosen = &bins_.back();
  for (const Bin& bin : bins_) {
    if (at < bin.weight) {
      chosen = &bin;
      break;
    }
    at -= bin.weight;
  }
  return chosen->low + random.uniform() * (chosen->high - chosen->low);
}

double Distribution::draw(Random& random) const { return std::clamp(draw_unbounded(random), 0.0, kMost); }

double Distribution::draw_unbounded(Random& random) const {
  switch (kind_) {
    case Kind::choice:
      return values_[values_.size() == 1 ? 0 : random.below(values_.size())];
    case Kind::uniform:
      return values_[0] + random.uniform() * (values_[1] - values_[0]);
    case Kind::exponential:
      return -values_[0] * std::log(1 - random.uniform());
    case Kind::normal:
      return values_[0] + values_[1] * standard_normal(random);
    case Kind::lognormal:
      return values_[0] * std::exp(values_[1] * standard_normal(random));
    case Kind::pareto: {
      const double value = values_[0] / std::pow(1 - random.uniform(), 1 / values_[1]);
      return values_.size() == 3 ? std::min(value, values_[2]) : value;
    }
    case Kind::bins:
      return draw_bin(random);
  }
  return 0;
}

Duration exponential(Random& random, Duration mean) {
  return Duration(std::llround(-static_cast<double>(mean.count()) * std::log(1 - random.uniform())));
}

}  // namespace weft::simulator::workloads
