#include "engine/master/scheduling/catalogue.hpp"

#include <exception>
#include <filesystem>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "engine/master/scheduling/bounded_call.hpp"
#include "schedulers/builtin.hpp"
#include "schedulers/plugin.hpp"

namespace weft::scheduling {

namespace {

constexpr std::uint64_t kMostFileBytes = 16u << 20;

std::string loader_error() {
  const char* text = ::dlerror();
  return text == nullptr ? "unknown error" : text;
}

/// Never unloaded: its code may be in use for as long as the process lives.
Result<void> load(const std::string& path, schedulers::Registry& registry) {
  std::error_code error;
  const std::string full =
      std::filesystem::absolute(path, error).string();  // a bare name would be searched for in system directories
  void* object = error ? nullptr : ::dlopen(full.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr)
    return fail(Code::invalid_argument, fmt::format("cannot load the scheduler plugin {}: {}", path, loader_error()));
  const auto entry = reinterpret_cast<schedulers::PluginEntry>(::dlsym(object, schedulers::kPluginEntry));
  if (entry == nullptr)
    return fail(Code::invalid_argument, fmt::format("{} is no scheduler plugin: it exports no {}", path, schedulers::kPluginEntry));
  constexpr schedulers::PluginInterface ours = schedulers::plugin_interface();
  schedulers::PluginInterface theirs{};
  const std::size_t before = registry.names().size();
  try {
    theirs = entry(ours, &registry);
  } catch (const std::exception& fault) {
    return fail(Code::invalid_argument, fmt::format("the scheduler plugin {} did not register: {}", path, fault.what()));
  } catch (...) {
    return fail(Code::invalid_argument, fmt::format("the scheduler plugin {} threw something that is no std::exception", path));
  }
  if (theirs.version != ours.version)
    return fail(
        Code::version_mismatch,
        fmt::format("the scheduler plugin {} was built for version {} of the scheduler interface, this program has version {}; "
                    "rebuild it against the headers of this version (what changed: docs/examples/scheduler-plugin/README.md)",
                    path, theirs.version, ours.version));
  if (!(theirs == ours))
    return fail(
        Code::version_mismatch,
        fmt::format("the scheduler plugin {} was built for interface {}.{:08x}, this program has {}.{:08x}; rebuild it against "
                    "the headers of this version",
                    path, theirs.version, theirs.layout, ours.version, ours.layout));
  if (registry.names().size() == before)
    return fail(Code::invalid_argument, fmt::format("the scheduler plugin {} registers no scheduler", path));
  return {};
}

}  // namespace

Result<std::shared_ptr<const Catalogue>> Catalogue::open(const std::vector<std::string>& plugins) {
  auto catalogue = std::make_shared<Catalogue>();
  WEFT_TRY(schedulers::register_builtin_schedulers(catalogue->registry_));
  for (const std::string& path : plugins) WEFT_TRY(load(path, catalogue->registry_));
  catalogue->has_plugins_ = !plugins.empty();
  return catalogue;
}

Result<std::unique_ptr<schedulers::Scheduler>> Catalogue::make(const std::string& spec, Files& files) const {
  const auto reader = [&files](const std::string& name) -> Result<std::string> {
    WEFT_ASSIGN(std::string text, read_file(name, kMostFileBytes));
    return files[name] = std::move(text);
  };
  try {
    return registry_.make(spec, reader);
  } catch (const std::exception& fault) {
    return fail(Code::invalid_argument, fmt::format("scheduler {} threw: {}", spec, fault.what()));
  } catch (...) {
    return fail(Code::invalid_argument, fmt::format("scheduler {} threw something that is no std::exception", spec));
  }
}

Result<Files> Catalogue::check(const std::shared_ptr<const Catalogue>& catalogue, const std::string& spec, Duration timeout) {
  if (!catalogue->has_plugins()) {
    Files files;
    WEFT_TRY(catalogue->make(spec, files));
    return files;
  }
  const auto attempt = [catalogue, spec]() -> Result<Files> {
    Files files;
    WEFT_TRY(catalogue->make(spec, files));
    return files;
  };
  if (auto checked = call_within<Result<Files>>(timeout, attempt)) return std::move(*checked);
  return fail(Code::internal, fmt::format("the scheduler {} cannot be made: its factory has not returned for {}; repair it", spec,
                                          format_duration(timeout)));
}

master::SchedulerFactory Catalogue::factory(std::shared_ptr<const Catalogue> catalogue) {
  return [catalogue = std::move(catalogue)](const std::string& spec, const Files& files) {
    return catalogue->registry_.make(spec, schedulers::reader_of(files));
  };
}

}  // namespace weft::scheduling
