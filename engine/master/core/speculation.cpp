#include "engine/master/core/speculation.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "schedulers/config/options.hpp"

namespace weft::master {

Result<Speculation> parse_speculation(std::string_view text) {
  const auto read = [&]() -> Result<Speculation> {
    WEFT_ASSIGN(const schedulers::SpecText spec, schedulers::parse_spec(text));
    if (spec.name != "on" && spec.name != "off") return fail(Code::invalid_argument, "say on, off, or on(slower=2, …)");
    WEFT_ASSIGN(auto options, schedulers::Options::parse(spec.options, {}));
    Speculation made;
    made.on = spec.name == "on";
    if (made.on) {
      WEFT_ASSIGN(made.slower, options.number("slower", made.slower, 1, 1e6));
      WEFT_ASSIGN(made.shortest, options.duration("shortest", made.shortest));
      WEFT_ASSIGN(made.finished, options.number("finished", made.finished, 0, 1));
      WEFT_ASSIGN(made.every, options.duration("every", made.every));
      WEFT_ASSIGN(made.per_job, options.number("per_job", made.per_job, 0, 1));
      WEFT_ASSIGN(made.per_cluster, options.number("per_cluster", made.per_cluster, 0, 1));
      WEFT_ASSIGN(made.slow_node, options.number("slow_node", made.slow_node, 1, 1e6));
    }
    WEFT_TRY(options.done());
    constexpr schedulers::Time kLeast = std::chrono::milliseconds(1), kMost = std::chrono::hours(1000);
    if (made.every < kLeast || made.every > kMost) return fail(Code::invalid_argument, "every must be from 1ms to 1000h");
    if (made.shortest > kMost) return fail(Code::invalid_argument, "shortest must be at most 1000h");
    return made;
  };
  auto parsed = read();
  if (!parsed) return fail(std::move(parsed).error().wrap(fmt::format("speculation '{}'", escaped(text))));
  return parsed;
}

std::string to_string(const Speculation& speculation) {
  if (!speculation.on) return "off";
  if (speculation == Speculation{.on = true}) return "on";
  return fmt::format("on(slower={}, shortest={}, finished={}, every={}, per_job={}, per_cluster={}, slow_node={})",
                     speculation.slower, format_duration(speculation.shortest), speculation.finished,
                     format_duration(speculation.every), speculation.per_job, speculation.per_cluster, speculation.slow_node);
}

}  // namespace weft::master
