#include "storage/parquet/module.hpp"

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include <dlfcn.h>

namespace weft::storage::parquet {
namespace {

constexpr std::string_view kModuleFile = "libweft-parquet.so";
constexpr const char* kVariable = "WEFT_PARQUET";  // a module's path
constexpr std::string_view kRemedy =
    "; run scripts/setup --parquet in weft's sources and build again, or set WEFT_PARQUET to the path of libweft-parquet.so, on "
    "every "
    "machine that reads or writes such files";

/// Where the module may be, the best place first.
std::vector<std::string> places() {
  if (const char* const given = std::getenv(kVariable); given != nullptr && *given != '\0') return {given};
  std::vector<std::string> found;
  std::error_code failed;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto add = [&](const std::filesystem::path& directory) {
    const std::filesystem::path file = directory / kModuleFile;
    if (std::filesystem::exists(file, failed)) found.push_back(file.string());
  };
  add((program.parent_path() / "../lib/weft").lexically_normal());
  for (const char* const directory : {"/usr/lib/weft", "/usr/local/lib/weft"}) add(directory);
  found.emplace_back(kModuleFile);  // where the loader looks
  return found;
}

Result<const Module*> load() {
  const std::string place = places().front();
  void* const library = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return fail(Code::not_found, "Parquet needs weft's module for it, which cannot be loaded (" + std::string(::dlerror()) + ")" +
                                     std::string(kRemedy));
  const auto entry = reinterpret_cast<ModuleEntry>(::dlsym(library, "weft_parquet_module"));
  const Module* const module = entry == nullptr ? nullptr : entry(kModuleVersion);
  if (module == nullptr) return fail(Code::version_mismatch, place + " is of another release of weft" + std::string(kRemedy));
  return module;
}

}  // namespace

Result<const Module*> load_module() {
  static const Result<const Module*> loaded = load();
  if (!loaded) return fail(loaded.error());
  return *loaded;
}

void tell_children() {
  const std::string place = places().front();
  if (place.starts_with('/')) ::setenv(kVariable, place.c_str(), 0);
}

}  // namespace weft::storage::parquet
