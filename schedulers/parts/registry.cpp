#include "schedulers/parts/registry.hpp"

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "schedulers/parts/composed.hpp"

namespace weft::schedulers {

namespace {

/// A longer text is refused (it could nest deeply).
constexpr std::size_t kMaxSpec = 4096;

bool is_scheduler_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

/// What factory(options) makes; an option that it does not take is an error.
template <class Make>
auto made_by(Make&& factory, const SpecText& spec, const FileReader& reader) -> std::invoke_result_t<Make, Options&> {
  const auto of_scheduler = [&spec](Error error) { return fail(std::move(error).wrap(fmt::format("scheduler '{}'", spec.name))); };
  auto options = Options::parse(spec.options, reader);
  if (!options) return of_scheduler(std::move(options).error());
  auto made = factory(*options);
  if (!made) return of_scheduler(std::move(made).error());
  if (auto rest = options->done(); !rest) return of_scheduler(std::move(rest).error());
  return made;
}

}  // namespace

Result<void> Registry::add(std::string name, std::string description, Factory factory) {
  return add(std::move(name), Entry{std::move(description), std::move(factory), {}});
}
Result<void> Registry::add(std::string name, std::string description, ComposingFactory factory) {
  return add(std::move(name), Entry{std::move(description), {}, std::move(factory)});
}

Result<void> Registry::add(std::string name, Entry entry) {
  if (!is_scheduler_name(name)) {
    return fail(Code::invalid_argument, fmt::format("'{}' is no name for a scheduler ([a-z0-9_-]+)", escaped(name)));
  }
  if (entries_.contains(name)) return fail(Code::already_exists, fmt::format("there is a scheduler '{}' already", name));
  entries_.emplace(std::move(name), std::move(entry));
  return {};
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> all;
  for (const auto& [name, entry] : entries_) all.push_back(name);
  return all;
}

Result<std::pair<SpecText, const Registry::Entry*>> Registry::find(std::string_view text) const {
  if (text.size() > kMaxSpec) return fail(Code::invalid_argument, fmt::format("a scheduler of {} characters", text.size()));
  WEFT_ASSIGN(SpecText spec, parse_spec(text));
  auto found = entries_.find(spec.name);
  if (found == entries_.end()) {
    return fail(Code::invalid_argument,
                fmt::format("unknown scheduler '{}' (known: {})", escaped(spec.name), fmt::join(names(), ", ")));
  }
  return std::pair(std::move(spec), &found->second);
}

Result<std::unique_ptr<Scheduler>> Registry::make(std::string_view text, const FileReader& reader) const {
  WEFT_ASSIGN(const auto found, find(text));
  const auto& [spec, entry] = found;
  if (entry->composing) {
    WEFT_ASSIGN(Composition composition, compose(text, reader));
    return std::make_unique<Composed>(spec.name, std::move(composition));
  }
  return made_by(entry->factory, spec, reader);
}

Result<Composition> Registry::compose(std::string_view text, const FileReader& reader) const {
  WEFT_ASSIGN(const auto found, find(text));
  const auto& [spec, entry] = found;
  if (!entry->composing) {
    return fail(Code::invalid_argument, fmt::format("scheduler '{}' is not made of parts and cannot be inside another", spec.name));
  }
  return made_by([&](Options& options) { return entry->composing(options, *this); }, spec, reader);
}

FileReader reader_of(std::map<std::string, std::string> texts) {
  return [texts = std::move(texts)](const std::string& name) -> Result<std::string> {
    auto found = texts.find(name);
    if (found == texts.end()) return fail(Code::not_found, fmt::format("the text of {} was not recorded", escaped(name)));
    return found->second;
  };
}

}  // namespace weft::schedulers
