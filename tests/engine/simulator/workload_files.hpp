// Workloads from the samples beside the tests, and from text.
#pragma once

#include <string>

#include "base/file.hpp"
#include "engine/simulator/workloads/workloads.hpp"

namespace weft::simulator::workloads {

inline std::string sample(const std::string& name) { return WEFT_SIMULATION_DATA "/" + name; }

/// Loads `text`, written into a file called "t", as a workload of this kind. In errors, the directory is left out.
inline Result<Workload> load_text(const std::string& kind, const std::string& text, const std::string& settings = "") {
  WEFT_ASSIGN(const TempDir directory, TempDir::create());
  const std::string path = directory.path() / "t";
  WEFT_TRY(write_file(path, text));
  auto loaded = load(kind + ":" + path + settings, {});
  if (loaded) return loaded;
  std::string message = loaded.error().to_string();
  for (std::size_t at; (at = message.find(path)) != std::string::npos;) message.replace(at, path.size(), "t");
  return fail(loaded.error().code(), message);
}

inline std::string load_error(const std::string& kind, const std::string& text, const std::string& settings = "") {
  const auto loaded = load_text(kind, text, settings);
  return loaded ? "" : loaded.error().to_string();
}

}  // namespace weft::simulator::workloads
